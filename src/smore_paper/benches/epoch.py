"""The decoder part of one epoch: textbook against engine, in one run on the same data."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from smore.data import Block
from smore.decoder import FilterNetwork, accumulate_reconstruction
from smore.surrogate import build_network
from smore_paper.measuring.textbook import decode_snapshots
from smore_paper.presets import Preset

NUM_SEQUENCES = {"wave": 512, "navier-stokes": 512, "shallow-water": 64}
NUM_POINTS = {"wave": 64 * 64, "navier-stokes": 64 * 64, "shallow-water": 64 * 128}


@dataclass(frozen=True)
class EpochBench:
    """Times of the reconstruction loss and all its gradients over every training snapshot.

    `textbook_seconds` was measured on `textbook_columns` of `columns` and scaled up.
    """

    preset: str
    points: int
    columns: int
    textbook_columns: int
    textbook_seconds: float
    engine_seconds: float
    speedup: float
    max_relative_gradient_difference: float
    threads: int


def bench_epoch(preset: Preset, textbook_columns: int = 20, repeats: int = 3) -> EpochBench:
    """Measure `preset` on random fields of its benchmark's size, in single precision."""
    settings = preset.settings
    generator = torch.Generator().manual_seed(0)
    decoder = build_network(settings, preset.coordinate_dim, generator)
    num_points = NUM_POINTS[preset.dataset]
    assert settings.train_length is not None
    num_snapshots = NUM_SEQUENCES[preset.dataset] * settings.train_length
    everything = _random_block(preset, num_points, num_snapshots, generator)
    few = _random_block(preset, num_points, textbook_columns // preset.num_channels, generator)

    engine = _time(lambda: _engine_gradients(decoder, everything, generator), repeats)
    textbook = _time(lambda: _textbook_gradients(decoder, few, generator), repeats)
    columns = everything.values.shape[1]
    scaled = textbook * columns / few.values.shape[1]
    return EpochBench(
        preset=preset.name,
        points=num_points,
        columns=columns,
        textbook_columns=few.values.shape[1],
        textbook_seconds=scaled,
        engine_seconds=engine,
        speedup=scaled / engine,
        max_relative_gradient_difference=max(
            float((ours - theirs).norm() / theirs.norm())
            for ours, theirs in zip(
                _engine_gradients(decoder, few, torch.Generator().manual_seed(1)),
                _textbook_gradients(decoder, few, torch.Generator().manual_seed(1)),
                strict=True,
            )
        ),
        threads=torch.get_num_threads(),
    )


def _random_block(
    preset: Preset, num_points: int, num_snapshots: int, generator: torch.Generator
) -> Block:
    columns = num_snapshots * preset.num_channels
    return Block(
        coords=torch.rand(num_points, preset.coordinate_dim, generator=generator) / 2,
        weights=torch.ones(num_points),
        values=torch.randn(num_points, columns, generator=generator),
        snapshots=torch.arange(num_snapshots),
        num_channels=preset.num_channels,
    )


def _latents(decoder: FilterNetwork, block: Block, generator: torch.Generator) -> Tensor:
    shape = (len(block.snapshots), block.num_channels, decoder.latent_dim)
    return 0.3 * torch.randn(*shape, generator=generator)


def _engine_gradients(
    decoder: FilterNetwork, block: Block, generator: torch.Generator
) -> list[Tensor]:
    latents = _latents(decoder, block, generator)
    weights = torch.full((len(latents),), 1 / block.values.numel())
    decoder.zero_grad()
    _, latent_gradient = accumulate_reconstruction(decoder, [block], latents, weights)
    return [latent_gradient, *_gradients(decoder)]


def _textbook_gradients(
    decoder: FilterNetwork, block: Block, generator: torch.Generator
) -> list[Tensor]:
    latents = _latents(decoder, block, generator).requires_grad_()
    decoder.zero_grad()
    decoded = decode_snapshots(decoder, block.coords, latents.flatten(0, 1))
    (decoded - block.values.T).square().mean().backward()
    assert latents.grad is not None
    return [latents.grad, *_gradients(decoder)]


def _gradients(decoder: FilterNetwork) -> list[Tensor]:
    gradients = [parameter.grad for parameter in decoder.parameters()]
    return [gradient.clone() for gradient in gradients if gradient is not None]


def _time(work: Callable[[], Any], repeats: int) -> float:
    """Seconds of the fastest of some runs, after one to warm up."""
    work()
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
