"""Error bars from forecasts inside the training record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from smore.dynamics import WHERE_THEY_DIFFER, Disagreement, LeadError
from smore.training.dynamics.forced.disagreement import YoungerSelves
from smore.training.dynamics.forced.left_out import LeftOutForecasts
from smore.training.dynamics.forced.record import Array
from smore.training.dynamics.forced.system import System

# Share of the pattern that is as seen; the rest is alike everywhere, since few errors were seen.
SEEN = 0.9
# 90% of normal errors are within so many standard deviations.
WIDTH = 1.645
# Sizes by lead are a little too small: the model was chosen on stretches that overlap these.
MARGIN = 1.05
# A standard deviation of normal numbers over the median of their absolute values.
BY_MEDIAN = 1.4826
# A model that still learns has errors of less than this share of the variance, which fall from each
# stretch to the next, by more than so many times in all.
EXACT, LEARNS = 1e-4, 10.0


@dataclass(frozen=True, eq=False)
class Younger:
    """Models that did without the last snapshots, and what their distance says about errors.

    Args:
        systems: these, in the coordinates of the `LeadErrors`.
        measure: (p, p) from there to coordinates in which distances are those of fields.
        ages: (ages,) model time, see `Ratios`.
        log_ratios: (ages, leads + 1) of mean squares of errors.
        end: model time of the last snapshot of the record.
    """

    systems: tuple[System, ...]
    measure: Array
    ages: Array
    log_ratios: Array
    end: float

    def disagreement(self) -> Disagreement:
        matrices, constants = (
            np.stack(each) for each in zip(*(each.affine() for each in self.systems), strict=True)
        )
        parts = (matrices, constants, self.measure, self.ages, self.log_ratios, np.array(self.end))
        return Disagreement(*map(torch.as_tensor, parts))


@dataclass(frozen=True, eq=False)
class LeadErrors:
    """Errors of forecasts by lead, in a subspace, and what lies outside of it.

    Args:
        leads: (leads + 1,) model time, 0 first.
        variances: (leads + 1,) mean square of errors inside.
        pattern: (p, p) their covariance, of trace 1.
        excess: (channels,) see `LeftOutErrors`.
        unlike: largest over smallest mean square of errors among stretches of the record.
        younger: what tells errors of single forecasts.
    """

    leads: Array
    variances: Array
    pattern: Array
    excess: Tensor
    unlike: float
    younger: Younger | None = None

    def seen(self, change: Array, shift: Array) -> LeadErrors:
        """The same in coordinates α = T z + t."""
        younger = self.younger
        if younger is not None:
            systems = tuple(system.seen(change, shift) for system in younger.systems)
            measure = younger.measure @ np.linalg.inv(change)
            younger = replace(younger, systems=systems, measure=measure)
        return replace(self, pattern=change @ self.pattern @ change.T, younger=younger)

    def step_error(self, _: float) -> LeadError:
        """As forecasts carry it along."""
        variances, directions = np.linalg.eigh(self.pattern)
        factor = directions * np.sqrt(variances.clip(min=0))
        return LeadError(
            torch.as_tensor(factor),
            torch.as_tensor(self.leads),
            torch.as_tensor(self.variances),
            None if self.younger is None else self.younger.disagreement(),
        )


def lead_errors(
    forecasts: LeftOutForecasts,
    subspace: Array,
    *,
    sample: Array,
    outside: Array,
    excess: Tensor,
    step: float,
    latest: Array,
    variance: float,
    selves: YoungerSelves | None = None,
) -> LeadErrors:
    """Sizes by lead, a pattern, and as much on top as the tails of the errors ask for.

    Args:
        forecasts: errors in R coordinates, of stretches one after the other.
        subspace: (R, p) orthonormal columns.
        sample: (values, R) the field at some points, from the coordinates.
        outside: (values,) variance at these points of what the subspace does not hold.
        excess: see `LeadErrors`.
        step: model time.
        latest: (forecasts, leads, R) errors of a later stretch, nearer to the end of the record.
        variance: of the states.
        selves: younger ones, in coordinates of the subspace, where distances from them tell
            errors.
    """
    inside = [errors @ subspace for errors in forecasts.errors]
    each = [np.square(errors).sum(2).clip(min=1e-300) for errors in inside]
    sizes = np.array([np.nanmean(squares, axis=0) for squares in each])
    by_lead = [size[None] for size in sizes]
    patterns = _patterns(inside, by_lead if selves is None else each)
    pattern = _spread_out(np.mean(patterns, axis=0))
    values = [errors @ sample.T for errors in forecasts.errors]
    others = _as_others_err(patterns, sample @ subspace)
    tail = _tail(values, by_lead, others, outside)
    leads = np.concatenate([[0.0], forecasts.leads * step])
    younger = None
    if selves is not None:
        found = selves.ratios
        where = [
            (1 - WHERE_THEY_DIFFER) * varies + WHERE_THEY_DIFFER * _where(apart, sample)
            for varies, apart in zip(others, found.departures, strict=True)
        ]
        logs = found.logs[:, [0, *range(found.logs.shape[1])]]
        logs = logs + 2 * np.log(_tail(values, each, where, outside))
        younger = Younger(selves.systems, np.eye(len(pattern)), found.ages * step, logs, selves.end)
    level = _level(sizes, np.square(latest @ subspace).sum(2), variance)
    total = sizes.mean(1)
    return LeadErrors(
        leads,
        (MARGIN * tail) ** 2 * np.concatenate([[0.0], level]),
        pattern,
        excess,
        float(total.max() / total.min()),
        younger,
    )


def _patterns(errors: Sequence[Array], scales: Sequence[Array]) -> list[Array]:
    """(p, p) covariances of errors (forecasts, leads, p) over their sizes, of each stretch."""
    found = []
    for each, scale in zip(errors, scales, strict=True):
        standard = (each / np.sqrt(scale)[..., None]).reshape(-1, each.shape[2])
        standard = standard[np.isfinite(standard).all(1)]
        found.append(standard.T @ standard / max(len(standard), 1))
    return found


def _spread_out(pattern: Array) -> Array:
    """The same with trace 1, and a part of it alike everywhere."""
    pattern = pattern / max(np.trace(pattern), 1e-300)
    return np.asarray(SEEN * pattern + (1 - SEEN) * np.eye(len(pattern)) / len(pattern))


def _as_others_err(patterns: Sequence[Array], decoded: Array) -> list[Array]:
    """(values,) variances of every stretch by the pattern of the others.

    What is forecast will have a pattern of its own, too.

    Args:
        patterns: (p, p) of each stretch.
        decoded: (values, p) modes.
    """
    found = []
    for number in range(len(patterns)):
        others = [pattern for place, pattern in enumerate(patterns) if place != number]
        pattern = _spread_out(np.mean(others or patterns, axis=0))
        found.append(np.einsum("xp,pq,xq->x", decoded, pattern, decoded))
    return found


def _where(departures: Array, sample: Array) -> Array:
    """(forecasts, leads, values) variances where departures (selves, forecasts, leads, R) are."""
    squares = np.square(departures).sum(3, keepdims=True).clip(min=1e-300)
    return np.asarray((np.square(departures @ sample.T) / squares).mean(0))


def _tail(
    errors: Sequence[Array], scales: Sequence[Array], patterns: Sequence[Array], outside: Array
) -> float:
    """What standard deviations are to be multiplied with for nine in ten errors to be within.

    Args:
        errors: (forecasts, leads, values) of each stretch.
        scales: (forecasts or 1, leads) their sizes.
        patterns: (..., values) variances of errors of size 1.
        outside: (values,) see `lead_errors`.
    """
    quantiles = []
    for each, scale, pattern in zip(errors, scales, patterns, strict=True):
        expected = np.sqrt(scale[..., None] * pattern + outside + 1e-300)
        quantiles.append(np.nanquantile(np.abs(each) / expected, 0.9))
    return max(float(np.mean(quantiles)) / WIDTH, 0.1)


def _level(sizes: Array, latest: Array, variance: float) -> Array:
    """(leads,) mean squares that stand for those of all stretches (stretches, leads).

    The median of stretches: one in which all went wrong, or nothing, does not say much. What is to
    come is another draw, so as much on top as makes nine in ten errors be within if sizes scatter
    as these. But what is exact but for what was not seen yet is the better the more was seen, and
    the latest tells.
    """
    total, newest = sizes.mean(1), np.nanmean(latest, axis=0)[: sizes.shape[1]]
    falls = bool((np.diff([*total, newest.mean()]) < 0).all()) and total[0] > LEARNS * total[-1]
    if falls and len(newest) == sizes.shape[1] and newest.mean() < EXACT * variance:
        level = newest
    else:
        logs = np.log(total)
        scatter = BY_MEDIAN * np.median(np.abs(logs - np.median(logs)))
        level = np.exp(np.median(np.log(sizes), axis=0) + scatter / 2)
    return np.asarray(np.maximum.accumulate(level))  # errors do not shrink with lead time
