"""The arrays of VTK's XML files: in letters, in base64 or raw, compressed or not."""

from __future__ import annotations

import base64
import json
import lzma
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from smore.data.reading.mesh_files._numbers import parsed
from smore.data.reading.mesh_files._xml import Element, text_of, text_range
from smore.data.reading.mesh_files.frames import Stored, printable, require_fits
from smore.errors import DataError

TYPES = {
    f"{kind}{bits}": np.dtype(f"{letter}{bits // 8}")
    for kind, letter in (("Int", "i"), ("UInt", "u"), ("Float", "f"))
    for bits in (8, 16, 32, 64)
    if (kind, bits) != ("Float", 8)
}
# No compression of ours packs more than this into a byte.
TIGHTEST = {"vtkZLibDataCompressor": 1100, "vtkLZMADataCompressor": 10_000}
# The name under which smore writes down what VTK has no place for, and how long that may be.
ABOUT = "smore"
LONGEST_ABOUT = 2**16


@dataclass(frozen=True, eq=False)
class VtkFile:
    """How the arrays of a file are written.

    Attributes:
        path: the file.
        order: ">" or "<".
        header: the type of the counts before an array.
        compressor: the name of one, or "".
        appended: where appended arrays begin, and whether they are in base64.
    """

    path: Path
    order: Literal["<", ">"]
    header: np.dtype
    compressor: str
    appended: tuple[int, bool] | None

    @classmethod
    def of(cls, path: Path, root: Element) -> VtkFile:
        """What the root of a file says."""
        orders: dict[str, Literal["<", ">"]] = {"LittleEndian": "<", "BigEndian": ">"}
        headers = {"UInt32": "u4", "UInt64": "u8"}
        order = orders[root.attributes.get("byte_order", "LittleEndian")]
        header = np.dtype(order + headers[root.attributes.get("header_type", "UInt32")])
        compressor = root.attributes.get("compressor", "")
        if compressor and compressor not in TIGHTEST:
            raise DataError(
                f"expected compression by {' or '.join(TIGHTEST)}, got {printable(compressor)}; "
                "write it anew without"
            )
        appended = None
        if (element := root.first("AppendedData")) is not None:
            with path.open("rb") as file:
                start, _ = text_range(file, element)
                file.seek(start)
                beginning = file.read(2**10)
            mark = beginning.find(b"_")
            if mark < 0 or beginning[:mark].strip():
                raise DataError("expected appended data to begin with _")
            appended = start + mark + 1, element.attributes.get("encoding", "raw") == "base64"
        return cls(path, order, header, compressor, appended)

    def stored(self, element: Element, length: int) -> Stored:
        """An array (length,) or (length, components)."""
        dtype = TYPES.get(element.attributes.get("type", ""))
        if dtype is None:
            raise DataError(
                f"expected an array of {', '.join(TYPES)}, got "
                f"{printable(element.attributes.get('type', 'none'))}"
            )
        components = element.number("NumberOfComponents", 1) or 1
        shape = (length,) if components == 1 else (length, components)
        units = next(
            (
                printable(text_of(self.path, key, most=1000).decode("utf-8").strip())
                for key in element.all("InformationKey")
                if key.attributes.get("name") == "UNITS_LABEL"
            ),
            "",
        )
        return Stored(shape, dtype, partial(self._read, element, shape, dtype), units)

    def _read(self, element: Element, shape: tuple[int, ...], dtype: np.dtype) -> NDArray:
        count, how = int(np.prod(shape)), element.attributes.get("format", "ascii")
        name = printable(element.attributes.get("Name", "an array"))
        if how == "ascii":
            return parsed(text_of(self.path, element), dtype, count, f"'{name}'").reshape(shape)
        size, raw = count * dtype.itemsize, False
        with self.path.open("rb") as file:
            end = file.seek(0, 2)
            if how == "appended":
                if self.appended is None:
                    raise DataError(f"'{name}' is appended, and nothing is")
                start = self.appended[0] + element.number("offset")
                raw = not self.appended[1]
            else:
                start, end = text_range(file, element)
            file.seek(start)
            require_fits(0, end - start, f"'{name}'")
            source = _Raw(file, end) if raw else _Base64(file, end)
            found = self._content(source, size, f"'{name}'")
        values = np.frombuffer(found, dtype.newbyteorder(self.order))
        return values.astype(dtype, copy=False).reshape(shape)

    def _content(self, source: _Raw | _Base64, size: int, what: str) -> bytes | bytearray:
        width = self.header.itemsize
        if not self.compressor:
            (told,) = np.frombuffer(source.read(width, keep_going=True), self.header).tolist()
            if told != size:
                raise DataError(f"expected {size} bytes of {what}, the file says {told}")
            return source.rest(size, what)
        first = np.frombuffer(source.peek(3 * width), self.header)
        blocks, block, last = first.tolist()
        total = block * (blocks - 1) + (last or block) if blocks else 0
        if total != size:
            raise DataError(f"expected {size} bytes of {what}, the file says {total}")
        require_fits((3 + blocks) * width, source.room, what)
        sizes = np.frombuffer(source.read((3 + blocks) * width), self.header)[3:].tolist()
        require_fits(sum(sizes), source.room, what)
        require_fits(size, TIGHTEST[self.compressor] * (sum(sizes) + 64), what)
        packed, content, place = source.read(sum(sizes)), bytearray(), 0
        for number, length in enumerate(sizes):
            expected = last if last and number == blocks - 1 else block
            content += self._unpacked(packed[place : place + length], expected, what)
            place += length
        return content

    def _unpacked(self, packed: bytes, expected: int, what: str) -> bytes:
        zipped = self.compressor.startswith("vtkZLib")
        engine: Any = zlib.decompressobj() if zipped else lzma.LZMADecompressor()
        found = engine.decompress(packed, expected + 1)
        if len(found) != expected:
            raise DataError(f"a block of {what} is not as long as the file says")
        return found


