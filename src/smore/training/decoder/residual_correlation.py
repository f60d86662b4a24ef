"""How what a decoder misses goes on in time and in space.

One snapshot does not care. A sensor that is read ten times does: if the decoder misses the same
there at every time, ten readings say hardly more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from smore.data import AnyBlock, Block, Timeline
from smore.decoder import Basis, Decoder, scaled_residual
from smore.runtime import common_team

# Points and snapshots of a block whose residuals are looked at.
MOST_POINTS, MOST_SNAPSHOTS = 512, 1024
# Edges of bins of distances, in decoder coordinates (a box has sides of 0.5, a sphere radius 1).
EDGES = torch.logspace(-3, 0, 31, dtype=torch.float64)
# A Gaussian of width ℓ has fallen to this at distance ℓ.
AT_REACH = 0.6065306597126334


@torch.no_grad()
def residual_correlation(
    decoder: Decoder,
    blocks: Sequence[AnyBlock],
    latents: Tensor,
    timeline: Timeline,
    variance: Callable[[Sequence[Basis]], Tensor],
) -> tuple[Tensor, Tensor, Tensor]:
    """memory, reach and tail (channels,) of what the decoder misses, see `ModelError`.

    Args:
        decoder: fitted.
        blocks: the training data.
        latents: (snapshots, codes, p) their latents.
        timeline: which snapshot follows which.
        variance: (channels, points) that is expected of it, from the basis of every channel.
    """
    channels = blocks[0].num_channels
    follows = torch.full((len(latents),), -1)
    both = timeline.valid[:, 1:]
    follows[timeline.rows[:, :-1][both]] = timeline.rows[:, 1:][both]
    in_time = torch.zeros(channels, 2, dtype=torch.float64)
    in_space = torch.zeros(channels, len(EDGES) + 1, 2, dtype=torch.float64)
    fourth = torch.zeros(channels, 2, dtype=torch.float64)
    for block in blocks:
        some = block.at(torch.as_tensor(_some(block.num_points, MOST_POINTS)))
        residual, coords = _residuals(decoder, some, latents)  # (points, snapshots, channels)
        expected = variance(decoder.channel_bases(some.coords, channels)).T[:, None]
        known = (residual != 0).sum((0, 1)).double()
        powers = (residual.square() / expected.clamp(min=1e-300)).square().sum((0, 1))
        fourth += torch.stack([powers, known], dim=1)
        in_time += _products_in_time(residual, block.snapshots.cpu(), follows)
        in_space += _products_in_space(residual, coords)
    common_team(blocks).add_up(in_time, in_space, fourth)
    memory = (in_time[:, 0] / in_time[:, 1].clamp(min=1e-300)).clamp(0, 1)
    # Of normal errors the mean fourth power is 3.
    tail = (fourth[:, 0] / (3 * fourth[:, 1]).clamp(min=1)).pow(0.25).clamp(min=1)
    return memory, torch.stack([_reach(each) for each in in_space]), tail


def _some(count: int, most: int) -> np.ndarray:
    """Numbers of random ones, in order: a stride would meet one line of a grid only."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _residuals(decoder: Decoder, block: Block, latents: Tensor) -> tuple[Tensor, Tensor]:
    """(points, snapshots, channels) and decoder coordinates (points, d), float64 on the CPU."""
    parts = []
    for basis, part in decoder.parts(block):
        ones = part.values.new_ones(part.num_columns)
        found = scaled_residual(basis, part, part.codes(latents), ones)
        parts.append(found.unflatten(1, (-1, part.num_channels)))
    return torch.cat(parts, dim=2).to("cpu", torch.float64), block.coords.to("cpu", torch.float64)


def _products_in_time(residual: Tensor, snapshots: Tensor, follows: Tensor) -> Tensor:
    """(channels, 2) sums over neighbours in time of their product, and of their mean square."""
    place = torch.full((len(follows),), -1)
    place[snapshots] = torch.arange(len(snapshots))
    next_ = follows[snapshots]
    next_ = torch.where(next_ >= 0, place[next_.clamp(min=0)], -1)
    one, other = residual[:, next_ >= 0], residual[:, next_[next_ >= 0]]
    known = (one != 0) & (other != 0)
    squares = known * (one.square() + other.square()) / 2
    return torch.stack([(one * other).sum((0, 1)), squares.sum((0, 1))], dim=1)


def _products_in_space(residual: Tensor, coords: Tensor) -> Tensor:
    """(channels, bins, 2) the same of pairs of points, by their distance."""
    every = max(1, residual.shape[1] // MOST_SNAPSHOTS)
    distance = torch.cdist(coords, coords)
    bins = torch.bucketize(distance, EDGES)
    bins.fill_diagonal_(0)
    found = torch.zeros(residual.shape[2], len(EDGES) + 1, 2, dtype=torch.float64)
    for channel, table in enumerate(residual[:, ::every].unbind(2)):
        products = table @ table.T
        sizes = products.diagonal().clamp(min=0).sqrt()
        for number, terms in enumerate((products, torch.outer(sizes, sizes))):
            found[channel, :, number].index_add_(0, bins.flatten(), terms.flatten())
    found[:, 0] = 0  # points with themselves
    return found


def _reach(binned: Tensor) -> Tensor:
    """The distance at which the correlation (bins, 2) has fallen to that of a Gaussian at ℓ."""
    total = binned[:, 1]
    known = (total > 0).nonzero()[:, 0]
    if not len(known):
        return EDGES[0]
    correlation = binned[known, 0] / total[known]
    middle = torch.cat([EDGES[:1], (EDGES[1:] * EDGES[:-1]).sqrt(), EDGES[-1:]])[known]
    below = (correlation < AT_REACH).nonzero()[:, 0]
    if not len(below):
        return middle[-1]
    first = int(below[0])
    if first == 0:
        # Even the nearest points are further apart: a Gaussian through what they show.
        seen = float(correlation[0].clamp(min=1e-3))
        return middle[0] / (-2 * np.log(min(seen, AT_REACH))) ** 0.5
    share = (correlation[first - 1] - AT_REACH) / (correlation[first - 1] - correlation[first])
    return middle[first - 1] + share * (middle[first] - middle[first - 1])
