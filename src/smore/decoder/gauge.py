"""Changing the latent coordinates without changing any field.

With z = A y + s the decoder c₀ + J₀ z becomes (c₀ + J₀ s) + (J₀ A) y: another decoder of the same
kind, see `Decoder.change_gauge`. Coordinates are therefore free to choose, and
L2-orthonormal modes make the norm of the latent the norm of u - c₀.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from smore.data import AnyBlock
from smore.decoder.decoder import Decoder
from smore.runtime import common_team


@torch.no_grad()
def mode_gram(
    decoder: Decoder, blocks: Sequence[AnyBlock], chunk_size: int | None
) -> tuple[Tensor, Tensor]:
    """∫ J₀ᵀ J₀ dx / |Ω| (p, p) and ∫ J₀ᵀ c₀ dx / |Ω| (p,), by the blocks' weights, in float64.

    Of a joint decoder the sum over its channels.
    """
    gram = torch.zeros(decoder.latent_dim, decoder.latent_dim, dtype=torch.float64)
    offset = torch.zeros(decoder.latent_dim, dtype=torch.float64)
    measure = torch.zeros(1, dtype=torch.float64)
    for block in blocks:
        for chunk in block.chunks(chunk_size):
            weights = chunk.weights.to("cpu", torch.float64)
            measure += weights.sum()
            for basis in decoder.channel_bases(chunk.coords, decoder.num_outputs):
                modes = basis.modes.to("cpu", torch.float64)
                gram += modes.T @ (weights[:, None] * modes)
                offset += modes.T @ (weights * basis.offset.to("cpu", torch.float64))
    common_team(blocks).add_up(gram, offset, measure)
    return gram / measure, offset / measure


def orthonormal_gauge(gram: Tensor, codes: Tensor) -> Tensor:
    """The matrix A (p, p) that makes modes orthonormal and orders them by energy.

    Args:
        gram: Gram matrix of the modes.
        codes: (..., p) latents in the old coordinates; their second moment sets the order.
    """
    floor = 1e-14 * gram.diagonal().mean()
    root = torch.linalg.cholesky(gram + floor * torch.eye(len(gram), dtype=gram.dtype))
    whitened = codes.reshape(-1, len(gram)).to("cpu", torch.float64) @ root  # y = rootᵀ z
    _, directions = torch.linalg.eigh(whitened.T @ whitened)
    return torch.linalg.solve_triangular(root.T, directions.flip(1), upper=True)
