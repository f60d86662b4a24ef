"""Nested states as tensors and JSON, and back: what a checkpoint file can hold.

The states of networks, optimisers and loops are dictionaries and lists of tensors and plain values.
Tensors are taken out and named; what remains is JSON, so reading it back executes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from smore.errors import ModelFileError

State = Any  # dict, list, tuple, Tensor, str, int, float, bool or None, nested


def pack(state: State) -> tuple[dict[str, Tensor], str]:
    """The tensors in `state` by name, and the rest as JSON text."""
    tensors: dict[str, Tensor] = {}

    def packed(part: State) -> Any:
        if isinstance(part, Tensor):
            name = str(len(tensors))
            tensors[name] = part
            return {"tensor": name}
        if isinstance(part, dict):
            # As pairs, since the keys of JSON objects are strings and those of optimisers are not.
            return {"dict": [[key, packed(value)] for key, value in part.items()]}
        if isinstance(part, list | tuple):
            return {type(part).__name__: [packed(value) for value in part]}
        assert part is None or isinstance(part, str | int | float | bool), type(part)
        return part

    text = json.dumps(packed(state))
    return tensors, text


def unpack(path: Path, tensors: dict[str, Tensor], text: str) -> State:
    """What `pack` was given.

    Args:
        path: of the file it comes from, to be named if it is damaged.
        tensors, text: what `pack` returned.

    Raises:
        ModelFileError: the text is not what `pack` writes.
    """

    def unpacked(part: Any) -> State:
        match part:
            case {"tensor": str(name)} if len(part) == 1:
                return tensors[name]
            case {"dict": list(pairs)} if len(part) == 1:
                return {key: unpacked(value) for key, value in pairs}
            case {"list": list(values)} if len(part) == 1:
                return [unpacked(value) for value in values]
            case {"tuple": list(values)} if len(part) == 1:
                return tuple(unpacked(value) for value in values)
            case None | str() | int() | float():
                return part
        raise ValueError(f"unexpected {type(part).__name__}")

    try:
        return unpacked(json.loads(text))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ModelFileError(f"{path} holds no state of a training: {error}") from None
