"""The posterior from single values, where these are not many more than latents.

Normal equations square the condition of the data. With noise far below the prior, as of a decoder
that fits to rounding, the precision I + Fᵀ H F loses its I in them, and with it what the values do
not see: an error of a hundredth where noise is a millionth of the prior. The rows of the values
themselves lose nothing: with α = μ + F ξ, ξ ~ N(0, I), and values y = A α + c + σ ε,

    B = σ⁻¹ A F = U diag(s) Vᵀ,      cov(ξ | y) = I - V diag(s² / (1 + s²)) Vᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.data import AnyBlock
from smore.decoder import Decoder
from smore.inference.posterior import Posterior
from smore.inference.prior import LatentPrior

# Up to so many values per latent direction their rows cost no more than normal equations.
FEW = 2


@dataclass(frozen=True, eq=False)
class ValueRows:
    """What each value of some snapshots on common points says about the state, in float64.

    Args:
        rows: A (values, r) over the reduced state α, channel after channel.
        channels: (values,) whose values they are.
        targets: u - c₀ (snapshots, values).
        observed: (snapshots, values) which of them are known.
        num_codes: codes that α consists of.
    """

    rows: Tensor
    channels: Tensor
    targets: Tensor
    observed: Tensor
    num_codes: int


@dataclass(frozen=True, eq=False)
class WhitenedPosterior:
    """States that a set of values leaves possible: α = mean + F T^½ ξ, ξ ~ N(0, I).

    T = unseen · (I - V Vᵀ) + V diag(left) Vᵀ: along the axes V that are seen at all the share
    `left` of the prior variance is left, elsewhere all of it. That is more than all where the
    prior is an estimate, see `LatentPrior.underestimate`.

    Args:
        prior: N(μ, F Fᵀ).
        mean: (snapshots, r).
        axes: V (r, k), orthonormal.
        left: (k,).
        unseen: at least 1.
        determined: how many of the r directions the values determine.
        log_evidence: (snapshots,) log density of the values under prior and noise.
    """

    prior: LatentPrior
    mean: Tensor
    axes: Tensor
    left: Tensor
    unseen: float
    determined: float
    log_evidence: Tensor

    @property
    def covariance(self) -> Tensor:
        """F T Fᵀ, (r, r)."""
        root = self.rooted(self.prior.factor)
        return root @ root.T

    def rooted(self, rows: Tensor) -> Tensor:
        """`rows` (n, r) times T^½: of rows G F their squared norms are variances of G α."""
        axes = self.axes.to(rows)
        shrunk = 1 - (self.left / self.unseen).sqrt().to(rows)
        return self.unseen**0.5 * (rows - ((rows @ axes) * shrunk) @ axes.T)

    def variances(self, rows: Tensor, squares: Tensor) -> Tensor:
        """The squared norms (n,) of `rooted`, at a fraction of the cost.

        They come as differences: below 1e-16 of what is usual there is nothing but rounding.

        Args:
            rows: (n, r).
            squares: (n,) their own squared norms.
        """
        along = (rows @ self.axes).square()
        return (self.unseen * (squares - along.sum(1)) + along @ self.left).clamp(min=0)


def has_few_values(decoder: Decoder, block: AnyBlock) -> bool:
    """Whether a block has so few points that rows of its values are the better way."""
    latents = decoder.num_codes(block.num_channels) * decoder.latent_dim
    return block.num_channels * block.num_points <= FEW * latents


@torch.no_grad()
def value_rows(decoder: Decoder, block: AnyBlock) -> ValueRows:
    """The rows of a block's values.

    Args:
        decoder: of the model.
        block: snapshots on common points.
    """
    channels, points, num = block.num_channels, block.num_points, len(block.snapshots)
    dim = decoder.num_codes(channels) * decoder.latent_dim
    rows = torch.zeros(channels, points, dim, dtype=torch.float64)
    targets = torch.zeros(num, channels, points, dtype=torch.float64)
    observed = torch.ones(num, channels, points, dtype=torch.bool)
    first = 0
    for chunk in block.chunks(None):
        here = slice(first, first + chunk.num_points)
        first = here.stop
        for number, basis in enumerate(decoder.channel_bases(chunk.coords, channels)):
            own = slice(number, None, channels)
            start = 0 if decoder.joint else number * decoder.latent_dim
            rows[number, here, start : start + decoder.latent_dim] = basis.modes.to(rows)
            target = chunk.values[:, own] - basis.offset[:, None]
            targets[:, number, here] = target.T.to(targets)
            if chunk.observed is not None:
                observed[:, number, here] = chunk.observed[:, own].T.cpu()
    which = torch.arange(channels).repeat_interleave(points)
    return ValueRows(
        rows.flatten(0, 1),
        which,
        targets.flatten(1),
        observed.flatten(1),
        decoder.num_codes(channels),
    )


def whitened_posterior(
    rows: Tensor, targets: Tensor, noise: Tensor, prior: LatentPrior
) -> WhitenedPosterior:
    """States given values with targets (snapshots, values) = rows (values, r) α + noise.

    Args:
        rows: of the values.
        targets: the values, less the decoder's offset.
        noise: (values,) variances, all > 0.
        prior: of the states.
    """
    deviations = noise.sqrt()
    left, sizes, right = torch.linalg.svd(
        rows @ prior.factor / deviations[:, None], full_matrices=False
    )
    misfit = (targets - rows @ prior.mean) / deviations
    along = misfit @ left
    shares = 1 / (1 + sizes.square())
    determined = (sizes.square() * shares).sum()
    unseen = float(prior.underestimate(determined))
    exponent = misfit.square().sum(1) - ((sizes.square() * shares) * along.square()).sum(1)
    volume = (1 + sizes.square()).log().sum() + (2 * torch.pi * noise).log().sum()
    return WhitenedPosterior(
        prior,
        prior.mean + (along * (sizes * shares)) @ right @ prior.factor.T,
        right.T,
        # Of what is left the part that the prior leaves open, S², counts `unseen` times.
        shares + (unseen - 1) * shares.square(),
        unseen,
        float(determined),
        -(exponent.clamp(min=0) + volume) / 2,
    )


def posterior_of_values(values: ValueRows, prior: LatentPrior, noise: Tensor) -> Posterior:
    """As `posterior` has it, of all snapshots.

    Args:
        values: what was observed.
        prior: of the states.
        noise: (channels,) variance of an observed value about the decoder, all > 0.
    """
    patterns, which = torch.unique(values.observed, dim=0, return_inverse=True)
    mean = values.targets.new_empty(len(values.targets), len(prior.mean))
    evidence, determined = values.targets.new_empty(2, len(values.targets))
    covariances = []
    for number, seen in enumerate(patterns):
        own = which == number
        found = whitened_posterior(
            values.rows[seen],
            values.targets[own][:, seen],
            noise[values.channels[seen]],
            prior,
        )
        mean[own], evidence[own] = found.mean, found.log_evidence
        determined[own] = found.determined
        covariances.append(found.covariance)
    covariance = torch.stack(covariances)
    return Posterior(
        mean=mean.unflatten(1, (values.num_codes, -1)),
        covariance=covariance if len(patterns) == 1 else covariance[which],
        determined=determined,
        log_evidence=evidence,
    )
