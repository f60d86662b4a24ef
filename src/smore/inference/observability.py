"""c_S = σ_min(J_S): how strongly sensors see the direction of the state they see least."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from smore.data import AnyBlock, with_channel
from smore.decoder import Decoder

# Points decoded at once.
CHUNK = 2**12


def observability(decoder: Decoder, coords: Tensor) -> float:
    """c_S of sensors that observe every channel (paper, Lemma).

    Then J_S = I ⊗ J₀(S) has the singular values of J₀(S). With sensors of its own for each
    channel, c_S is the smallest over the channels.

    Args:
        decoder: of the trained model.
        coords: (sensors, d) their decoder coordinates.

    Returns:
        c_S, in normalised units per latent unit. Exactly 0 with fewer sensors than latents, and
        where round-off cannot tell the singular value from 0.
    """
    return _observability(decoder, coords.split(CHUNK))


@torch.no_grad()
def _observability(decoder: Decoder, parts: Iterable[Tensor]) -> float:
    """c_S of sensors whose decoder coordinates come in parts (some, d)."""
    decoder = copy.deepcopy(decoder).to("cpu", torch.float64)
    return smallest_singular_value(
        decoder.basis(coords.to("cpu", torch.float64)).modes for coords in parts
    )


def smallest_singular_value(parts: Iterable[Tensor]) -> float:
    """Of the matrix whose rows come in parts (some, p), less what round-off may have added to it.

    Bounds divide by it, so it must not be too large: where round-off cannot tell, it is 0. So it
    is without rows.
    """
    # R of a QR factorisation has the singular values of the matrix, and rows can be added to it.
    triangle: Tensor | None = None
    num_rows = 0
    for part in parts:
        num_rows += len(part)
        rows = part if triangle is None else torch.cat([triangle, part])
        triangle = torch.linalg.qr(rows, mode="r").R
    if triangle is None or num_rows < triangle.shape[1]:
        return 0.0
    values = torch.linalg.svdvals(triangle)
    noise = num_rows * torch.finfo(torch.float64).eps * float(values[0])
    return max(float(values[-1]) - noise, 0.0)


def observabilities(decoder: Decoder, blocks: Sequence[AnyBlock]) -> Tensor:
    """c_S (snapshots, codes): of each channel of each snapshot in `blocks`, or of all together."""
    num_snapshots = sum(len(block.snapshots) for block in blocks)
    codes = decoder.num_codes(blocks[0].num_channels)
    table = torch.zeros(num_snapshots, codes, dtype=torch.float64)
    for block in blocks:
        if block.observed is None or block.patterns is None:
            table[block.snapshots.cpu()] = _observability(decoder, _sensors(decoder, block))
            continue
        # Sensors of a code: those of its channel, or of all channels of the snapshot.
        patterns = block.patterns.cpu().view(-1, block.num_channels // codes)
        distinct, which = torch.unique(patterns, dim=0, return_inverse=True)
        seen = torch.zeros(len(distinct), dtype=torch.float64)
        for number in range(len(distinct)):
            first = int((which == number).nonzero()[0]) * patterns.shape[1]
            masks = block.observed[:, first : first + patterns.shape[1]].T
            places = [block.coords[mask] for mask in masks]
            if decoder.joint:
                places = [with_channel(each, k) for k, each in enumerate(places)]
            # Some decoders have no basis at no places, as of a channel that was not observed.
            seen[number] = _observability(decoder, [each for each in places if len(each)])
        table[block.snapshots.cpu()] = seen[which].unflatten(0, (-1, codes))
    return table


def _sensors(decoder: Decoder, block: AnyBlock) -> Iterator[Tensor]:
    """Decoder coordinates of all points, for a joint decoder once for every channel."""
    for chunk in block.chunks(CHUNK):
        if not decoder.joint:
            yield chunk.coords
            continue
        for number in range(block.num_channels):
            yield with_channel(chunk.coords, number)
