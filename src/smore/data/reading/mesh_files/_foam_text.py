"""OpenFOAM's files, read as data: what would run code or look into other files is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smore.data.reading.mesh_files._numbers import parsed
from smore.data.reading.mesh_files.frames import printable, require_fits
from smore.errors import DataError

DIRECTIVES = re.compile(
    rb"#\s*(\{|(?:s?include\w*|codeStream|calc\w*|eval\w*|inputMode|inputSyntax|if(?:eq)?|else|endif"
    rb"|remove|default\w*|overwrite|merge|error|message|system|word|neg|negate)\b)"
)
COMMENTS = re.compile(rb"/\*.*?\*/|//[^\n]*", re.DOTALL)
COMPONENTS = {"scalar": 1, "vector": 3, "symmTensor": 6, "tensor": 9}


@dataclass(frozen=True, eq=False)
class FoamFile:
    """A file and what its header says.

    Attributes:
        path: the file.
        content: all of it.
        start: where the header ends.
        kind: its class.
        binary: whether lists are binary.
        label, scalar: types of numbers in binary lists.
    """

    path: Path
    content: bytes
    start: int
    kind: str
    binary: bool
    label: np.dtype
    scalar: np.dtype

    @classmethod
    def read(cls, path: Path) -> FoamFile:
        """A file with its header looked at.

        Raises:
            DataError: no header, or directives in the text before the first list.
        """
        if not path.is_file():
            if path.with_name(path.name + ".gz").exists():
                raise DataError(f"{path} is compressed; unpack it: gunzip {path.name}.gz")
            raise DataError(f"there is no file {path}")
        content = path.read_bytes()
        match = re.search(rb"FoamFile\s*\{([^}]*)\}", content[: 2**14])
        if match is None:
            raise DataError(f"expected FoamFile {{ ... }} at the beginning of {path}")
        header = COMMENTS.sub(b" ", match[1])
        entries = dict(re.findall(r'(\w+)\s+"?([^";]*)"?\s*(?:;)', _latin(header)))
        arch = entries.get("arch", "LSB;label=32;scalar=64")
        arch = _latin(header) if "label=" in _latin(header) else arch
        found = cls(
            path,
            content,
            match.end(),
            entries.get("class", "").strip(),
            entries.get("format", "ascii").strip() == "binary",
            np.dtype("<i8" if "label=64" in arch else "<i4"),
            np.dtype("<f4" if "scalar=32" in arch else "<f8"),
        )
        if found.binary and "MSB" in arch:
            raise DataError(f"expected numbers in little-endian order in {path}")
        found.refuse_directives(header)
        if not found.binary:
            found.refuse_directives(COMMENTS.sub(b" ", content[found.start :]))
        return found

    def refuse_directives(self, text: bytes) -> None:
        """Refuse text that asks for other files, or for something to be run.

        Raises:
            DataError: it does.
        """
        if (match := DIRECTIVES.search(text)) is not None:
            raise DataError(
                f"{self.path} holds {printable(_latin(match[0]))!r}: files are read as data, "
                "nothing is included or run; let OpenFOAM write it out (foamDictionary -expand)"
            )

    def numbers(self, at: int, kind: str) -> tuple[NDArray, int]:
        """The list `N(...)` of labels or of scalars, vectors, ... at a place, and where it ends."""
        match = re.compile(rb"\s*(\d{1,18})\s*[({]").match(self.content, at)
        if match is None:
            raise DataError(f"expected a list of {kind} in {self.path}, got something else")
        count, components = int(match[1]), COMPONENTS.get(kind, 1)
        dtype = self.label if kind == "label" else self.scalar
        native = dtype.newbyteorder("=")
        total, left = count * components, len(self.content) - match.end()
        shape = (count,) if components == 1 else (count, components)
        if self.content[match.end() - 1 : match.end()] == b"{":  # all the same
            end = self.content.index(b"}", match.end())
            one = self._parsed(self.content[match.end() : end], native, components)
            require_fits(total, len(self.content) * 2**10, f"a list in {self.path}")
            return np.broadcast_to(one, (count, components)).reshape(shape), end + 1
        if self.binary:
            require_fits(total * dtype.itemsize, left, f"a list in {self.path}")
            values = np.frombuffer(self.content, dtype, total, match.end()).astype(native)
            return values.reshape(shape), match.end() + total * dtype.itemsize + 1
        require_fits(2 * total - 1, left + 1, f"a list in {self.path}")
        stop = self._closing(match.end())
        return self._parsed(self.content[match.end() : stop], native, total).reshape(
            shape
        ), stop + 1

    def _closing(self, start: int) -> int:
        """Where the bracket that opened before `start` closes."""
        depth = 1
        for match in re.compile(rb"[()]").finditer(self.content, start):
            depth += 1 if match[0] == b"(" else -1
            if depth == 0:
                return match.start()
        raise DataError(f"a list in {self.path} does not end")

    def _parsed(self, text: bytes, dtype: np.dtype, count: int) -> NDArray:
        plain = COMMENTS.sub(b" ", text).translate(bytes.maketrans(b"()", b"  "))
        return parsed(plain, dtype, count, f"a list in {self.path}")


def _latin(text: bytes) -> str:
    return text.decode("latin-1")
