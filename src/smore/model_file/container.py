"""Models and checkpoints: each is one safetensors file, tensors and a JSON description.

Nothing is ever unpickled. The checksum is the SHA-256 of the whole file, header included, with its
own digits as zeros; it is verified before anything in the file is looked at. Where it stands is the
same in every version of the format, so that an intact file of a newer one can be told from damage.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from smore.errors import ModelFileError
from smore.model_file._header import (
    LENGTH_BYTES,
    LONGEST_HEADER,
    METADATA,
    HeaderError,
    Place,
    data_start,
    decode_metadata,
    encode_header,
    file_order,
    find_places,
)
from smore.runtime import Bytes, write_atomically


@dataclass(frozen=True)
class Kind:
    """What a file holds.

    Args:
        noun: what messages call it.
        version: of the format that is written, and the only one that is read.
        again: how to come by a file of this version.
    """

    noun: str
    version: int
    again: str

    @property
    def format(self) -> str:
        """What a file calls itself."""
        return f"smore-{self.noun}"


MODEL = Kind("model", 2, "fit the model again")
CHECKPOINT = Kind("checkpoint", 1, "start the training anew")

_BEGINNING = f'{{"{METADATA}":{{"file_sha256":"'.encode()
_DIGITS_AT = LENGTH_BYTES + len(_BEGINNING)
_NO_DIGITS = "0" * 64
_DIGITS_END = _DIGITS_AT + len(_NO_DIGITS)


def save_file(
    path: str | os.PathLike[str],
    tensors: dict[str, Tensor],
    description: str,
    kind: Kind = MODEL,
) -> None:
    """Write `tensors` and the JSON text `description` to `path`, all of it or nothing.

    Raises:
        ModelFileError: it cannot be written; a file that was there before is still there.
    """
    path = Path(path)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {
        "file_sha256": _NO_DIGITS,  # first: see _BEGINNING
        "format": kind.format,
        "version": str(kind.version),
        "description": description,
    }
    try:
        header = encode_header(tensors, metadata)
        data = [_bytes_of(tensors[name]) for name in file_order(tensors)]
        digits = _checksum([header, *data]).encode()
        write_atomically(path, [header[:_DIGITS_AT], digits, header[_DIGITS_END:], *data])
    except OSError as error:
        raise ModelFileError(
            f"the {kind.noun} cannot be written to {path}: {error.strerror or error}; make room or "
            "choose another place"
        ) from error
    except HeaderError as error:
        raise ModelFileError(f"the {kind.noun} cannot be written to {path}: {error}") from None


def load_file(path: str | os.PathLike[str], kind: Kind = MODEL) -> tuple[dict[str, Tensor], str]:
    """Tensors and description of a file that `save_file` wrote.

    Raises:
        ModelFileError: the file is missing, damaged, of another kind or version, or foreign.
    """
    path = Path(path)
    try:
        content = _whole(path, kind)
        if _checksum([content]).encode() != content[_DIGITS_AT:_DIGITS_END]:
            raise ModelFileError(_damaged(path, content, kind))
        start = data_start(content)
        metadata, rest = decode_metadata(content[LENGTH_BYTES:start])
        _require_known(path, metadata, kind)
        places = find_places(rest, len(content) - start)
        tensors = {name: _tensor(content, start, place) for name, place in places.items()}
        return tensors, metadata["description"]
    except OSError as error:
        reason = error.strerror or str(error)
    except MemoryError:
        reason = "it does not fit into memory"
    except HeaderError as error:
        reason = f"it declares {error}"
    raise ModelFileError(f"{path} cannot be read as a {kind.noun} file: {reason}")


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a place no model can be written to, before one is trained.

    Raises:
        ModelFileError: a folder, or a folder that cannot be made or written to.
    """
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder; name the model file to write")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise ModelFileError(f"no model can be written to {path}: {error.strerror}") from None


