"""The states behind some snapshots, by a named method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

import torch
from torch import Tensor

from smore.errors import SettingsError
from smore.inference.few_values import ValueRows, posterior_of_values
from smore.inference.latent_state import LatentState, misfit
from smore.inference.normal_equations import NormalEquations
from smore.inference.point_fits import adam, least_squares
from smore.inference.posterior import Posterior, posterior
from smore.inference.prior import LatentPrior

FitMethod = Literal["posterior", "least-squares", "adam"]
FIT_METHODS: tuple[str, ...] = get_args(FitMethod)
# States may be unlike those that a prior was learned from, in directions that hardly varied there
# by many deviations. Data that say so are likelier under a prior that is so many times wider. Only
# where values are so many times as many as latents: fewer might be those of a broken sensor.
ENOUGH_VALUES = 1.5
WIDER = (1.0, 10.0, 100.0, 1e3, 1e4)


def infer_states(
    equations: Sequence[NormalEquations],
    times: Tensor,
    *,
    method: FitMethod = "posterior",
    priors: Sequence[LatentPrior] = (),
    noise: Tensor | None = None,
    values: Sequence[ValueRows | None] | None = None,
    num_steps: int = 1000,
    rate: float = 1e-2,
    keeps: Literal["best", "last"] = "best",
) -> LatentState:
    """Latent states of snapshots, with the decoder frozen.

    Args:
        equations: the observations, as the decoder sees them.
        times: (snapshots,) their times.
        method: "posterior" (needs `priors` and `noise`), "least-squares", or "adam" (the paper,
            `num_steps` steps at `rate`, of which the best or the last iterate counts).
        priors: of several, each snapshot gets the one under which its data are most likely; where
            they are many, wider ones are tried too.
        noise: (channels,) variance of observed values about the decoder, normalised units.
        values: of each of `equations` the values themselves, where they are few; the posterior is
            then found from them, which is more accurate.
    """
    if method not in FIT_METHODS:
        raise SettingsError(f"unknown fit {method!r}; choose one of {', '.join(FIT_METHODS)}")
    num, (_, num_channels, dim) = len(times), equations[0].moment.shape
    mean = torch.empty(num, equations[0].num_codes, dim, dtype=torch.float64)
    residual = torch.empty(num, num_channels, dtype=torch.float64)
    num_values = torch.empty(num, dtype=torch.int64)
    found: list[tuple[Tensor, Posterior, Tensor]] = []
    for each, few in zip(equations, values or [None] * len(equations), strict=True):
        if method == "posterior":
            assert noise is not None
            likeliest, share = _likeliest(each, few, priors, noise)
            found.append((each.snapshots, likeliest, share))
            codes = likeliest.mean
        elif method == "least-squares":
            codes = least_squares(each)
        else:
            codes = adam(each, num_steps, rate, keeps)
        mean[each.snapshots] = codes
        residual[each.snapshots] = misfit(each.squared_residual(codes), each.count)
        num_values[each.snapshots] = each.count.sum(1).long()
    if not found:
        return LatentState(mean, None, num_values, residual, times)
    return LatentState(
        mean,
        _joined([(rows, each.covariance) for rows, each, _ in found], num),
        num_values,
        residual,
        times,
        determined=_joined([(rows, each.determined) for rows, each, _ in found], num),
        prior_share=_joined([(rows, share) for rows, _, share in found], num),
        noise=noise,
    )


def candidate_priors(
    equations: NormalEquations, priors: Sequence[LatentPrior]
) -> Sequence[LatentPrior]:
    """The priors that states are tried with: wider ones too where there are many values."""
    if bool((equations.summed().count >= ENOUGH_VALUES * equations.moment.shape[-1]).all()):
        return [_widened(prior, times) for times in WIDER for prior in priors]
    return priors


@lru_cache(32)
def _widened(prior: LatentPrior, times: float) -> LatentPrior:
    """The same one every time: what was computed with it may have been kept."""
    return prior.widened(times)


def _likeliest(
    equations: NormalEquations,
    values: ValueRows | None,
    priors: Sequence[LatentPrior],
    noise: Tensor,
) -> tuple[Posterior, Tensor]:
    """Each snapshot's posterior under its likeliest prior, and the share (n,) of variance left."""
    priors = candidate_priors(equations, priors)
    found = [
        posterior(equations, prior, noise)
        if values is None
        else posterior_of_values(values, prior, noise)
        for prior in priors
    ]
    shares = [
        (
            each.covariance.diagonal(dim1=-2, dim2=-1).sum(1)
            / prior.covariance.trace().clamp(min=torch.finfo(torch.float64).tiny)
        ).expand(len(each.mean))
        for each, prior in zip(found, priors, strict=True)
    ]
    best = torch.stack([each.log_evidence for each in found]).argmax(0)
    if bool((best == best[0]).all()):
        return found[int(best[0])], shares[int(best[0])]

    def pick(*parts: Tensor) -> Tensor:
        rows = [part.expand(len(best), *part.shape[1:]) for part in parts]
        return torch.stack(rows)[best, torch.arange(len(best))]

    chosen = Posterior(
        pick(*(each.mean for each in found)),
        pick(*(each.covariance for each in found)),
        pick(*(each.determined for each in found)),
        pick(*(each.log_evidence for each in found)),
    )
    return chosen, pick(*shares)


def _joined(parts: list[tuple[Tensor, Tensor]], num: int) -> Tensor:
    """One table (num, ...) of what the snapshots of each part have; (1, ...) where all share it."""
    if len(parts) == 1 and len(parts[0][1]) == 1:
        return parts[0][1]
    table = parts[0][1].new_empty(num, *parts[0][1].shape[1:])
    for snapshots, values in parts:
        table[snapshots] = values
    return table
