"""The header of a safetensors file, written in one way and read strictly.

    8 bytes     length of the header, little endian
    the header  JSON: {"__metadata__": {...}, name: {"dtype", "shape", "data_offsets"}, ...}
    the data    of the tensors, one after the other without gaps

What is read may have been made to do harm. Nothing is believed: sizes are compared with the bytes
that are there before anything is made of them, and whatever this module would not write is refused.
A general JSON reader would make lists and tables of whatever it finds, at fifty times its size.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

# Bounds of what a hostile file can make Python allocate: up to fifty bytes for each byte of a JSON
# description, about a kilobyte for each tensor.
LONGEST_HEADER = 2**21
MOST_TENSORS = 10_000
MOST_DIMENSIONS = 16

METADATA = "__metadata__"
LENGTH_BYTES = 8
_ALIGNMENT = 8
_NAME = r"[A-Za-z0-9_. -]{1,256}"  # no path, no NUL, nothing that moves a cursor
_ENTRY = re.compile(
    rf',"({_NAME})":'
    r'\{"dtype":"([A-Z0-9]{1,8})","shape":\[([0-9,]*)\],"data_offsets":\[([0-9]+),([0-9]+)\]\}'
)
_MOST_DIGITS = 18
_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_DTYPE_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_DECODER = json.JSONDecoder()


class HeaderError(ValueError):
    """A header that this module would not have written."""


class Place(NamedTuple):
    """A tensor in a file: its type, its shape, and its bytes [begin, end) of the data."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    begin: int
    end: int


def file_order(tensors: Mapping[str, Tensor]) -> list[str]:
    """Names in the order of the data: wide types first, so that each tensor is aligned."""
    return sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))


def encode_header(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> bytes:
    """Length and header of a file with these tensors, in `file_order`, and this metadata.

    Raises:
        HeaderError: more or longer names than `find_places` would accept.
    """
    entries: dict[str, Any] = {METADATA: dict(metadata)}
    begin = 0
    for name in file_order(tensors):
        tensor = tensors[name]
        if not re.fullmatch(_NAME, name) or tensor.dim() > MOST_DIMENSIONS:
            raise HeaderError(f"a tensor {name[:50]!r} of {tensor.dim()} dimensions")
        end = begin + tensor.numel() * tensor.element_size()
        entries[name] = {
            "dtype": _DTYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
        begin = end
    text = json.dumps(entries, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % _ALIGNMENT)
    _require_moderate(len(text), len(tensors))
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def data_start(content: bytes | bytearray) -> int:
    """Where the header of a whole file ends.

    Raises:
        HeaderError: it would be longer than the file, or than any header of ours.
    """
    length = int.from_bytes(content[:LENGTH_BYTES], "little")
    if length > len(content) - LENGTH_BYTES:
        raise HeaderError(f"a header of {length} bytes in a file of {len(content)}")
    _require_moderate(length, 0)
    return LENGTH_BYTES + length


def decode_metadata(header: bytes | bytearray) -> tuple[dict[str, str], str]:
    """The metadata of a header, and the rest of it, for `find_places`.

    Raises:
        HeaderError: something else than a table of texts.
    """
    try:
        text = header.decode("ascii")
    except UnicodeDecodeError:
        raise HeaderError("letters beyond ASCII") from None
    beginning = f'{{"{METADATA}":'
    if not text.startswith(beginning + "{"):
        raise HeaderError("no metadata")
    metadata: dict[str, str] = {}
    at = len(beginning)
    while text[at] != "}":  # it is "{" at first, then "," or "}"
        name, at = _read_text(text, at + 1, ends=":")
        if name in metadata:
            raise HeaderError("the same name twice")
        metadata[name], at = _read_text(text, at + 1, ends=",}")
    return metadata, text[at + 1 :]


def find_places(rest: str, num_bytes: int) -> dict[str, Place]:
    """Where the tensors of a header are in `num_bytes` of data, from what follows its metadata.

    Raises:
        HeaderError: anything that `encode_header` would not write.
    """
    places: dict[str, Place] = {}
    at = begin = 0
    while entry := _ENTRY.match(rest, at):
        at, name = entry.end(), entry[1]
        if name in places:
            raise HeaderError("the same name twice")
        places[name] = place = _place(entry, begin)
        begin = place.end
        _require_moderate(0, len(places))
    if rest[at:].rstrip(" ") != "}":
        raise HeaderError(f"a tensor that cannot be read, {rest[at : at + 50]!r}")
    if begin != num_bytes:
        raise HeaderError(f"tensors of {begin} bytes, and {num_bytes} bytes of data")
    return places


def _place(entry: re.Match[str], begin: int) -> Place:
    """The tensor of an entry, whose data must begin where those before it end."""
    name, dtype = entry[1], _DTYPES.get(entry[2])
    if dtype is None:
        raise HeaderError(f"tensor {name!r} of an unknown type")
    sizes = entry[3].split(",", MOST_DIMENSIONS) if entry[3] else []
    numbers = [*sizes, entry[4], entry[5]]
    if len(sizes) > MOST_DIMENSIONS or not all(0 < len(n) <= _MOST_DIGITS for n in numbers):
        raise HeaderError(f"tensor {name!r} of an impossible shape or place")
    *shape, first, last = map(int, numbers)
    end = begin + math.prod(shape) * dtype.itemsize
    if (first, last) != (begin, end) or begin % dtype.itemsize:
        raise HeaderError(f"tensor {name!r} with data elsewhere than its shape and type say")
    return Place(dtype, tuple(shape), begin, end)


def _read_text(text: str, at: int, ends: str) -> tuple[str, int]:
    """The JSON string at a position, which one of `ends` follows, and the position of that."""
    if text[at : at + 1] != '"':  # a string holds no other values: it cannot grow
        raise HeaderError("metadata that are not texts")
    try:
        value, after = _DECODER.raw_decode(text, at)
    except ValueError:
        raise HeaderError("no valid JSON") from None
    if after >= len(text) or text[after] not in ends:
        raise HeaderError("no valid JSON")
    return value, after


def _require_moderate(num_bytes: int, num_tensors: int) -> None:
    if num_bytes > LONGEST_HEADER or num_tensors > MOST_TENSORS:
        raise HeaderError(
            f"a header of {num_bytes} bytes with {num_tensors} tensors, at most {LONGEST_HEADER} "
            f"bytes and {MOST_TENSORS} tensors are possible"
        )
