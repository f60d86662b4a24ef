"""The files of checkpoints: numbered, written to a temporary name, synced and renamed.

The last two are kept; the newest that can be read is taken.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from smore.errors import ModelFileError
from smore.model_file import CHECKPOINT, load_file, save_file
from smore.training.checkpoints._tree import State, pack, unpack

KEPT = 2
SUFFIX = ".checkpoint"
STEPS = "steps"  # how many a stage has done, beside the states of its parts


# Identity, stages and seconds.
Content = tuple[dict[str, str], dict[str, State], float]


def write_checkpoint(folder: Path, content: Content) -> None:
    """Write the next file and remove those before the last two.

    Raises:
        ModelFileError: it cannot be written; those before are still there.
    """
    identity, stages, seconds = content
    tensors, text = pack({"identity": identity, "seconds": seconds, "stages": stages})
    number = max((int(path.stem) for path in checkpoint_files(folder)), default=0) + 1
    save_file(folder / f"{number:08d}{SUFFIX}", tensors, text, CHECKPOINT)
    for path in checkpoint_files(folder)[:-KEPT]:
        path.unlink(missing_ok=True)


def discard_checkpoints(folder: str | os.PathLike[str]) -> None:
    """Remove the checkpoints of a run whose model is safe, and their folder if nothing is left."""
    folder = Path(folder)
    for path in checkpoint_files(folder):
        path.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def checkpoint_files(folder: Path) -> list[Path]:
    """The checkpoints in a folder, oldest first."""
    files = [path for path in folder.glob(f"*{SUFFIX}") if path.stem.isdigit()]
    return sorted(files, key=lambda path: int(path.stem))


def newest(folder: Path) -> tuple[Path, Content, ModelFileError | None] | None:
    """The newest checkpoint that can be read, and what is wrong with newer ones; None without any.

    Raises:
        ModelFileError: there are files, but none can be read.
    """
    damage: ModelFileError | None = None
    for path in reversed(checkpoint_files(folder)):
        try:
            return path, _read(path), damage
        except ModelFileError as error:
            damage = damage or error
    if damage is not None:
        raise damage
    return None


def _read(path: Path) -> Content:
    """Identity, stages and seconds of a checkpoint."""
    state = unpack(path, *load_file(path, CHECKPOINT))
    match state:
        case {"identity": dict(identity), "stages": dict(stages), "seconds": float(seconds)}:
            return identity, stages, seconds
    raise ModelFileError(f"{path} is a checkpoint of something else than a smore training")


def told_origin(path: Path, stages: dict[str, State]) -> str:
    """The last stage of a checkpoint, how far it was, and when."""
    saved = f"saved {_told_duration(time.time() - path.stat().st_mtime)} ago in {path}"
    if not stages:
        return f"going on from step 0, {saved}"
    name, state = list(stages.items())[-1]
    steps = f"step {state[STEPS]:,} of " if STEPS in state else ""
    return f"going on from {steps}stage '{name}', {saved}"


def _told_duration(seconds: float) -> str:
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count > 0:
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return "less than a minute"
