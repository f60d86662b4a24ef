"""What sensors say about the state, in the time between two pictures."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.data import Trajectories
from smore.inference import (
    WhitenedPosterior,
    candidate_priors,
    value_rows,
    whitened_posterior,
)
from smore.surrogate import Noise, Surrogate, evidence


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A state and how well it is known: that of `SMORE.infer`, in whitened coordinates.

    Args:
        state: mean and covariance.
        growth: (channels,) see `LatentState`.
        num_values: that were observed.
    """

    state: WhitenedPosterior
    growth: Tensor
    num_values: int

    @property
    def mean(self) -> Tensor:
        """(r,)."""
        return self.state.mean[0]

    @property
    def variance_left(self) -> float:
        """Share of the prior's variance that is still there."""
        prior = self.state.prior.factor.square().sum()
        return float(self.state.rooted(self.state.prior.factor).square().sum() / prior)


def nothing_known(surrogate: Surrogate) -> Knowledge:
    """Without sensors: whatever was usual in training."""
    prior = surrogate.prior
    none = prior.mean.new_empty(0)
    state = WhitenedPosterior(
        prior, prior.mean[None], prior.factor[:, :0], none, 1.0, 0.0, prior.mean.new_zeros(1)
    )
    growth = surrogate.expected_noise / surrogate.least_noise
    return Knowledge(state, growth, 0)


@torch.no_grad()
def known_from(surrogate: Surrogate, observations: Trajectories | None, noise: Noise) -> Knowledge:
    """The state behind one snapshot of observations; arguments as of `SMORE.infer`.

    Raises:
        DataError: observations that no state can mean.
    """
    if observations is None:
        return nothing_known(surrogate)
    said = evidence(surrogate, observations, noise)
    rows = said.values[0] or value_rows(surrogate.decoder, said.blocks[0])
    seen = rows.observed[0]
    found = [
        whitened_posterior(
            rows.rows[seen], rows.targets[:, seen], said.noise[rows.channels[seen]], prior
        )
        for prior in candidate_priors(said.equations[0], surrogate.priors)
    ]
    likeliest = max(found, key=lambda each: float(each.log_evidence[0]))
    return Knowledge(likeliest, said.growth, int(seen.sum()))
