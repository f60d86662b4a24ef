"""Algorithm 1 on a file that is streamed from disk, timed part by part."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil
import torch

from smore.data import Trajectories
from smore.errors import DataError
from smore.runtime import resolve_device
from smore.settings import Settings
from smore.training import assemble, prepare
from smore.training import train as run_recipe
from smore_paper.measuring.bounded_process import Measured, measured_within
from smore_paper.measuring.generated import Generated, disk_bytes, generated_file

# Of the memory that is free: a fit that takes more is given up for the machine's sake.
FREE_SHARE = 0.8


@dataclass(frozen=True)
class StreamedFit:
    """What a fit took.

    Attributes:
        reading_seconds: to read, check and copy the data.
        seconds_per_epoch: of training.
        finishing_seconds: to make a model of what was trained.
        chunk_size: points decoded at once, as chosen from the memory; None for all.
        disk_bytes: of the file.
    """

    reading_seconds: float
    seconds_per_epoch: float
    finishing_seconds: float
    chunk_size: int | None
    disk_bytes: int
    device: str


def fit_generated(
    data: Generated, settings: Settings, scratch: Path | None
) -> Measured[StreamedFit]:
    """Fit `data` in a fresh process, from a file that is removed afterwards.

    Args:
        data: what is generated.
        settings: of the fit.
        scratch: folder for the file; by default that of smore's cache.

    Raises:
        DataError: the disk is too small, or the machine's memory.
    """
    most = int(FREE_SHARE * psutil.virtual_memory().available)
    with generated_file(data, scratch) as path:
        measured = measured_within(most, streamed_fit, path, settings)
    if measured is None:
        raise DataError(
            f"a grid of {data.grid} x {data.grid} took more than {most / 1e9:.3g} GB, most of what "
            "is free on this machine; give it less with --memory"
        )
    return measured


def streamed_fit(path: Path, settings: Settings) -> StreamedFit:
    """Everything that `SMORE.fit` does with a file; to be called in a fresh process."""
    device = resolve_device(settings.device)
    _warm_up(settings, device)
    moments = [time.monotonic()]
    lazy = Trajectories.open(path, lazy=True)
    prepared = prepare(lazy, None, settings, device, show_progress=True)
    moments.append(time.monotonic())
    trained = run_recipe(prepared, device, show_progress=True)
    moments.append(time.monotonic())
    if trained.divergence is not None:
        raise trained.divergence
    assemble(prepared, trained, 0.0)
    moments.append(time.monotonic())
    reading, training, finishing = (after - before for before, after in pairwise(moments))
    return StreamedFit(
        reading,
        training / settings.epochs,
        finishing,
        prepared.settings.chunk_size,
        disk_bytes(path),
        str(device),
    )


def _warm_up(settings: Settings, device: torch.device) -> None:
    """Let libraries load whatever they load when they are first used, on data of no size."""
    few = Trajectories.from_xarray(Generated(8, 2, settings.window).dataset())
    run_recipe(prepare(few, None, settings, device), device, show_progress=False)