class _Raw:
    """Bytes as they are."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self.file, self.end = file, end

    @property
    def room(self) -> int:
        return self.end - self.file.tell()

    def peek(self, count: int) -> bytes:
        place = self.file.tell()
        found = self.read(count)
        self.file.seek(place)
        return found

    def read(self, count: int, *, keep_going: bool = False) -> bytes:
        require_fits(count, self.room, "an array")
        return self.file.read(count)

    def rest(self, count: int, what: str) -> bytes:
        require_fits(count, self.room, what)
        return self.file.read(count)


class _Base64:
    """Bytes in groups of four letters; every read begins a new group unless told otherwise."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self.file, self.end = file, end
        # Whoever writes base64 may break lines: blanks only stand between groups, at the start.
        while (letter := file.read(1)) and letter.isspace():
            pass
        file.seek(-1 if letter else 0, 1)
        self.begun = b""

    @property
    def room(self) -> int:
        return 3 * (self.end - self.file.tell()) // 4 + len(self.begun)

    def peek(self, count: int) -> bytes:
        place = self.file.tell()
        found = self.read(count)
        self.file.seek(place)
        return found

    def read(self, count: int, *, keep_going: bool = False) -> bytes:
        require_fits(count, self.room, "an array")
        found = base64.b64decode(self.file.read(-(-count // 3) * 4), validate=True)
        self.begun = found[count:] if keep_going else b""
        if len(found) < count:
            raise DataError("an array ends too early")
        return found[:count]

    def rest(self, count: int, what: str) -> bytes:
        require_fits(count, self.room, what)
        more = base64.b64decode(
            self.file.read(-(-(count - len(self.begun)) // 3) * 4), validate=True
        )
        found = self.begun + more
        if len(found) < count:
            raise DataError(f"{what} ends too early")
        return found[:count]


def told_beside(file: VtkFile, grid: Element) -> tuple[float | None, dict[str, Any]]:
    """The time and what smore wrote down, from the field data of a file."""
    time, about = None, {}
    fields = grid.first("FieldData")
    for element in fields.all("DataArray") if fields is not None else []:
        name = element.attributes.get("Name")
        if name in ("TimeValue", "TIME") and element.number("NumberOfTuples", 1) == 1:
            time = float(file.stored(element, 1).read()[0])
        if name == ABOUT and element.attributes.get("format") == "ascii":
            codes = text_of(file.path, element, most=LONGEST_ABOUT).split()
            about = json.loads(bytes(int(code) for code in codes if code != b"0").decode("utf-8"))
    return time, about if isinstance(about, dict) else {}
