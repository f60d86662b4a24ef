"""What a trained model gets wrong even when it knows the state.

Two things: fields have parts that no latent state describes, and the dynamics err a little at every
step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.dynamics import StepError


@dataclass(frozen=True, eq=False)
class ModelError:
    """Variances of both errors, normalised units.

    What the decoder misses of the training data is larger where the field varies more: its variance
    at x is taken as floor + share · (variance of the decoded training states at x), which any mesh
    can ask for.

    Args:
        floor: (channels,).
        share: (channels,).
        step: error of one step of the dynamics, on left-out trajectories if there are any.
    """

    floor: Tensor
    share: Tensor
    step: StepError

    def residual_variance(self, prior_variance: Tensor) -> Tensor:
        """(channels, points) of what the decoder misses, from that of the decoded prior."""
        return self.floor[:, None] + self.share[:, None] * prior_variance


def field_variance(modes: Tensor, covariance: Tensor) -> Tensor:
    """Variance (..., channels, points) of fields decoded from latents of some covariance.

    Args:
        modes: J₀, (points, p).
        covariance: (..., channels, p, p) of the latents of each channel.
    """
    each = [((modes @ one) * modes).sum(1) for one in covariance.flatten(0, -3)]
    return torch.stack(each).clamp(min=0).view(*covariance.shape[:-2], len(modes))


def channel_blocks(covariance: Tensor, num_channels: int) -> Tensor:
    """The blocks (..., channels, p, p) of a covariance (..., r, r) that belong to one channel."""
    dim = covariance.shape[-1] // num_channels
    apart = covariance.unflatten(-1, (num_channels, dim)).unflatten(-3, (num_channels, dim))
    return torch.movedim(apart.diagonal(dim1=-4, dim2=-2), -1, -3)