def _whole(path: Path, kind: Kind) -> bytearray:
    """The content of a file that begins as ours do."""
    if not path.is_file():  # opening a pipe would wait for ever, a device need not end
        what = ", only something that is no file" if path.exists() else ""
        raise ModelFileError(f"there is no {kind.noun} file at {path}{what}")
    with path.open("rb") as file:
        beginning = file.read(_DIGITS_AT)
        if beginning[LENGTH_BYTES:] != _BEGINNING:
            raise ModelFileError(_foreign(path, beginning + file.read(LONGEST_HEADER), kind))
        content = bytearray(os.fstat(file.fileno()).st_size)
        file.seek(0)
        if file.readinto(content) != len(content) or file.read(1):
            raise ModelFileError(f"{path} changed while it was read; try again")
    return content


def _foreign(path: Path, beginning: bytes, kind: Kind) -> str:
    """What is wrong with a file that begins differently."""
    version = _declared_version(beginning, kind)
    if version != kind.version:
        return _other_version(path, version, kind)
    return f"{path} cannot be read as a {kind.noun} file: it is damaged, or not a smore {kind.noun}"


def _damaged(path: Path, content: bytearray, kind: Kind) -> str:
    """What is wrong with a file whose checksum is."""
    told = f"{path} is damaged: its checksum does not match; restore a copy"
    version = _declared_version(content[: LENGTH_BYTES + LONGEST_HEADER], kind)
    if version > kind.version:  # whose checksum may be another one
        told += f"; or else {_other_version('it', version, kind)}"
    return told


def _declared_version(beginning: Bytes, kind: Kind) -> int:
    """What a file says that its version is; ours if it says nothing of the kind.

    Nothing is parsed: the file may be damaged, or made to do harm.
    """
    declared = re.search(rb'"version":"([0-9]{1,9})"', beginning)
    if declared is None or f'"format":"{kind.format}"'.encode() not in beginning:
        return kind.version
    return int(declared[1])


def _require_known(path: Path, metadata: dict[str, str], kind: Kind) -> None:
    if not {"format", "version", "description"} <= set(metadata):
        raise HeaderError("no format, version or description")
    if metadata["format"] != kind.format:
        raise ModelFileError(
            f"{path} is not a smore {kind.noun}: its format is {metadata['format'][:50]!r}, "
            f"expected '{kind.format}'"
        )
    version = metadata["version"]
    if not re.fullmatch("[0-9]{1,9}", version):
        raise HeaderError(f"version {version[:50]!r}")
    if int(version) != kind.version:
        raise ModelFileError(_other_version(path, int(version), kind))


def _other_version(file: Path | str, version: int, kind: Kind) -> str:
    newer = version > kind.version
    return (
        f"{file} has {kind.noun} format version {version}, this smore reads {kind.version} only: "
        f"it was written by {'a newer' if newer else 'an older'} smore; "
        f"{'update smore' if newer else kind.again}"
    )


def _checksum(content: Iterable[Bytes]) -> str:
    """SHA-256 of a whole file, whose first part holds at least the digits."""
    digest = hashlib.sha256()
    for number, part in enumerate(content):
        view = memoryview(part)
        if number == 0:
            digest.update(view[:_DIGITS_AT])
            digest.update(_NO_DIGITS.encode())
            view = view[_DIGITS_END:]
        digest.update(view)
    return digest.hexdigest()


def _bytes_of(tensor: Tensor) -> memoryview:
    return tensor.view(-1).view(torch.uint8).numpy().data


def _tensor(content: bytearray, start: int, place: Place) -> Tensor:
    """A tensor with memory of its own, aligned as torch does it."""
    try:
        tensor = torch.empty(place.shape, dtype=place.dtype)
    except RuntimeError as error:  # no numbers, but dimensions whose product overflows
        raise HeaderError(f"an impossible shape ({error})") from None
    _bytes_of(tensor)[:] = memoryview(content)[start + place.begin : start + place.end]
    return tensor
