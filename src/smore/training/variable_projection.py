"""The decoder by variable projection: latents eliminated, only the basis is learned.

Whatever the decoder's weights, the best latents of all snapshots solve a linear least-squares
problem. Solving it at every step leaves a loss in the weights alone, the projection error of the
data onto span(J₀) plus offset, whose gradient is that of the reconstruction loss at the solved
latents (the latents are optimal, so their own change does not count).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from smore.data import Block
from smore.decoder import Basis, FilterNetwork
from smore.decoder.residual import backpropagate_residual
from smore.errors import DivergenceError
from smore.inference import NormalEquations, normal_equations
from smore.inference.normal_equations import chunk_equations
from smore.training.muon import Muon
from smore.training.schedule import warm_cosine

# Added to the Gram matrix, relative to its mean diagonal: modes closer to dependent than this are
# told apart no further.
GRAM_RIDGE = 1e-10
WARM_UP = 50


@dataclass(frozen=True)
class DecoderFit:
    """How the fit went: mean squared projection error at the first and last step."""

    steps: int
    first_loss: float
    last_loss: float


def fit_decoder(
    decoder: FilterNetwork,
    blocks: Sequence[Block],
    weights: Sequence[float],
    *,
    num_steps: int,
    adam_rate: float,
    muon_rate: float,
    with_offset: bool = True,
    chunk_size: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> DecoderFit:
    """Minimise the projection error of `blocks` over the decoder's weights.

    Args:
        decoder: trained in place.
        blocks: the data, compressed where their snapshots share a mesh.
        weights: of each squared entry of each block.
        num_steps: steps of the cosine schedule.
        adam_rate: learning rate of frequencies and biases.
        muon_rate: learning rate of hidden and modulation matrices.
        with_offset: whether c₀ is learned; if not it is zero.
        chunk_size: points decoded at once.
        progress: called after every step with its number and loss.
    """
    matrices = [*decoder.weights, *decoder.modulations]
    others = [*decoder.frequencies, decoder.output_weight]
    if with_offset:
        others += [*decoder.biases, decoder.output_bias]
    else:
        remove_offset(decoder)
    optimizers = [Muon(matrices, muon_rate), torch.optim.Adam(others, adam_rate)]
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: warm_cosine(step, num_steps, WARM_UP)
        )
        for optimizer in optimizers
    ]
    losses: list[float] = []
    for step in range(num_steps):
        decoder.zero_grad()
        losses.append(accumulate_projection(decoder, blocks, weights, chunk_size))
        if not math.isfinite(losses[-1]):
            raise DivergenceError(
                f"the decoder's projection error is {losses[-1]} in step {step}; "
                "try a smaller decoder_rate",
                part="projection error",
                epoch=step,
            )
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        if progress is not None:
            progress(step, losses[-1])
    return DecoderFit(len(losses), losses[0], losses[-1])


def accumulate_projection(
    decoder: FilterNetwork,
    blocks: Sequence[Block],
    weights: Sequence[float],
    chunk_size: int | None = None,
) -> float:
    """The weighted projection error of `blocks`; adds its gradient to the decoder's `.grad`."""
    loss = 0.0
    for block, weight in zip(blocks, weights, strict=True):
        scale = block.values.new_full((block.values.shape[1],), math.sqrt(weight))
        basis: Basis | None = None
        if chunk_size is None or chunk_size >= block.num_points:
            basis = decoder.basis(block.coords)  # one evaluation serves the solve and the gradient
            equations = chunk_equations(basis, block)
        else:
            (equations,) = normal_equations(decoder, [block], chunk_size)
        codes = solve_codes(equations).flatten(0, 1).to(block.values)
        for chunk in block.chunks(chunk_size):
            loss += backpropagate_residual(
                basis or decoder.basis(chunk.coords), chunk, codes, scale
            )
    return loss


def solve_codes(equations: NormalEquations) -> Tensor:
    """Least-squares codes (n, channels, p), by Cholesky with a ridge of 1e-10."""
    diagonal = equations.gram.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    ridge = GRAM_RIDGE * diagonal * torch.eye(equations.gram.shape[-1], dtype=torch.float64)
    root = torch.linalg.cholesky(equations.gram + ridge)
    return equations.per_pattern(
        lambda number, moments: torch.cholesky_solve(moments.T, root[number]).T, equations.moment
    )


@torch.no_grad()
def remove_offset(decoder: FilterNetwork) -> None:
    """Make c₀ zero: biases are all that it is made of."""
    for bias in [*decoder.biases, decoder.output_bias]:
        bias.zero_()
