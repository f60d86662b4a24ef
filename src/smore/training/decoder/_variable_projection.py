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
from torch.nn.utils import get_total_norm

from smore.data import AnyBlock, Block
from smore.decoder import Basis, FilterNetwork, GradientSum, backpropagate_residual
from smore.errors import DivergenceError, how_to_set
from smore.inference import NormalEquations, chunk_equations, normal_equations
from smore.runtime import common_team
from smore.training.checkpoints.checkpoints import Checkpoints, Randomness
from smore.training.decoder._closed_form import RIDGE, solve_decoder
from smore.training.decoder._muon import Muon
from smore.training.decoder.pieces import Piece, draw
from smore.training.last_good import LastGood
from smore.training.schedule import Schedule
from smore.training.standing import Standing

# Added to the Gram matrix, relative to its mean diagonal: modes closer to dependent than this are
# told apart no further.
GRAM_RIDGE = 1e-10
WARM_UP = 50
# Left-out data are asked every so many steps, and steps end when they gained nothing so often.
JUDGED_EVERY, PATIENCE = 10, 6


def fit_decoder(
    decoder: FilterNetwork,
    pieces: Sequence[Piece],
    *,
    num_steps: int,
    rate: float,
    generator: torch.Generator,
    with_offset: bool = True,
    eliminate: bool = False,
    chunk_size: int | None = None,
    backtrack: bool = False,
    judge: Callable[[], float] | None = None,
    checkpoints: Checkpoints | None = None,
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
        eliminate: solve for FiLM matrices and biases at every step, see `solve_decoder`, so that
            only what is not linear is descended on; there has to be one compressed piece.
        chunk_size: points decoded at once.
        backtrack: whether to go on with smaller steps after a divergence.
        judge: the error on data that are left out; the state in which it is smallest is kept, and
            steps end when it stops falling.
        checkpoints: where the state goes now and then.
        progress: called after every step with its place in the schedule and its loss.

    Returns:
        The number of steps taken, fewer than `num_steps` after a plateau.

    Raises:
        DivergenceError: loss or gradient turned non-finite; the decoder is in its last good state.
    """
    if not with_offset:
        remove_offset(decoder)
    optimizers = _optimizers(decoder, rate, linear=not eliminate, biases=with_offset)
    schedule = Schedule(num_steps, min(WARM_UP, -(-num_steps // 8)))
    last_good = LastGood(decoder.parameters(), backtrack=backtrack)
    standing = Standing(decoder, math.inf)
    stage = (checkpoints or Checkpoints()).stage(
        "decoder",
        decoder=decoder,
        **optimizers,
        schedule=schedule,
        randomness=Randomness(generator),
        last_good=last_good,
        standing=standing,
    )
    while not schedule.done and standing.waited < PATIENCE:
        decoder.zero_grad()
        drawn = draw(pieces, generator)
        if eliminate:
            solve_decoder(decoder, pieces[0].block, with_offset=with_offset, ridge=RIDGE)
        if judge is not None and schedule.steps % JUDGED_EVERY == 0:
            standing.judge(decoder, judge())
        loss = accumulate_projection(decoder, drawn, chunk_size)
        diverged = _not_finite(decoder, loss)
        if diverged is not None:
            if not last_good.retreat():
                raise _divergence(*diverged, schedule.steps, last_good)
            for optimizer in optimizers.values():
                optimizer.state.clear()
            continue
        last_good.note()
        last_good.confirm()
        for optimizer in optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = rate * last_good.factor * schedule.factor
            optimizer.step()
        schedule.step(loss)
        stage.step()
        if progress is not None:
            progress(schedule.place, loss + sum(piece.rest for piece in drawn))
    stage.finish()
    if judge is not None:
        standing.restore(decoder)
    return schedule.steps


def _not_finite(decoder: FilterNetwork, loss: float) -> tuple[str, float] | None:
    """What is not finite, and what it is instead, if anything is."""
    gradients = [weight.grad for weight in decoder.parameters() if weight.grad is not None]
    part, value = "projection error", loss
    if math.isfinite(loss):
        part, value = "decoder gradient", float(get_total_norm(gradients))
    return None if math.isfinite(value) else (part, value)


def _divergence(part: str, value: float, step: int, last_good: LastGood) -> DivergenceError:
    # Backtracking has tried smaller rates by itself.
    advice = f"a smaller decoder_rate, or {how_to_set('on_divergence', 'backtrack')}"
    if last_good.backtrack:
        advice = "a smaller latent_dim, and look for extreme values in the data"
    return DivergenceError(
        f"the {part} is {value} in step {step} of the decoder{last_good.tried}; the state before "
        f"it is kept. Try {advice}",
        part=part,
        epoch=step,
    )


def _optimizers(
    decoder: FilterNetwork, rate: float, *, linear: bool, biases: bool
) -> dict[str, torch.optim.Optimizer]:
    """Muon for matrices, Adam for frequencies, biases and output.

    Args:
        decoder: whose weights they change.
        rate: peak learning rate.
        linear: whether these include the weights in which modes and offset are linear.
        biases: whether the offset's are among them.
    """
    matrices = [*decoder.weights, *(decoder.modulations if linear else ())]
    others = [*decoder.frequencies, decoder.output_weight]
    if linear and biases:
        others += [*decoder.biases, decoder.output_bias]
    optimizers: dict[str, torch.optim.Optimizer] = {"optimizer": torch.optim.Adam(others, rate)}
    if matrices:
        optimizers["matrix_optimizer"] = Muon(matrices, rate)
    return optimizers


def accumulate_projection(
    decoder: FilterNetwork,
    pieces: Sequence[Piece],
    chunk_size: int | None = None,
) -> float:
    """The weighted projection error of `pieces`; adds its gradient to the decoder's `.grad`.

    In a team these hold nothing before.
    """
    loss = 0.0
    gradient = GradientSum(decoder)
    for piece in pieces:
        block = piece.block
        scale = torch.full(
            (block.num_columns,), math.sqrt(piece.weight), dtype=block.dtype, device=block.device
        )
        whole = block.whole(chunk_size)
        seen: list[tuple[Block, Basis]] = []
        if whole is not None:
            # One evaluation serves the solve and the gradient; parts with borders that one to four
            # processes have in common, so that these agree however steps add up.
            parts = whole.parts() if len(pieces) == 1 else [whole]
            seen = [(part, decoder.basis(part.coords)) for part in parts]
            equations = chunk_equations(seen[0][1], seen[0][0])
            for part, basis in seen[1:]:
                equations.add_(chunk_equations(basis, part))
            equations.add_up(whole.team)
        else:
            (equations,) = normal_equations(decoder, [block], chunk_size)
        codes = solve_codes(equations).flatten(0, 1).to(block.device, block.dtype)
        chunks = seen or ((each, decoder.basis(each.coords)) for each in block.chunks(chunk_size))
        for chunk, basis in chunks:
            loss += backpropagate_residual(basis, chunk, codes, scale)
            gradient.take()
    team = common_team(piece.block for piece in pieces)
    gradient.give(team)
    return team.total(loss)


@torch.no_grad()
def projection_error(decoder: FilterNetwork, block: AnyBlock, chunk_size: int | None) -> float:
    """Σ of what the modes leave of every column of a block, squared."""
    (equations,) = normal_equations(decoder, [block], chunk_size)
    return float(equations.squared_residual(solve_codes(equations)).sum())


def solve_codes(equations: NormalEquations) -> Tensor:
    """Least-squares codes (n, codes, p), by Cholesky with a ridge of 1e-10."""
    equations = equations.summed()
    diagonal = equations.gram.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    ridge = GRAM_RIDGE * diagonal * torch.eye(equations.gram.shape[-1], dtype=torch.float64)
    root, failed = torch.linalg.cholesky_ex(equations.gram + ridge)
    root[failed != 0] = torch.nan  # modes that are not finite determine nothing
    return equations.per_pattern(
        lambda number, moments: torch.cholesky_solve(moments.T, root[number]).T, equations.moment
    )


@torch.no_grad()
def remove_offset(decoder: FilterNetwork) -> None:
    """Make c₀ zero: biases are all that it is made of."""
    for bias in [*decoder.biases, decoder.output_bias]:
        bias.zero_()
