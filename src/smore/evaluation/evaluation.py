"""A forecast scored against the truth, beside persistence and climatology."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from smore.data import Block, Trajectories
from smore.data.timeline import Timeline
from smore.decoder import Decoder
from smore.decoder.residual import squared_errors
from smore.evaluation.references import persistence_errors, truth_energy
from smore.evaluation.scores import score


@dataclass(frozen=True)
class Evaluation:
    """Errors of a forecast from the first snapshot of every sequence.

    `..._mse` is per field entry in the data's units, `..._nmse` divides each channel by its
    variance over the training data. Persistence keeps the first snapshot; climatology is the mean
    of the training data.
    """

    num_sequences: int
    horizon: int
    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float
    per_step_mse: tuple[float, ...]
    in_horizon_nmse: float | None
    extrapolation_nmse: float | None
    full_nmse: float
    per_step_nmse: tuple[float, ...]
    persistence_mse: float
    persistence_nmse: float
    persistence_per_step_mse: tuple[float, ...]
    climatology_mse: float
    climatology_nmse: float
    relative_l2: dict[str, float]

    @property
    def beats_references(self) -> bool:
        """Whether the forecast is better than both persistence and climatology."""
        return self.full_nmse < min(self.persistence_nmse, self.climatology_nmse)

    def verdict(self) -> str:
        """One sentence a practitioner can act on."""
        persistence = self.persistence_nmse / self.full_nmse
        climatology = self.climatology_nmse / self.full_nmse
        if self.beats_references:
            return (
                f"The forecast error is {persistence:.3g} times below persistence "
                f"and {climatology:.3g} times below climatology."
            )
        better = [
            name
            for name, ratio in (("persistence", persistence), ("climatology", climatology))
            if not ratio > 1
        ]
        return f"The forecast does not beat {' or '.join(better)}: do not use this model as it is."

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self) | {"beats_references": self.beats_references}


def evaluate_latents(
    decoder: Decoder,
    blocks: Sequence[Block],
    forecast: Tensor,
    climatology: Tensor,
    trajectories: Trajectories,
    timeline: Timeline,
    *,
    scale: Tensor,
    variance: Tensor,
    horizon: int,
    chunk_size: int | None = None,
) -> Evaluation:
    """Score latent forecasts against the snapshots they predict.

    Args:
        decoder: decodes both forecast and climatology.
        blocks: the truth, normalised.
        forecast: (snapshots, channels, p) predicted latents.
        climatology: (channels, p) latents of the training mean.
        trajectories: the truth in its own units.
        timeline: which snapshot comes when.
        scale: (channels,) what a normalised unit is in the data's units.
        variance: (channels,) variance over the training data, in the data's units.
        horizon: snapshots in the training window.
        chunk_size: points decoded at once.
    """
    squared, count = squared_errors(decoder, blocks, forecast, chunk_size)
    constant = climatology.expand_as(forecast)
    climate, _ = squared_errors(decoder, blocks, constant, chunk_size)
    squared, climate = squared * scale**2, climate * scale**2
    kept, kept_count = persistence_errors(trajectories)

    mse = score(squared, count, timeline, horizon)
    nmse = score(squared / variance, count, timeline, horizon)
    persistence = score(kept, kept_count, timeline, horizon)
    scored = (
        timeline.scatter(torch.arange(timeline.valid.shape[1]).expand(timeline.valid.shape)) > 0
    )
    relative = (squared[scored].sum(0) / truth_energy(trajectories)[scored].sum(0)).sqrt()
    return Evaluation(
        num_sequences=len(trajectories),
        horizon=horizon,
        in_horizon_mse=mse.in_horizon,
        extrapolation_mse=mse.extrapolation,
        full_mse=mse.full,
        per_step_mse=mse.per_step,
        in_horizon_nmse=nmse.in_horizon,
        extrapolation_nmse=nmse.extrapolation,
        full_nmse=nmse.full,
        per_step_nmse=nmse.per_step,
        persistence_mse=persistence.full,
        persistence_nmse=score(kept / variance, kept_count, timeline, horizon).full,
        persistence_per_step_mse=persistence.per_step,
        climatology_mse=score(climate, count, timeline, horizon).full,
        climatology_nmse=score(climate / variance, count, timeline, horizon).full,
        relative_l2={
            channel.name: float(value)
            for channel, value in zip(trajectories.channels, relative, strict=True)
        },
    )
