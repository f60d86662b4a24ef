"""What inference returns: an estimate of the reduced state and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from smore.runtime import html_table, span

# The answer rests on the prior when more of the prior's variance than this is still there.
RESTS_ON_PRIOR = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class LatentState:
    """Reduced states of one or more snapshots, in float64.

    Args:
        mean: (states, codes, p), a code for every channel or one for all.
        covariance: (states, r, r), or (1, r, r) when all states share it; None where the method
            gives no uncertainty (plain least squares and Adam).
        num_values: (states,) observed values that entered.
        residual: (states, channels) mean squared misfit at the observed points, normalised units;
            NaN for a channel without observations.
        times: (states,) time of each state, in the data's units.
        determined: (states,) how many of the r latent directions the values determine; None
            without a covariance.
        prior_share: (states,) share of the prior's variance that they leave; None as above.
        observability: (states, channels) c_S = σ_min(J_S), 0 with fewer sensors than latents;
            None where nobody asked.
        noise: (channels,) variance of observed values about the decoder that was assumed,
            normalised units; None as above.
        noise_known: (channels,) whether the noise was told or seen in the residuals; None as above.
        growth: (channels,) how many times more the decoder seems to miss of these fields than of
            the training data; None where nobody asked.
    """

    mean: Tensor
    covariance: Tensor | None
    num_values: Tensor
    residual: Tensor
    times: Tensor
    determined: Tensor | None = None
    prior_share: Tensor | None = None
    observability: Tensor | None = None
    noise: Tensor | None = None
    noise_known: Tensor | None = None
    growth: Tensor | None = None

    def __repr__(self) -> str:
        determined = ""
        if self.determined is not None:
            determined = f", {float(self.determined.min()):.0f} of them determined"
        return (
            f"<LatentState: {len(self)} states of {self.flat.shape[1]} latent directions"
            f"{determined}, from {int(self.num_values.min())} or more observed values each>"
        )

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def flat(self) -> Tensor:
        """α, (states, r)."""
        return self.mean.flatten(1)

    @property
    def standard_deviation(self) -> Tensor | None:
        """(states, codes, p) posterior standard deviation of each latent."""
        if self.covariance is None:
            return None
        deviation = self.covariance.diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt()
        return deviation.expand(len(self), -1).reshape(self.mean.shape)

    def covariance_of(self, number: int) -> Tensor:
        """(r, r) of one state; there must be one."""
        assert self.covariance is not None
        return self.covariance[number if len(self.covariance) > 1 else 0]

    @property
    def rests_on_prior(self) -> Tensor:
        """(states,) whether a good part of the answer was not observed but assumed."""
        if self.prior_share is None:
            return self.num_values < self.flat.shape[1]
        return self.prior_share > RESTS_ON_PRIOR

    def rows(self) -> list[list[Any]]:
        """How much was observed, and how well that determines the states, for a table."""
        rows: list[list[Any]] = [
            ["observed values per sequence", span(self.num_values.tolist())],
            ["latent directions", self.flat.shape[1]],
        ]
        if self.determined is not None and self.prior_share is not None:
            determined = [round(value) for value in self.determined.tolist()]
            rows.append(["of these determined by the values", span(determined)])
            share = span([f"{value:.2%}" for value in self.prior_share.tolist()])
            rows.append(["variance left open", share])
        return rows

    def _repr_html_(self) -> str:
        return html_table(f"{len(self)} states", self.rows())

    def to_dict(self) -> dict[str, Any]:
        """How much was observed and how well that determines the states, as plain values."""
        told = {
            "observed_values": self.num_values,
            "determined": self.determined,
            "prior_share": self.prior_share,
            "observability": self.observability,
            "noise_variance": self.noise,
            "residual": self.residual,
        }
        return {
            "latent_directions": self.flat.shape[1],
            "rests_on_prior": self.rests_on_prior.tolist(),
        } | {name: None if value is None else _plain(value) for name, value in told.items()}


def _plain(values: Tensor) -> Any:
    """Nested lists, None for NaN."""
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [None if value != value else value for value in values.tolist()]


def misfit(squared: Tensor, count: Tensor) -> Tensor:
    """Mean squared residual per observed value; NaN where nothing was observed."""
    return torch.where(count > 0, squared / count.clamp(min=1), torch.nan)
