"""A whole default fit of a grid larger than memory: time, memory, passes over the data."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from smore.model import SMORE
from smore_paper.measuring.fresh_process import alone, peak_bytes
from smore_paper.measuring.generated import Generated, generated_file


@dataclass(frozen=True)
class LargeGrid:
    """What a fit took, from the file to a model that can be saved.

    Attributes:
        memory: the bound that was asked for, beside libraries.
        passes: bytes that were read, from the file and its copy by points, over those of the data.
        peak_megabytes: largest resident memory of the process, libraries included.
        decoder_error: what the decoder leaves of the training data, over their variance.
        pod_limit: what as many modes leave at least.
    """

    grid: int
    sequences: int
    snapshots: int
    megabytes: float
    memory: str
    decoder: str
    latent_dim: int
    seconds: float
    passes: float
    peak_megabytes: float
    decoder_error: float
    pod_limit: float


def bench_large_grid(data: Generated, memory: str, scratch: Path | None = None) -> LargeGrid:
    """Fit `data` with default settings but for `memory`, from a file that is removed afterwards.

    Raises:
        DataError: the disk has no room for the file and the copy that training makes.
    """
    with generated_file(data, scratch) as path:
        return alone(_measure, path, data, memory)


def _measure(path: Path, data: Generated, memory: str) -> LargeGrid:
    started, read = time.perf_counter(), _bytes_read()
    model = SMORE(memory=memory).fit(path)
    seconds = time.perf_counter() - started
    passes = (_bytes_read() - read) / data.num_bytes
    description = model.surrogate_.description
    settings, findings = description.settings, description.training.findings
    return LargeGrid(
        grid=data.grid,
        sequences=data.sequences,
        snapshots=data.snapshots,
        megabytes=data.num_bytes / 1e6,
        memory=memory,
        decoder=settings.decoder or "network",
        latent_dim=settings.latent_dim or 0,
        seconds=round(seconds, 1),
        passes=round(passes, 2),
        peak_megabytes=peak_bytes() / 1e6,
        decoder_error=findings["decoder_error"],
        pod_limit=findings.get("pod_limit", 0.0),  # none where modes hold all there is
    )


def _bytes_read() -> int:
    """By this process, from disks or their caches."""
    return int(psutil.Process().io_counters().read_chars)
