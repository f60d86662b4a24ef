"""Forecasts of a surrogate from first snapshots, scored against what followed."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from smore.data import Timeline, Trajectories, stored
from smore.errors import DataError
from smore.evaluation._simple_forecasts import climatology
from smore.evaluation.evaluation import Evaluation, evaluate_latents
from smore.inference import FitMethod
from smore.surrogate import Noise, Surrogate, advance, inferred

# Values that are looked at together.
AT_ONCE = 2**22


def evaluate_surrogate(
    surrogate: Surrogate,
    trajectories: Trajectories,
    observations: Trajectories,
    method: FitMethod,
    noise: Noise = None,
) -> Evaluation:
    """Forecast every sequence from `observations` of its first snapshot and score the rest.

    Both are aligned with the model, see `Surrogate.aligned`.
    """
    description = surrogate.description
    truth = stored(trajectories)
    known = truth if observations is trajectories else observations  # copied once
    timeline = Timeline.of(truth)
    state, _ = inferred(surrogate, known, method, noise)
    starts = torch.tensor([sequence.times[0] for sequence in truth])
    if not torch.equal(starts, state.times):
        raise DataError("the observations are not of the time of each first snapshot")
    forecast = timeline.scatter(advance(surrogate, state, timeline.times[:, 1:].numpy()))
    return evaluate_latents(
        surrogate.decoder,
        surrogate.blocks(truth),
        forecast,
        surrogate.prior.mean.view(forecast.shape[1:]).to(forecast),
        truth,
        timeline,
        scale=torch.tensor(description.normalization.scale, dtype=torch.float64),
        variance=torch.tensor(description.training_variance, dtype=torch.float64),
        horizon=description.horizon,
        chunk_size=description.settings.chunk_size,
        climate=_climate_errors(surrogate, truth),
    )


def _climate_errors(surrogate: Surrogate, truth: Trajectories) -> Tensor | None:
    """Σ (u - mean of the training data)² per snapshot and channel; None where that is not kept."""
    kept = [surrogate.references_on(mesh) for mesh in truth.meshes]
    if len(kept) > 1 or kept[0] is None:
        return None
    mean, tables = climatology(surrogate, kept[0]), []
    size = max(AT_ONCE // mean.size, 1)
    for sequence in truth:
        for start in range(0, sequence.num_snapshots, size):
            piece = sequence.snapshots(slice(start, start + size)).load()
            error = piece.fields - mean
            if piece.observed is not None:
                error = error * piece.observed
            tables.append(np.einsum("tcn,tcn->tc", error, error))
    return torch.as_tensor(np.concatenate(tables), dtype=torch.float64)
