"""Epochs of Algorithm 1 that are only there to be measured."""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from smore.dynamics import draw_anchors
from smore.settings import Settings
from smore.surrogate import build_dynamics, build_network
from smore.training import Algorithm1, Prepared, draw_batches, train

TEACHER_FORCING = 0.5  # somewhere in the middle of the paper's schedule


def fresh_run(prepared: Prepared, settings: Settings) -> Algorithm1:
    """Fresh networks on `prepared` data, the same in every process."""
    generator = torch.Generator().manual_seed(0)
    decoder = build_network(settings, prepared.coordinate_map.decoder_dim, generator)
    dynamics = build_dynamics(settings, prepared.problem.num_channels, generator)
    return Algorithm1(prepared.problem, decoder, dynamics, settings)


def epoch_seconds(run: Algorithm1) -> float:
    """How long an epoch takes."""
    generator = torch.Generator().manual_seed(0)
    batches = draw_batches(run.problem.num_sequences, run.settings.batch_size, generator)
    longest = run.problem.timeline.valid.shape[1]
    anchors = draw_anchors(len(batches), longest, TEACHER_FORCING, generator)
    started = time.perf_counter()
    run.epoch(batches, anchors)
    return time.perf_counter() - started


def seconds_per_epoch(prepared: Prepared, device: torch.device) -> float:
    """Time of an epoch of Algorithm 1 on `prepared` data, without evaluation stages."""

    def seconds(epochs: int) -> float:
        settings = prepared.settings.replace(epochs=epochs)
        alone = replace(prepared, settings=settings, forecast_error=None)
        started = time.monotonic()
        train(alone, device, show_progress=False)
        return time.monotonic() - started

    seconds(1)  # pays for first calls
    return seconds(2) / 2
