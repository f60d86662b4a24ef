"""What a trained model gets wrong even when it knows the state.

Two things: fields have parts that no latent state describes, and the dynamics err a little at every
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from smore.decoder import Basis
from smore.dynamics import LeadError, StepError


@dataclass(frozen=True, eq=False)
class ModelError:
    """Variances of both errors, normalised units.

    What the decoder misses of the training data is larger where the field varies more: its variance
    at x is taken as floor + share · (variance of the decoded training states at x), which any mesh
    can ask for.

    What it misses goes on: from one time to the next, and from a point to its neighbours.

    Args:
        floor: (channels,).
        share: (channels,).
        step: error of the dynamics, on what was left out if anything was.
        memory: (channels,) correlation of what the decoder misses with that a training step later;
            None in files of before it was learned.
        reach: (channels,) width of the Gaussian by which it is correlated in space, in decoder
            coordinates; None as above.
        tail: (channels,) how many times further its rare large values reach than a normal
            distribution of its variance says, at least 1; None as above.
    """

    floor: Tensor
    share: Tensor
    step: StepError | LeadError
    memory: Tensor | None = None
    reach: Tensor | None = None
    tail: Tensor | None = None

    def residual_variance(self, prior_variance: Tensor) -> Tensor:
        """(channels, points) of what the decoder misses, from that of the decoded prior."""
        return self.floor[:, None] + self.share[:, None] * prior_variance


def field_variance(bases: Sequence[Basis], covariance: Tensor) -> Tensor:
    """Variance (..., channels, points) of fields decoded from latents of some covariance.

    Args:
        bases: of every channel.
        covariance: (..., codes, p, p) of the latents of each code.
    """
    shape = (*covariance.shape[:-3], len(bases), *covariance.shape[-2:])
    modes = [basis.modes.to("cpu", torch.float64) for basis in bases]
    each = [
        ((modes[number % len(bases)] @ one) * modes[number % len(bases)]).sum(1)
        for number, one in enumerate(covariance.expand(shape).flatten(0, -3))
    ]
    return torch.stack(each).clamp(min=0).view(*shape[:-2], -1)


def code_blocks(covariance: Tensor, num_codes: int) -> Tensor:
    """The blocks (..., codes, p, p) of a covariance (..., r, r) that belong to one code."""
    dim = covariance.shape[-1] // num_codes
    apart = covariance.unflatten(-1, (num_codes, dim)).unflatten(-3, (num_codes, dim))
    return torch.movedim(apart.diagonal(dim1=-4, dim2=-2), -1, -3)
