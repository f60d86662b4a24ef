"""What a decoder gets wrong on a block, and the gradient of its squared sum.

With the basis (c₀, J₀) of a chunk of points and the codes Z of its columns the residual is one
matrix product, R = J₀ Zᵀ + c₀ 1ᵀ - U. For the loss ‖R √w‖² its gradients are three more:

    dL/dJ₀ = 2 (R w) Z      dL/dc₀ = 2 (R w) 1      dL/dZ = 2 (R w)ᵀ J₀.

Only (dL/dc₀, dL/dJ₀) enters the network's backward pass, so its cost and its memory do not depend
on the number of snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from smore.data import AnyBlock, Block
from smore.decoder.basis import Basis
from smore.decoder.decoder import Decoder
from smore.decoder.gradient_sum import GradientSum
from smore.runtime import common_team


def scaled_residual(basis: Basis, chunk: Block, codes: Tensor, scale: Tensor) -> Tensor:
    """(J₀ z + λ c₀ - u) · scale for every point and column; 0 where nothing was observed.

    Args:
        basis: the decoder at the chunk's points.
        chunk: the block or a chunk of its points.
        codes: (columns, p) latent code of each column.
        scale: (columns,) factor of each column.
    """
    residual = basis.modes @ (codes * scale[:, None]).T
    residual.addr_(basis.offset, chunk.offset_loading * scale)
    residual.addcmul_(chunk.values, scale, value=-1)
    if chunk.observed is not None:
        residual.mul_(chunk.observed)
    return residual


def accumulate_reconstruction(
    decoder: Decoder,
    blocks: Sequence[AnyBlock],
    latents: Tensor,
    weights: Tensor,
    chunk_size: int | None = None,
) -> tuple[float, Tensor]:
    """The weighted reconstruction loss Σ w (J₀ z + c₀ - u)² and its gradients.

    Adds the gradient to `.grad` of the decoder's parameters; in a team these hold nothing before.

    Args:
        decoder: any decoder.
        blocks: the data.
        latents: (snapshots, channels, p) latent table.
        weights: (snapshots,) weight of each entry of a snapshot.
        chunk_size: points decoded at once (Algorithm 2); the result does not depend on it. None
            leaves it open, a number as large as that of all points makes them one chunk.

    Returns:
        The loss and its gradient with respect to `latents`.
    """
    loss = 0.0
    latent_gradient = torch.zeros(latents.shape, dtype=torch.float64)
    parameter_gradient = GradientSum(decoder)
    for block in blocks:
        codes = block.codes(latents).detach()
        scale = weights[block.snapshots].sqrt().repeat_interleave(block.num_channels)
        code_gradient = torch.zeros(codes.shape, dtype=torch.float64)
        for chunk in _team_chunks(blocks, block, chunk_size):
            basis = decoder.basis(chunk.coords)
            loss += backpropagate_residual(basis, chunk, codes, scale, code_gradient)
            parameter_gradient.take()
        latent_gradient.index_add_(
            0, block.snapshots.cpu(), code_gradient.unflatten(0, (-1, block.num_channels))
        )
    team = common_team(blocks)
    team.add_up(latent_gradient)
    parameter_gradient.give(team)
    return team.total(loss), latent_gradient.to(latents)


def _team_chunks(
    blocks: Sequence[AnyBlock], block: AnyBlock, chunk_size: int | None
) -> Iterator[Block]:
    """Chunks of `block` that one to four processes have in common, unless all points are asked for.

    Only sequences on one mesh are ever shared by processes.
    """
    shared = len(blocks) == 1 and (chunk_size is None or chunk_size < block.total_points)
    for part in block.parts() if shared else [block]:
        yield from part.chunks(chunk_size)


def backpropagate_residual(
    basis: Basis, chunk: Block, codes: Tensor, scale: Tensor, code_gradient: Tensor | None = None
) -> float:
    """‖residual · scale‖² of a chunk; adds its gradient to the decoder's `.grad`.

    Adds that of the codes to `code_gradient` (columns, p), if given, in float64 on the CPU: chunks
    may be many.
    """
    with torch.no_grad():
        residual = scaled_residual(basis, chunk, codes, scale)
        loss = float(torch.linalg.vector_norm(residual)) ** 2
        if code_gradient is not None:
            code_gradient.add_((residual.T @ basis.modes).mul_(2 * scale[:, None]).cpu())
        gradients = (
            2 * (residual @ (chunk.offset_loading * scale)),
            2 * (residual @ (codes * scale[:, None])),
        )
        del residual
    torch.autograd.backward((basis.offset, basis.modes), gradients)
    return loss


@torch.no_grad()
def squared_errors(
    decoder: Decoder,
    blocks: Sequence[AnyBlock],
    latents: Tensor,
    chunk_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Σ (J₀ z + c₀ - u)² over the observed points of every snapshot and channel, and their number.

    Returns:
        Two (snapshots, channels) tensors, in float64 on the CPU.
    """
    shape = (len(latents), blocks[0].num_channels)
    totals, counts = (torch.zeros(shape, dtype=torch.float64) for _ in range(2))
    for block in blocks:
        rows = block.snapshots.cpu()
        for chunk in block.chunks(chunk_size):
            squared, observed = [], []
            for basis, part in decoder.parts(chunk):
                codes = part.codes(latents)
                ones = torch.ones(len(codes), dtype=codes.dtype, device=codes.device)
                residual = scaled_residual(basis, part, codes, ones)
                squared.append(_per_snapshot(residual.square().sum(0), part))
                known = ones * part.num_points if part.observed is None else part.observed.sum(0)
                observed.append(_per_snapshot(known, part))
            totals.index_add_(0, rows, torch.cat(squared, dim=1))
            counts.index_add_(0, rows, torch.cat(observed, dim=1))
    common_team(blocks).add_up(totals, counts)
    return totals, counts


def _per_snapshot(columns: Tensor, part: Block) -> Tensor:
    """(columns,) -> (snapshots, channels of the part), in float64 on the CPU."""
    return columns.unflatten(0, (-1, part.num_channels)).to("cpu", torch.float64)
