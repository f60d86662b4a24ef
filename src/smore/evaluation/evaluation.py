"""A forecast scored against the truth, beside persistence and climatology."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from smore.data import AnyBlock, Timeline, Trajectories
from smore.decoder import Decoder, squared_errors
from smore.evaluation.references import persistence_errors, truth_energy
from smore.evaluation.scores import score
from smore.evaluation.words import steps_in_words, times_as_large
from smore.inference import least_squares, normal_equations
from smore.runtime import html_table

# With as many values per latent, least squares hides a tenth of noise at most.
ENOUGH_VALUES = 10


@dataclass(frozen=True)
class Evaluation:
    """Errors of a forecast from the first snapshot of every sequence.

    `..._mse` is per field entry in the data's units, `..._nmse` divides each channel by its
    variance over the training data. Persistence keeps the first snapshot; climatology is the mean
    of the training data, decoded by the model where it does not keep it. `decoder_...` is the error
    of fitting each snapshot by itself, which no dynamics can undercut; None where a snapshot has
    too few values per latent to judge by, and of forecasts that come as fields. None stands where
    nothing was observed.
    """

    num_sequences: int
    horizon: int
    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse: float | None
    per_step_mse: tuple[float | None, ...]
    in_horizon_nmse: float | None
    extrapolation_nmse: float | None
    full_nmse: float | None
    per_step_nmse: tuple[float | None, ...]
    persistence_in_horizon_mse: float | None
    persistence_extrapolation_mse: float | None
    persistence_mse: float | None
    persistence_nmse: float | None
    persistence_per_step_mse: tuple[float | None, ...]
    climatology_in_horizon_mse: float | None
    climatology_extrapolation_mse: float | None
    climatology_mse: float | None
    climatology_nmse: float | None
    decoder_in_horizon_mse: float | None
    decoder_extrapolation_mse: float | None
    decoder_mse: float | None
    decoder_nmse: float | None
    relative_l2: dict[str, float]

    @property
    def improvements(self) -> dict[str, float]:
        """How many times the error lies below that of each reference that could be computed."""
        references = {
            "persistence": self.persistence_nmse,
            "climatology": self.climatology_nmse,
        }
        error = math.nan if self.full_nmse is None else self.full_nmse
        return {
            name: reference / error if error else math.inf
            for name, reference in references.items()
            if reference is not None and not math.isnan(reference)
        }

    @property
    def beats_references(self) -> bool:
        """Whether the forecast is better than persistence and climatology."""
        return all(ratio > 1 for ratio in self.improvements.values())

    def verdict(self) -> str:
        """One sentence a practitioner can act on."""
        unbeaten = [name for name, ratio in self.improvements.items() if not ratio > 1]
        if unbeaten:
            names = " or ".join(unbeaten)
            return f"The forecast does not beat {names}: do not use this model so far ahead."
        ratios = [
            f"{times_as_large(ratio)} times below {name}"
            for name, ratio in self.improvements.items()
        ]
        worse, known = self._against_persistence
        caveat = f", but above persistence {steps_in_words(worse, known)}" if worse else ""
        return f"The forecast error is {' and '.join(ratios)}{caveat}."

    def limit(self) -> str | None:
        """One sentence about what the error consists of, if that is known."""
        share = self.decoder_share
        if share is None or not math.isfinite(share):
            return None
        if share > 0.5:
            return f"Decoding alone leaves {share:.0%} of it: what the modes do not hold."
        return f"Decoding alone leaves {share:.2%} of it; dynamics and initial states add the rest."

    @property
    def decoder_share(self) -> float | None:
        """The part of the error, per variance, that fitting each snapshot by itself leaves."""
        if self.decoder_nmse is None or not self.full_nmse:
            return None
        return self.decoder_nmse / self.full_nmse

    @property
    def _against_persistence(self) -> tuple[list[int], list[int]]:
        """Steps at which keeping the first snapshot is better, and those that can be compared."""
        pairs = zip(self.per_step_mse, self.persistence_per_step_mse, strict=True)
        known = {
            step: not error < kept
            for step, (error, kept) in enumerate(pairs, start=1)
            if error is not None and kept is not None
        }
        return [step for step, worse in known.items() if worse], list(known)

    def table(self) -> tuple[str, list[str], list[list[Any]]]:
        """Errors beside those of references: a title, columns and rows."""
        windows = ("in_horizon_mse", "extrapolation_mse", "mse", "nmse")
        rows: list[list[Any]] = [
            ["model", self.in_horizon_mse, self.extrapolation_mse, self.full_mse, self.full_nmse]
        ]
        for reference in ("persistence", "climatology", "decoder"):
            told = "decoder alone" if reference == "decoder" else reference
            rows.append([told, *(getattr(self, f"{reference}_{window}") for window in windows)])
        return (
            f"Forecasts of {self.num_sequences} sequences from their first snapshot",
            ["mean squared error", "in-horizon", "extrapolation", "full window", "per variance"],
            rows,
        )

    def _repr_html_(self) -> str:
        title, columns, rows = self.table()
        limit = self.limit()
        notes = [self.verdict(), *([] if limit is None else [limit])]
        return html_table(title, rows, columns, notes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self) | {"beats_references": self.beats_references}


def evaluate_latents(
    decoder: Decoder,
    blocks: Sequence[AnyBlock],
    forecast: Tensor,
    climatology: Tensor,
    trajectories: Trajectories,
    timeline: Timeline,
    *,
    scale: Tensor,
    variance: Tensor,
    horizon: int,
    chunk_size: int | None = None,
    climate: Tensor | None = None,
) -> Evaluation:
    """Score latent forecasts against the snapshots they predict.

    Args:
        decoder: decodes forecasts, and the climatology where that is all there is.
        blocks: the truth, normalised.
        forecast: (snapshots, codes, p) predicted latents.
        climatology: (codes, p) latents of the training mean.
        trajectories: the truth in its own units.
        timeline: which snapshot comes when.
        scale: (channels,) what a normalised unit is in the data's units.
        variance: (channels,) variance over the training data, in the data's units.
        horizon: snapshots in the training window.
        chunk_size: points decoded at once.
        climate: (snapshots, channels) sums of squared errors of the mean of the data, in the
            data's units, where that mean is known.
    """
    squared, count = squared_errors(decoder, blocks, forecast, chunk_size)
    if climate is None:
        constant = climatology.expand_as(forecast)
        climate = squared_errors(decoder, blocks, constant, chunk_size)[0] * scale**2
    fitted = _decoder_errors(decoder, blocks, squared, chunk_size)
    return evaluation_of(
        squared * scale**2,
        climate,
        count,
        (fitted[0] * scale**2, fitted[1]),
        trajectories,
        timeline,
        variance,
        horizon,
    )


def _decoder_errors(
    decoder: Decoder, blocks: Sequence[AnyBlock], like: Tensor, chunk_size: int | None
) -> tuple[Tensor, Tensor]:
    """Sums of squares left by least squares, snapshot by snapshot, and the number of values.

    Numbers are 0 if some channel of a snapshot has values, but fewer than ENOUGH_VALUES per latent:
    these would be fitted by themselves.
    """
    squared, count = torch.zeros_like(like), torch.zeros_like(like)
    for each in normal_equations(decoder, blocks, chunk_size):
        known = each.summed().count
        few = known < ENOUGH_VALUES * each.moment.shape[-1]
        if bool((few & (known > 0)).any()):
            return torch.zeros_like(like), torch.zeros_like(like)
        squared[each.snapshots] = each.squared_residual(least_squares(each)).to(squared)
        count[each.snapshots] = each.count.to(count)
    return squared, count


def evaluation_of(
    squared: Tensor,
    climate: Tensor,
    count: Tensor,
    fitted: tuple[Tensor, Tensor],
    truth: Trajectories,
    timeline: Timeline,
    variance: Tensor,
    horizon: int,
) -> Evaluation:
    """The evaluation that sums of squared errors make.

    Args:
        squared: (snapshots, channels) of the forecast, summed over points, in the data's units.
        climate: the same of the climatology.
        count: (snapshots, channels) number of points in each sum.
        fitted: sums and numbers of the decoder alone; numbers of 0 where it was not tried.
        truth: what was forecast.
        timeline: which snapshot comes when.
        variance: (channels,) over the training data.
        horizon: snapshots in the training window.
    """
    kept = persistence_errors(truth)
    references = {"persistence": kept, "climatology": (climate, count), "decoder": fitted}
    scores: dict[str, Any] = {}
    for unit, name in ((1, "mse"), (variance, "nmse")):
        found = score(squared / unit, count, timeline, horizon)
        scores |= {f"{window}_{name}": error for window, error in vars(found).items()}
    for reference, (sums, number) in references.items():
        found = score(sums, number, timeline, horizon)
        scores[f"{reference}_in_horizon_mse"] = found.in_horizon
        scores[f"{reference}_extrapolation_mse"] = found.extrapolation
        scores[f"{reference}_mse"] = found.full
        scores[f"{reference}_nmse"] = score(sums / variance, number, timeline, horizon).full
    later = torch.ones_like(timeline.valid)
    later[:, 0] = False
    scored = timeline.scatter(later)
    relative = (squared[scored].sum(0) / truth_energy(truth)[scored].sum(0)).sqrt()
    return Evaluation(
        num_sequences=len(truth),
        horizon=horizon,
        persistence_per_step_mse=score(*kept, timeline, horizon).per_step,
        relative_l2={
            channel.name: float(value)
            for channel, value in zip(truth.channels, relative, strict=True)
        },
        **scores,
    )
