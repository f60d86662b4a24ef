"""What pointwise minibatching saves, and what it costs: one epoch of Algorithm 1.

The paper decodes every snapshot of a minibatch at every point, so its activations have the size
(snapshots · points, h); chunks of points bound that, at 3.58 times the time. Here activations do
not depend on the number of snapshots in the first place.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from smore.data import Block, Trajectories
from smore.decoder import FilterNetwork
from smore.training import Algorithm1, Prepared, prepare
from smore_paper import datasets
from smore_paper.measuring.fresh_process import alone, memory_rise
from smore_paper.measuring.one_epoch import epoch_seconds, fresh_run
from smore_paper.measuring.textbook import decode_snapshots
from smore_paper.presets import preset

MEGABYTE = 10**6


@dataclass(frozen=True)
class MemoryBench:
    """Memory is the rise of a fresh process's resident memory above data and libraries.

    Attributes:
        textbook_megabytes: one minibatch, every snapshot decoded at every point at once.
        unchunked_megabytes: an epoch of the engine, all points at once.
        chunked_megabytes: an epoch of the engine, `chunk_size` points at once.
        memory_ratio: textbook over chunked.
        time_ratio: seconds of an epoch, chunked over unchunked, alternating in one process.
    """

    preset: str
    chunk_size: int
    textbook_megabytes: float
    unchunked_megabytes: float
    chunked_megabytes: float
    memory_ratio: float
    unchunked_seconds: float
    chunked_seconds: float
    time_ratio: float
    threads: int


def bench_memory(preset_name: str, chunk_size: int, repeats: int = 5) -> MemoryBench:
    """Measure one preset on its benchmark, each row in a process of its own."""
    textbook = alone(textbook_rise, preset_name)
    unchunked, chunked = (alone(engine_rise, preset_name, size) for size in (None, chunk_size))
    slow, fast = alone(engine_seconds, preset_name, chunk_size, repeats)
    return MemoryBench(
        preset=preset_name,
        chunk_size=chunk_size,
        textbook_megabytes=textbook / MEGABYTE,
        unchunked_megabytes=unchunked / MEGABYTE,
        chunked_megabytes=chunked / MEGABYTE,
        memory_ratio=textbook / chunked,
        unchunked_seconds=fast,
        chunked_seconds=slow,
        time_ratio=slow / fast,
        threads=torch.get_num_threads(),
    )


def textbook_rise(preset_name: str) -> int:
    """Bytes that one minibatch takes, decoded snapshot by snapshot with all points at once."""
    prepared = _prepared(preset_name)
    run = fresh_run(prepared, prepared.settings.replace(chunk_size=prepared.num_points))
    _warm_up(run)
    (block,) = prepared.problem.blocks
    assert isinstance(block, Block)
    decoder = run.decoder
    assert isinstance(decoder, FilterNetwork)
    settings = prepared.settings
    assert settings.train_length is not None
    columns = settings.batch_size * settings.train_length * block.num_channels
    codes = torch.zeros(columns, decoder.latent_dim, requires_grad=True)
    targets = block.values[:, :columns].T.contiguous()

    def minibatch() -> None:
        decoded = decode_snapshots(decoder, block.coords, codes)
        (decoded - targets).square().mean().backward()

    return memory_rise(minibatch)[1]


def engine_rise(preset_name: str, chunk_size: int | None) -> int:
    """Bytes that a whole epoch of the engine takes, by default with all points at once."""
    prepared = _prepared(preset_name)
    chunk_size = chunk_size or prepared.num_points
    run = fresh_run(prepared, prepared.settings.replace(chunk_size=chunk_size))
    _warm_up(run)
    return memory_rise(lambda: epoch_seconds(run))[1]


def engine_seconds(preset_name: str, chunk_size: int, repeats: int) -> tuple[float, float]:
    """Seconds of the fastest epoch: in chunks, and with all points at once."""
    prepared = _prepared(preset_name)
    runs = [
        fresh_run(prepared, prepared.settings.replace(chunk_size=size))
        for size in (chunk_size, prepared.num_points)
    ]
    for run in runs:
        epoch_seconds(run)
    seconds = [[epoch_seconds(run) for run in runs] for _ in range(repeats)]
    chunked, unchunked = (min(column) for column in zip(*seconds, strict=True))
    return chunked, unchunked


def _prepared(preset_name: str) -> Prepared:
    chosen = preset(preset_name)
    train = Trajectories.from_xarray(datasets.load(chosen.dataset).train)
    settings = chosen.settings.replace(recipe="paper", validation_fraction=0.0)
    return prepare(train, None, settings, torch.device("cpu"))


def _warm_up(run: Algorithm1) -> None:
    """Load whatever libraries load when they are first used."""
    basis = run.decoder.basis(torch.zeros(8, run.decoder.coordinate_dim))
    (basis.offset.sum() + basis.modes.sum()).backward()
    run.decoder.zero_grad(set_to_none=True)
