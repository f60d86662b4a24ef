"""Files that ask to be executed, or for memory and time that they must not get.

Whatever in them is executed creates a marker. Forged ones have a checksum that is right.
"""

from __future__ import annotations

import gzip
import io
import json
import marshal
import os
import pickle
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import originals
import torch

from forged_files import FORGED_HEADERS, entry, forge
from smore.model_file._header import LONGEST_HEADER
from smore.model_file.container import CHECKPOINT, load_file, save_file

MODEL, SAVED = ".smore", ".checkpoint"


class Payload:
    """An object whose unpickling runs a command."""

    def __init__(self, marker: Path) -> None:
        self.command = f"touch '{marker}'"

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def make_files(folder: Path, marker: Path, large: int) -> list[Path]:
    """All of them; one has `large` bytes."""
    valid = folder / "valid.smore"
    originals.save_model(valid)
    payload = Payload(marker)
    paths = []
    contents = [*_pickles(payload), *_code(payload), *_forged_headers()]
    for number, (name, suffix, content) in enumerate(contents):
        paths.append(folder / f"{number:02d} {name}{suffix}")
        paths[-1].write_bytes(content)
    for name, write in _forged_models(valid, payload, large):
        paths.append(folder / f"{len(paths):02d} {name}{MODEL}")
        write(paths[-1])
    return paths + _no_files(folder, payload) + [_zarr_store(folder, payload)]


def _pickles(payload: Payload) -> Iterator[tuple[str, str, bytes]]:
    """Pickles, bare and in the containers that other libraries read them from."""
    for protocol in range(6):
        yield f"pickle {protocol}", MODEL, pickle.dumps({"weights": payload}, protocol)
    yield "pickle", SAVED, pickle.dumps(payload)
    for new in (True, False):
        buffer = io.BytesIO()
        torch.save({"w": payload}, buffer, _use_new_zipfile_serialization=new)
        yield f"torch, zip {new}", MODEL, buffer.getvalue()
    buffer = io.BytesIO()
    np.save(buffer, np.array([payload], object), allow_pickle=True)
    yield "numpy objects", MODEL, buffer.getvalue()
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.array([payload], object))
    yield "numpy archive", SAVED, buffer.getvalue()
    yield "gzip", MODEL, gzip.compress(pickle.dumps(payload))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("../../../../etc/cron.d/smore")
        archive.addfile(member, io.BytesIO(b""))
    yield "tar with a path", MODEL, buffer.getvalue()


def _code(payload: Payload) -> Iterator[tuple[str, str, bytes]]:
    """Programs, in whatever language something might run them."""
    source = f"import os; os.system({payload.command!r})"
    yield "python", MODEL, source.encode()
    yield "shell", MODEL, f"#!/bin/sh\n{payload.command}\n".encode()
    yield "marshal", MODEL, marshal.dumps(compile(source, "model", "exec"))
    yield "yaml", MODEL, f'!!python/object/apply:os.system ["{payload.command}"]\n'.encode()
    called = {"py/reduce": [{"py/function": "os.system"}, {"py/tuple": [payload.command]}]}
    yield "jsonpickle", MODEL, json.dumps(called).encode()
    yield "jsonpickle described", MODEL, forge({}, description=json.dumps(called))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("__main__.py", source)
    yield "runnable zip", MODEL, buffer.getvalue()


def _forged_headers() -> Iterator[tuple[str, str, bytes]]:
    for name, content in FORGED_HEADERS.items():
        yield name, MODEL, content
    yield "a huge shape", SAVED, forge({"a": entry([2**40], 0, 8)}, bytes(8), kind=CHECKPOINT)
    yield "a path as name", SAVED, forge({"../a": entry([2], 0, 8)}, bytes(8), kind=CHECKPOINT)
    yield "a model as checkpoint", SAVED, forge({"a": entry([2], 0, 8)}, bytes(8))


def _forged_models(
    valid: Path, payload: Payload, large: int
) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Models that were really fitted, and then changed."""
    tensors, text = load_file(valid)

    def saved(
        changes: dict[str, Any] | None = None, **more: torch.Tensor
    ) -> Callable[[Path], None]:
        told = json.loads(text)
        told["description"]["settings"] |= changes or {}
        return lambda path: save_file(path, tensors | more, json.dumps(told))

    def described(description: str) -> Callable[[Path], None]:
        return lambda path: save_file(path, tensors, description)

    for name in ("latent_dim", "hidden_dim", "num_hidden", "rank"):
        yield f"huge {name}", saved({name: 2**34})
    yield "a command as dynamics", saved({"dynamics": f"$({payload.command})"})
    yield (
        "a pickle as tensor",
        saved(pickle=torch.frombuffer(bytearray(pickle.dumps(payload)), dtype=torch.uint8)),
    )
    yield "a large tensor", saved(more=torch.zeros(large, dtype=torch.uint8))
    broken = tensors["decoder.output_weight"].clone()
    broken[0] = torch.nan
    yield "NaN", saved(**{"decoder.output_weight": broken})
    room = LONGEST_HEADER - 50_000
    yield "a long description", described("[" + "{}," * (room // 3) + "0]")
    for field, unit in (("conditions", "{},"), ("history", "[],"), ("channels", "{},")):
        yield f"wrong {field}", described(_repeated(text, field, unit, 500_000))
    yield (
        "many settings",
        described(
            json.dumps({"description": {f"{number:x}": 0 for number in range(40_000)}, "claims": 0})
        ),
    )


def _repeated(text: str, field: str, unit: str, length: int) -> str:
    """A description in which the list `field` is very long, and wrong throughout."""
    before, _, after = text.partition(f'"{field}":[')
    return f'{before}"{field}":[{unit * (length // len(unit))}{after}'


def _no_files(folder: Path, payload: Payload) -> list[Path]:
    """What is no file, and a name that a shell would run."""
    pipe, device, loop = (folder / f"{name}.smore" for name in ("pipe", "device", "loop"))
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    loop.symlink_to(loop)
    inside = folder / "folder.smore"
    inside.mkdir()
    named = folder / f"$({payload.command.replace('/', '_')}).smore"
    named.write_bytes(b"")
    return [pipe, device, loop, inside, named]


def _zarr_store(folder: Path, payload: Payload) -> Path:
    """Data whose labels are pickled, as old Zarr files may have them."""
    store = folder / "labels.zarr"
    arrays = {
        "u": (["time", "x"], np.ones((2, 3)), {}),
        "x": (["x"], np.arange(1.0, 4.0), {}),
        "time": (["time"], np.arange(1.0, 3.0), {}),
        "trajectory": ([], np.zeros(()), {
            "dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}], "fill_value": "",
        }),
    }  # fmt: skip
    store.mkdir()
    (store / ".zgroup").write_text('{"zarr_format": 2}')
    for name, (dims, values, special) in arrays.items():
        (store / name).mkdir()
        plain = {"zarr_format": 2, "shape": values.shape, "chunks": values.shape, "order": "C"}
        plain |= {"dtype": "<f8", "compressor": None, "filters": None, "fill_value": -1.0}
        (store / name / ".zarray").write_text(json.dumps(plain | special))
        (store / name / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": dims}))
        content = pickle.dumps([payload]) if special else values.tobytes()
        (store / name / ".".join("0" * max(values.ndim, 1))).write_bytes(content)
    return store
