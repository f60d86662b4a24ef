"""Error bars from forecasts inside the training record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from smore.dynamics import LeadError
from smore.training.dynamics.forced.record import Array
from smore.training.dynamics.forced.search import LeftOutForecasts

# Share of the pattern that is as seen; the rest is alike everywhere, since few errors were seen.
SEEN = 0.9
# 90% of normal errors are within so many standard deviations, and what is asked on top.
WIDTH, MARGIN = 1.645, 1.05
# A model that still learns has errors of less than this share of the variance, which fall from each
# stretch to the next, by more than so many times in all.
EXACT, LEARNS = 1e-4, 10.0


@dataclass(frozen=True, eq=False)
class LeadErrors:
    """Errors of forecasts by lead, in a subspace, and what lies outside of it.

    Args:
        leads: (leads + 1,) model time, 0 first.
        variances: (leads + 1,) mean square of errors inside.
        pattern: (p, p) their covariance, of trace 1.
        excess: (channels,) see `LeftOutErrors`.
        unlike: largest over smallest mean square of errors among stretches of the record.
    """

    leads: Array
    variances: Array
    pattern: Array
    excess: Tensor
    unlike: float

    def seen(self, change: Array) -> LeadErrors:
        """The same in coordinates α = T z."""
        return LeadErrors(
            self.leads,
            self.variances,
            change @ self.pattern @ change.T,
            self.excess,
            self.unlike,
        )

    def step_error(self, _: float) -> LeadError:
        """As forecasts carry it along."""
        variances, directions = np.linalg.eigh(self.pattern)
        factor = directions * np.sqrt(variances.clip(min=0))
        return LeadError(*map(torch.as_tensor, (factor, self.leads, self.variances)))


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
    """
    inside = [errors @ subspace for errors in forecasts.errors]
    sizes = np.array([np.nanmean(np.square(each).sum(2), axis=0) for each in inside])
    sizes = np.maximum(sizes, 1e-300)
    pattern = np.zeros((subspace.shape[1],) * 2)
    for errors, size in zip(inside, sizes, strict=True):
        standard = (errors / np.sqrt(size)[:, None]).reshape(-1, errors.shape[2])
        standard = standard[np.isfinite(standard).all(1)]
        pattern += standard.T @ standard / max(len(standard), 1)
    pattern /= max(np.trace(pattern), 1e-300)
    pattern = SEEN * pattern + (1 - SEEN) * np.eye(len(pattern)) / len(pattern)
    decoded = sample @ subspace
    varies = np.einsum("xp,pq,xq->x", decoded, pattern, decoded)
    ratios = []
    for errors, size in zip(forecasts.errors, sizes, strict=True):
        expected = np.sqrt(size[:, None] * varies + outside + 1e-300)
        ratios.append(np.nanquantile(np.abs(errors @ sample.T) / expected, 0.9))
    growth = max(float(np.mean(ratios)) / WIDTH, 0.1) * MARGIN
    # The median of stretches: one in which all went wrong, or nothing, does not say much. But what
    # is exact but for what was not seen yet is the better the more was seen, and the latest tells.
    level, total = np.exp(np.median(np.log(sizes), axis=0)), sizes.mean(1)
    newest = np.nanmean(np.square(latest @ subspace).sum(2), axis=0)[: len(level)]
    falls = bool((np.diff([*total, newest.mean()]) < 0).all()) and total[0] > LEARNS * total[-1]
    if falls and len(newest) == len(level) and newest.mean() < EXACT * variance:
        level = newest
    level = np.maximum.accumulate(level)  # errors do not shrink with lead time
    return LeadErrors(
        np.concatenate([[0.0], forecasts.leads * step]),
        growth**2 * np.concatenate([[0.0], level]),
        pattern,
        excess,
        float(total.max() / total.min()),
    )
