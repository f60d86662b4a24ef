"""The decoder by variable projection: latents eliminated, only the basis is learned.

Whatever the decoder's weights, the best latents of all snapshots solve a linear least-squares
problem. Solving it at every step leaves a loss in the weights alone, the projection error of the
data onto span(J₀) plus offset, whose gradient is that of the reconstruction loss at the solved
latents (the latents are optimal, so their own change does not count).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from smore.decoder import Basis, FilterNetwork
from smore.decoder.residual import backpropagate_residual
from smore.errors import DivergenceError
from smore.inference import NormalEquations, normal_equations
from smore.inference.normal_equations import chunk_equations
from smore.training.muon import Muon
from smore.training.pieces import Piece, draw
from smore.training.schedule import Schedule

# Added to the Gram matrix, relative to its mean diagonal: modes closer to dependent than this are
# told apart no further.
GRAM_RIDGE = 1e-10
WARM_UP = 50


def fit_decoder(
    decoder: FilterNetwork,
    pieces: Sequence[Piece],
    *,
    num_steps: int,
    rate: float,
    generator: torch.Generator,
    with_offset: bool = True,
    chunk_size: int | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> int:
    """Minimise the projection error of `pieces` over the decoder's weights.

    Args:
        decoder: trained in place.
        pieces: the data.
        num_steps: steps of the schedule.
        rate: peak learning rate.
        generator: draws what each step looks at, where that is not everything.
        with_offset: whether c₀ is learned; if not it is zero.
        chunk_size: points decoded at once.
        progress: called after every step with its place in the schedule and its loss.

    Returns:
        The number of steps taken, fewer than `num_steps` after a plateau.
    """
    optimizers = _optimizers(decoder, rate, with_offset)
    schedule = Schedule(num_steps, WARM_UP)
    while not schedule.done:
        decoder.zero_grad()
        drawn = draw(pieces, generator)
        loss = accumulate_projection(decoder, drawn, chunk_size)
        if not math.isfinite(loss):
            raise DivergenceError(
                f"the decoder's projection error is {loss} in step {schedule.steps}; "
                "try a smaller decoder_rate",
                part="projection error",
                epoch=schedule.steps,
            )
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule.factor
            optimizer.step()
        schedule.step(loss)
        if progress is not None:
            progress(schedule.place, loss + sum(piece.rest for piece in drawn))
    return schedule.steps


def _optimizers(
    decoder: FilterNetwork, rate: float, with_offset: bool
) -> list[torch.optim.Optimizer]:
    """Muon for hidden and modulation matrices, Adam for frequencies, biases and output."""
    matrices = [*decoder.weights, *decoder.modulations]
    others = [*decoder.frequencies, decoder.output_weight]
    if with_offset:
        others += [*decoder.biases, decoder.output_bias]
    else:
        remove_offset(decoder)
    return [Muon(matrices, rate), torch.optim.Adam(others, rate)]


def accumulate_projection(
    decoder: FilterNetwork,
    pieces: Sequence[Piece],
    chunk_size: int | None = None,
) -> float:
    """The weighted projection error of `pieces`; adds its gradient to the decoder's `.grad`."""
    loss = 0.0
    for piece in pieces:
        block = piece.block
        scale = block.values.new_full((block.values.shape[1],), math.sqrt(piece.weight))
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
