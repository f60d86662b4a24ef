"""Files that a disk, a cable or an unfinished copy damaged: every one is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import originals
from outcomes import Case, Outcome, judge, refusal

from smore import SMORE
from smore.errors import ModelFileError
from smore.model_file.container import CHECKPOINT, load_file

ASKED = "truncated or with flipped bits: all refused with a typed error naming the file"


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Damage `count` files, models and checkpoints in turn, at random places."""
    model, checkpoint = folder / "model.smore", folder / "00000001.checkpoint"
    originals.save_model(model)
    originals.save_checkpoint(checkpoint)
    return judge("damaged files", ASKED, _cases(count, random.Random(seed), [model, checkpoint]))


def _cases(count: int, chance: random.Random, paths: list[Path]) -> Iterator[Case]:
    whole = {path: path.read_bytes() for path in paths}
    for number in range(count):
        path = paths[number % len(paths)]
        content, told = _damaged(whole[path], chance)

        def case(path: Path = path, content: bytes = content) -> str | None:
            path.write_bytes(content)
            return refusal(lambda: _load(path), ModelFileError, str(path))

        yield f"file {number}, {path.name}, {told}", case


def _load(path: Path) -> None:
    if path.suffix == ".smore":
        SMORE.load(path, device="cpu")
    else:
        load_file(path, CHECKPOINT)


def _damaged(content: bytes, chance: random.Random) -> tuple[bytes, str]:
    """`content` after an accident, and what it was."""
    kind = chance.choice(
        ["truncated", "one bit", "one bit", "some bits", "header", "zeros", "more"]
    )
    size = len(content)
    header = 8 + int.from_bytes(content[:8], "little")
    if kind == "truncated":
        length = chance.choice([chance.randrange(size), chance.randrange(header), size - 1])
        return content[:length], f"truncated to {length} of {size} bytes"
    if kind == "more":
        added = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 20)))
        return content + added, f"{len(added)} bytes appended"
    if kind == "zeros":  # a page that never reached the disk
        start = chance.randrange(size)
        changed = (
            content[:start] + bytes(len(content[start : start + 512])) + content[start + 512 :]
        )
        if changed != content:
            return changed, f"zeros from byte {start}"
    limit = header if kind == "header" else size
    bits = [8 * chance.randrange(limit) + chance.randrange(8) for _ in range(3)]
    bits = sorted(set(bits if kind == "some bits" else bits[:1]))
    flipped = bytearray(content)
    for bit in bits:
        flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped), f"bits {bits} flipped"
