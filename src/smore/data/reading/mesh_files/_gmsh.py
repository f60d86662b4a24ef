"""Gmsh's meshes (.msh, versions 2.2 and 4.1, in letters or binary) and the values beside them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smore.data.reading.mesh_files._numbers import parsed
from smore.data.reading.mesh_files.frames import (
    Cells,
    Frame,
    Series,
    Stored,
    printable,
    require_fits,
)
from smore.errors import DataError

# Gmsh's types of elements: VTK's kind, how many nodes, and VTK's order where it differs.
ELEMENTS: dict[int, tuple[int, int, tuple[int, ...] | None]] = {
    1: (3, 2, None), 2: (5, 3, None), 3: (9, 4, None), 4: (10, 4, None), 5: (12, 8, None),
    6: (13, 6, (0, 2, 1, 3, 5, 4)), 7: (14, 5, None), 8: (21, 3, None), 9: (22, 6, None),
    10: (28, 9, None), 11: (24, 10, (0, 1, 2, 3, 4, 5, 6, 7, 9, 8)), 15: (1, 1, None),
    16: (23, 8, None),
}  # fmt: skip
DATA = {"NodeData": "point", "ElementData": "cell"}


@dataclass(eq=False)
class _Numbers:
    """The numbers of a section, one after the other."""

    content: bytes
    binary: bool
    at: int = 0
    words: NDArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not self.binary:
            self.words = parsed(
                self.content, np.dtype(np.float64), len(self.content.split()), "a section"
            )

    def take(self, count: int, dtype: str) -> NDArray:
        """The next `count`, which in a binary file are of this type."""
        size = np.dtype(dtype).itemsize if self.binary else 1
        whole = len(self.content) if self.binary else len(self.words)
        require_fits(count * size, whole - self.at, "a section")
        start, self.at = self.at, self.at + count * size
        if self.binary:
            return np.frombuffer(self.content[start : self.at], dtype)
        return self.words[start : self.at].astype(dtype)

    def number(self, dtype: str) -> int:
        return int(self.take(1, dtype)[0])


@dataclass(eq=False)
class _Parts:
    tags: NDArray = field(default_factory=lambda: np.empty(0, np.int64))
    points: NDArray = field(default_factory=lambda: np.empty((0, 3)))
    kinds: list[NDArray] = field(default_factory=list)
    nodes: list[NDArray] = field(default_factory=list)
    element_tags: list[NDArray] = field(default_factory=list)
    # (point or cell, name, time) -> tags and values
    values: dict[tuple[str, str, float], tuple[NDArray, NDArray]] = field(default_factory=dict)


def read_gmsh(path: Path) -> Series:
    """The mesh of a file, with its values at every time that they have.

    Raises:
        DataError: another version, unknown elements, or something that is no such file.
    """
    content = path.read_bytes()
    found = re.match(rb"\s*\$MeshFormat\s+(\S+)\s+([01])\s+8\s*?\n", content)
    if not found or found[1] not in (b"2.2", b"4.1", b"2", b"4"):
        raise DataError("expected a mesh of Gmsh, version 2.2 or 4.1; save it anew as such")
    version, binary = int(found[1][:1]), found[2] == b"1"
    if binary and content[found.end() : found.end() + 4] != b"\x01\0\0\0":
        raise DataError("expected a binary mesh in little-endian order")
    parts = _Parts()
    for name, body in _sections(content, found.end()):
        if name == "Nodes":
            _nodes(body, version, binary, parts)
        elif name == "Elements":
            _elements(body, version, binary, parts)
        elif name in DATA:
            _data(body, binary, DATA[name], parts)
    return _series(parts)


def _sections(content: bytes, at: int) -> list[tuple[str, bytes]]:
    found = []
    while match := re.compile(rb"\$(\w+)[ \r]*\n").search(content, at):
        name = match[1]
        if name.startswith(b"End"):
            at = match.end()
            continue
        end = content.find(b"$End" + name, match.end())
        if end < 0:
            raise DataError(f"expected the section ${printable(name.decode('latin-1'))} to end")
        found.append((name.decode("latin-1"), content[match.end() : end]))
        at = end + 1
    return found


def _nodes(body: bytes, version: int, binary: bool, parts: _Parts) -> None:
    if version == 2:
        line, _, rest = body.partition(b"\n")
        count = _count(line)
        if binary:
            row = np.dtype([("tag", "<i4"), ("x", "<f8", 3)])
            require_fits(count * row.itemsize, len(rest), "nodes")
            table = np.frombuffer(rest, row, count)
            parts.tags, parts.points = table["tag"].astype(np.int64), table["x"].copy()
        else:
            values = parsed(rest, np.dtype(float), 4 * count, "nodes").reshape(count, 4)
            parts.tags, parts.points = values[:, 0].astype(np.int64), values[:, 1:]
        return
    numbers = _Numbers(body, binary)
    blocks, count, _, _ = numbers.take(4, "<u8").tolist()
    tags, points = [], []
    for _ in range(blocks):
        _, _, parametric = numbers.take(3, "<i4").tolist()
        if parametric:
            raise DataError("expected nodes without parametric coordinates; save them without")
        here = numbers.number("<u8")
        tags.append(numbers.take(here, "<u8").astype(np.int64))
        points.append(numbers.take(3 * here, "<f8").reshape(here, 3))
    parts.tags = np.concatenate(tags) if tags else parts.tags
    parts.points = np.concatenate(points) if points else parts.points
    if len(parts.tags) != count:
        raise DataError(f"expected {count} nodes, got {len(parts.tags)}")


def _elements(body: bytes, version: int, binary: bool, parts: _Parts) -> None:
    if version == 4:
        numbers = _Numbers(body, binary)
        blocks, _, _, _ = numbers.take(4, "<u8").tolist()
        for _ in range(blocks):
            kind = int(numbers.take(3, "<i4")[2])
            here, width = numbers.number("<u8"), 1 + _element(kind)[1]
            table = numbers.take(here * width, "<u8").astype(np.int64).reshape(here, width)
            _keep(parts, kind, table[:, 0], table[:, 1:])
        return
    line, _, rest = body.partition(b"\n")
    count = _count(line)
    if binary:
        numbers, left = _Numbers(rest, True), count
        while left > 0:
            kind, here, num_tags = numbers.take(3, "<i4").tolist()
            width = 1 + num_tags + _element(kind)[1]
            if here < 1 or num_tags < 0:
                raise DataError("expected one or more elements in a block")
            table = numbers.take(here * width, "<i4").astype(np.int64).reshape(here, width)
            _keep(parts, kind, table[:, 0], table[:, 1 + num_tags :])
            left -= here
        return
    rows = [list(map(int, each.split())) for each in rest.splitlines() if each.strip()]
    if len(rows) != count:
        raise DataError(f"expected {count} elements, got {len(rows)}")
    for tag, kind, num_tags, *more in rows:
        nodes = more[num_tags:]
        if len(nodes) != _element(kind)[1]:
            raise DataError(
                f"expected {_element(kind)[1]} nodes of element {tag}, got {len(nodes)}"
            )
        _keep(parts, kind, np.array([tag]), np.array([nodes]))


def _element(kind: int) -> tuple[int, int, tuple[int, ...] | None]:
    if kind not in ELEMENTS:
        raise DataError(
            f"expected elements of the types {', '.join(map(str, ELEMENTS))}, got {kind}"
        )
    return ELEMENTS[kind]


def _keep(parts: _Parts, kind: int, tags: NDArray, nodes: NDArray) -> None:
    vtk, _, order = _element(kind)
    parts.kinds.append(np.full(len(tags), vtk))
    parts.nodes.append(nodes if order is None else nodes[:, list(order)])
    parts.element_tags.append(tags)


def _data(body: bytes, binary: bool, where: str, parts: _Parts) -> None:
    """Tags in letters, whatever the file is: names, times and counts, then rows of values."""
    names, body = _tags(body)
    times, body = _tags(body)
    integers, body = _tags(body)
    name, time = printable(names[0].strip('"')), float(times[0])
    components, count = int(integers[1]), int(integers[2])
    if components < 1 or count < 0:
        raise DataError(f"expected counts of '{name}', got {components} and {count}")
    if binary:
        row = np.dtype([("tag", "<i4"), ("values", "<f8", (min(components, 2**16),))])
        require_fits(count * row.itemsize, len(body), f"'{name}'")
        table = np.frombuffer(body, row, count)
        found = table["tag"].astype(np.int64), table["values"].copy()
    else:
        require_fits(2 * count * (components + 1) - 1, len(body) + 1, f"'{name}'")
        rows = parsed(body, np.dtype(float), count * (components + 1), f"'{name}'")
        rows = rows.reshape(count, components + 1)
        found = rows[:, 0].astype(np.int64), rows[:, 1:]
    if (where, name, time) in parts.values:
        raise DataError(f"expected '{name}' once at time {time:g}")
    parts.values[where, name, time] = found


def _tags(body: bytes) -> tuple[list[str], bytes]:
    """Lines that are counted in the line before them, and the rest."""
    line, _, body = body.partition(b"\n")
    found = []
    for _ in range(min(_count(line), 16)):
        line, _, body = body.partition(b"\n")
        found.append(line.decode("utf-8", "replace").strip())
    return found, body


def _count(line: bytes) -> int:
    text = line.strip()
    if not text.isdigit() or len(text) > 18:
        raise DataError(f"expected a count, got {printable(text.decode('latin-1'))!r}")
    return int(text)


def _places(tags: NDArray, wanted: NDArray, what: str) -> NDArray[np.intp]:
    """Where `wanted` tags are among `tags`."""
    order = np.argsort(tags, kind="stable")
    found = np.searchsorted(tags, wanted, sorter=order)
    found = order[np.minimum(found, len(tags) - 1)]
    if len(tags) == 0 or (tags[found] != wanted).any():
        raise DataError(f"expected {what} out of those of the file, got others")
    return found


def _series(parts: _Parts) -> Series:
    if not len(parts.tags) or not parts.kinds:
        raise DataError("expected nodes and elements, the file has not both")
    kinds = np.concatenate(parts.kinds)
    counts = np.concatenate([np.full(len(each), each.shape[1]) for each in parts.nodes])
    corners = _places(parts.tags, np.concatenate([each.ravel() for each in parts.nodes]), "nodes")
    offsets = np.concatenate([[0], np.cumsum(counts)])
    all_tags = {"point": parts.tags, "cell": np.concatenate(parts.element_tags)}
    times: list[float | None] = [*sorted({time for _, _, time in parts.values})] or [None]

    def cells() -> Cells:
        return kinds, offsets, corners

    def frame(time: float | None) -> Frame:
        data: dict[str, dict[str, Stored]] = {"point": {}, "cell": {}}
        for (where, name, when), (tags, values) in parts.values.items():
            if when == time:
                data[where][name] = _spread(all_tags[where], tags, values)
        return Frame(_held(parts.points), len(kinds), cells, data["point"], data["cell"], {}, time)

    return Series(times, [partial(frame, time) for time in times])


def _spread(all_tags: NDArray, tags: NDArray, values: NDArray) -> Stored:
    """Values for all tags; NaN where there are none, as on the boundary."""
    full = np.full((len(all_tags), values.shape[1]), np.nan)
    full[_places(all_tags, tags, "nodes or elements")] = values
    return _held(full[:, 0] if values.shape[1] == 1 else full)


def _held(values: NDArray) -> Stored:
    return Stored(values.shape, values.dtype, lambda: values)
