"""A model is one safetensors file: tensors, and a JSON description in its metadata.

Nothing is ever unpickled. The checksum covers the description and every tensor with its name, type
and shape; it is verified on loading.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from smore.errors import ModelFileError

FORMAT = "smore-model"
VERSION = 1


def save_file(path: str | os.PathLike[str], tensors: dict[str, Tensor], description: str) -> None:
    """Write `tensors` and the JSON text `description` to `path`, all of it or nothing."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "description": description,
        "sha256": _checksum(tensors, description),
    }
    write_atomically(Path(path), save(tensors, metadata))


def load_file(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], str]:
    """Tensors and description of a model file.

    Raises:
        ModelFileError: the file is missing, damaged, not a model, or from a newer version.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"there is no model file at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            _require_known(path, metadata)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path} cannot be read as a model file: {error}") from None
    description = metadata.get("description", "")
    if _checksum(tensors, description) != metadata.get("sha256"):
        raise ModelFileError(f"{path} is damaged: its checksum does not match; restore a copy")
    return tensors, description


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


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file beside `path`, sync it, rename it into place, sync the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), 0o666 & ~_umask())  # mkstemp keeps files private
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _require_known(path: Path, metadata: dict[str, str]) -> None:
    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"{path} is a safetensors file, but not a smore model")
    version = metadata.get("version", "")
    if not version.isdigit() or int(version) > VERSION:
        raise ModelFileError(
            f"{path} has model format version {version}, this smore reads up to {VERSION}; "
            "update smore"
        )


def _checksum(tensors: dict[str, Tensor], description: str) -> str:
    digest = hashlib.sha256(description.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
