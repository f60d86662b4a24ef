"""Forecasts from ever fewer visible points of the first snapshot, beside the paper's.

The paper hides points at random. Where sensors can be placed instead, `plan_sensors` says where,
and the same sweep shows what that is worth.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from smore.analysis import plan_sensors
from smore.data import Mesh, Trajectories
from smore.errors import DataError, DivergenceError, SettingsError
from smore.inference import FitMethod, observability
from smore.model import SMORE
from smore.settings import Settings
from smore_paper.claims import SPARSE_CLAIMS
from smore_paper.presets import preset

# The fractions of the paper's table.
VISIBLE = tuple(SPARSE_CLAIMS["wave-koopman"])
# Sensors are placed up to this fraction: random points in greater number see everything already.
MOST_PLACED = 0.1

Arrangement = Literal["random", "placed"]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Level:
    """Test errors with one fraction of the first snapshot visible.

    Errors are medians over the masks: inf where a forecast overflows, None where the test data
    have nothing to compare with.

    Attributes:
        visible: fraction of the mesh's points.
        count: number of these points, the same in every sequence.
        placement: "random" for masks drawn at random, "placed" for D-optimal sensors.
        full_mse_per_mask: full-window error of every mask, in the order of their seeds; a
            placement is a single mask.
        observability: c_S = σ_min(J_S), the median over masks; exactly 0 with fewer points than
            latents per channel.
        seconds: to choose the points, infer, forecast and score, all masks together.
        paper_full_mse: what the paper has, None where it has nothing.
    """

    visible: float
    count: int
    placement: Arrangement
    full_mse: float | None
    in_horizon_mse: float | None
    extrapolation_mse: float | None
    full_mse_per_mask: tuple[float | None, ...]
    observability: float
    seconds: float
    paper_full_mse: float | None


def sweep(
    model: SMORE,
    test: Trajectories,
    *,
    fractions: Sequence[float],
    seeds: Sequence[int],
    placed: bool,
    method: FitMethod,
    claims: Mapping[float, float] | None = None,
) -> Iterator[Level]:
    """Score forecasts of `test` with fewer and fewer points of the first snapshots visible.

    Args:
        model: a fitted model; nothing of it is retrained.
        test: the truth, all sequences on one mesh.
        fractions: of the mesh's points to leave visible.
        seeds: one random mask each, see `nested_masks`.
        placed: also place as many sensors, D-optimally, wherever a tenth of the points or less is
            visible: to place thousands takes long and buys nothing.
        method: how the initial state is inferred, see `SMORE.infer`.
        claims: the paper's full-window error by fraction, one of SPARSE_CLAIMS.

    Raises:
        DataError: sequences on different meshes.
        SettingsError: a fraction out of range, or of less than a single point.
    """
    surrogate = model.surrogate_
    names = [channel.name for channel in surrogate.description.channels]
    test = surrogate.aligned(test.select_channels(names))
    mesh = _shared_mesh(test)
    coords = torch.as_tensor(surrogate.description.coordinate_map(mesh.coords))
    masks = [nested_masks(mesh.num_points, fractions, seed) for seed in seeds]
    for visible, placement in planned(fractions, placed=placed):
        started = time.monotonic()
        if placement == "random":
            chosen = [mask[visible] for mask in masks]
        else:
            plan = plan_sensors(surrogate, _count(mesh.num_points, visible), candidates=mesh)
            chosen = [np.sort(plan.placement.points.numpy())]
        scores = [_score(model, test, index, method) for index in chosen]
        full, in_horizon, extrapolation = zip(*scores, strict=True)
        seen = [observability(surrogate.decoder, coords[index]) for index in chosen]
        yield Level(
            visible=visible,
            count=len(chosen[0]),
            placement=placement,
            full_mse=_median(full),
            in_horizon_mse=_median(in_horizon),
            extrapolation_mse=_median(extrapolation),
            full_mse_per_mask=full,
            observability=statistics.median(seen),
            seconds=round(time.monotonic() - started, 2),
            paper_full_mse=(claims or {}).get(visible),
        )


def planned(fractions: Sequence[float], *, placed: bool) -> list[tuple[float, Arrangement]]:
    """Fraction and placement of every level of a sweep, in order."""
    levels: list[tuple[float, Arrangement]] = []
    for visible in fractions:
        levels.append((visible, "random"))
        if placed and visible <= MOST_PLACED:
            levels.append((visible, "placed"))
    return levels


def nested_masks(num_points: int, fractions: Sequence[float], seed: int) -> dict[float, Index]:
    """Visible points by fraction v: the first ⌊v N⌋ of one random permutation, in mesh order.

    One permutation serves all fractions, so that a smaller mask is part of every larger one.

    Args:
        num_points: N.
        fractions: v, above 0 and at most 1.
        seed: of the permutation.

    Raises:
        SettingsError: a fraction out of range, or of less than a single point.
    """
    order = np.random.default_rng(seed).permutation(num_points)
    return {visible: np.sort(order[: _count(num_points, visible)]) for visible in fractions}


def claimed_preset(dataset: str, settings: Settings) -> str | None:
    """The preset whose sparse errors the paper reports for such a model of this benchmark."""
    for name in SPARSE_CLAIMS:
        claimed = preset(name)
        if (claimed.dataset, claimed.settings.dynamics) == (dataset, settings.dynamics):
            return name
    return None


def _count(num_points: int, visible: float) -> int:
    """⌊v N⌋, of the decimal number that the user wrote: 0.29 · 100 in binary is below 29."""
    if not 0 < visible <= 1:
        raise SettingsError(f"visible fractions lie above 0 and up to 1, got {visible}")
    count = math.floor(visible * num_points + 1e-9)
    if count == 0:
        raise SettingsError(
            f"a fraction of {visible} leaves none of {num_points} points visible; "
            f"ask for {1 / num_points:.2g} or more"
        )
    return count


def _shared_mesh(test: Trajectories) -> Mesh:
    """The mesh of all sequences."""
    mesh, *others = test.meshes
    if others:
        raise DataError(
            "a sweep hides the same points of all sequences, so they have to be on one mesh; got "
            f"{1 + len(others)} meshes: select sequences that share one"
        )
    return mesh


def _score(
    model: SMORE, test: Trajectories, index: Index, method: FitMethod
) -> tuple[float | None, float | None, float | None]:
    """Full-window, in-horizon and extrapolation error from the points `index`."""
    observations = test.leading(1).at_points(index)
    try:
        scores = model.evaluate(test, observations=observations, method=method)
    except DivergenceError:
        # From a badly inferred state quadratic dynamics may escape: a result, not an accident.
        return math.inf, math.inf, math.inf
    return scores.full_mse, scores.in_horizon_mse, scores.extrapolation_mse


def _median(errors: Sequence[float | None]) -> float | None:
    known = [error for error in errors if error is not None]
    return statistics.median(known) if known else None
