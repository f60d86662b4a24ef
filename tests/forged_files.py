"""Files as an attacker would make them: any header, any data, and a checksum that is right."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from smore.model_file._header import LONGEST_HEADER, MOST_TENSORS
from smore.model_file.container import MODEL, Kind

BEGINNING = b'{"__metadata__":{"file_sha256":"'


def with_checksum(content: bytes) -> bytes:
    """`content` with the digits of its SHA-256 where a smore file has them."""
    at = 8 + len(BEGINNING)
    zeros = content[:at] + b"0" * 64 + content[at + 64 :]
    return zeros[:at] + hashlib.sha256(zeros).hexdigest().encode() + zeros[at + 64 :]


def forge_text(header: bytes, data: bytes = b"", length: int | None = None) -> bytes:
    """A file with the text `header`, which begins as headers of smore do."""
    declared = len(header) if length is None else length
    return with_checksum(declared.to_bytes(8, "little") + header + data)


def forge(
    entries: dict[str, Any],
    data: bytes = b"",
    *,
    description: Any = "{}",
    kind: Kind = MODEL,
    **metadata: Any,
) -> bytes:
    """A file that declares the tensors `entries`, with the right format and version."""
    told = {
        "file_sha256": "0" * 64,
        "format": kind.format,
        "version": str(kind.version),
        "description": description,
    }
    header = json.dumps({"__metadata__": told | metadata, **entries}, separators=(",", ":"))
    return forge_text(header.encode(), data)


def entry(shape: Any, begin: Any, end: Any, dtype: Any = "F32") -> dict[str, Any]:
    """What a header says about a tensor."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


_START = BEGINNING + b"0" * 64
_PAIR = entry([2], 0, 8)
# By what is wrong with them.
FORGED_HEADERS = {
    "a longer header than the file": forge_text(_START + b'"}}', length=2**62),
    "a very long header": forge_text(_START + b'"}}' + b" " * LONGEST_HEADER),
    "no JSON": forge_text(_START + b'"'),
    "no UTF-8": forge_text(_START + b'","\xff":""}}'),
    "deep nesting": forge_text(_START + b'"},"a":' + b"[" * 10**6),
    "deep objects": forge_text(_START + b'"},"a":' + b'{"a":' * 10**5),
    "a name twice": forge_text(_START + b'"},"a":1,"a":2}'),
    "metadata twice": forge_text(_START + b'"},"__metadata__":{}}'),
    "long numbers": forge_text(_START + b'"},"a":' + b"9" * 10**5 + b"}"),
    "no format": forge_text(_START + b'"}}'),
    "metadata that are numbers": forge({}, description=3),
    "metadata that are lists": forge({}, more=["text"]),
    "a tensor that is a number": forge({"a": 1}),
    "a tensor without a place": forge({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "a tensor with more": forge({"a": _PAIR | {"call": "os.system"}}, bytes(8)),
    "an unknown type": forge({"a": entry([2], 0, 8, "OBJECT")}, bytes(8)),
    "a type that is a list": forge({"a": entry([2], 0, 8, ["F32"])}, bytes(8)),
    "a huge shape": forge({"a": entry([2**40], 0, 8)}, bytes(8)),
    "a shape that overflows": forge({"a": entry([2**62, 4], 0, 8)}, bytes(8)),
    "a shape beyond 63 bits": forge({"a": entry([10**30], 0, 4 * 10**30)}, bytes(8)),
    "an overflow among no numbers": forge({"a": entry([0, 2**62, 2**62], 0, 0)}),
    "a negative size": forge({"a": entry([-2], 0, 8)}, bytes(8)),
    "two negative sizes": forge({"a": entry([-2, -1], 0, 8)}, bytes(8)),
    "a size that is true": forge({"a": entry([2, True], 0, 8)}, bytes(8)),
    "a size that is a fraction": forge({"a": entry([2.0], 0, 8)}, bytes(8)),
    "very many dimensions": forge({"a": entry([1] * 10**5, 0, 4)}, bytes(4)),
    "data beyond the end": forge({"a": _PAIR, "b": entry([2], 8, 16)}, bytes(8)),
    "overlapping data": forge({"a": _PAIR, "b": entry([2], 4, 12)}, bytes(12)),
    "the same data twice": forge({"a": _PAIR, "b": _PAIR}, bytes(8)),
    "a gap": forge({"a": _PAIR, "b": entry([2], 12, 20)}, bytes(20)),
    "data that nobody claims": forge({"a": _PAIR}, bytes(100)),
    "negative offsets": forge({"a": entry([2], -8, 0)}, bytes(8)),
    "data that end before they begin": forge({"a": entry([2], 8, 0)}, bytes(8)),
    "misaligned data": forge({"a": entry([1], 0, 1, "U8"), "b": entry([1], 1, 9, "F64")}, bytes(9)),
    "a path as name": forge({"../../etc/passwd": _PAIR}, bytes(8)),
    "a name with NUL": forge({"a\0b": _PAIR}, bytes(8)),
    "a name that moves the cursor": forge({"\x1b[2J": _PAIR}, bytes(8)),
    "a lone surrogate": forge({"\ud800": _PAIR}, bytes(8)),
    "too many tensors": forge({f"w{n}": entry([0], 0, 0) for n in range(MOST_TENSORS + 1)}),
}
