"""Snapshots with points or gaps of their own, as if they shared their points.

Features Y(x) are known everywhere. A regression on them at its own points gives a snapshot
coefficients a with u ≈ [Y, 1] a, and in coefficients snapshots of all meshes can be compared: under
the Gram matrix of the features over all points their squared norm is the mean square of the field.
So they are compressed like columns on one mesh, and the closed form follows. What features do not
hold of a snapshot is known by points that are left out of such regressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import AnyBlock, Block
from smore.decoder import FilterNetwork
from smore.settings import PAPERS_SCALE
from smore.training.decoder.compression import Compressed, compress

SCALES = (16.0, 32.0, 64.0, 128.0, 256.0)
# Relative to features of mean square 1; a regression has at least so many points per feature.
RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
LEAST_POINTS = 1.25
# Sets of points that choose among these, and the share of each that is left out.
TRIED, LEFT_OUT = 8, 0.2
# Points, drawn from all, at which the decoder is solved for.
MOST_POINTS = 2**14
# Products that all regressions together may take: half a minute, about.
MOST_WORK = 5e11


@dataclass(frozen=True, eq=False)
class Regression:
    """How snapshots are regressed on features.

    Args:
        decoder: whose features they are.
        scale: of its frequencies.
        ridge: relative to features of mean square 1.
        missed: mean squared error at points that were left out.
    """

    decoder: FilterNetwork
    scale: float
    ridge: float
    missed: float


@dataclass(frozen=True, eq=False)
class _Group:
    """Columns that are known at the same points.

    Args:
        coords: (outputs, points, d), of each output its own where there are several.
        values: (outputs, points, columns).
        columns: (columns,) their numbers among those of all blocks.
    """

    coords: list[Tensor]
    values: list[Tensor]
    columns: Tensor


def choose_regression(
    fresh: Callable[[float], FilterNetwork], blocks: Sequence[AnyBlock], scale: float | None
) -> Regression | None:
    """The frequency scale and ridge with which left-out points of snapshots are told best.

    Args:
        fresh: a network of some scale.
        blocks: the data, stacked if the decoder is joint.
        scale: the only one to try, if it is given.

    Returns:
        None where snapshots have too few points for that, or are too many.
    """
    decoder = fresh(scale or PAPERS_SCALE)
    if not _possible(decoder, blocks):
        return None
    groups = list(_groups(decoder, blocks))
    chosen = torch.linspace(0, len(groups) - 1, min(TRIED, len(groups))).round().long().tolist()
    found = [
        Regression(fresh(each), each, ridge, missed)
        for each in ((scale,) if scale else SCALES)
        for ridge, missed in _missed(fresh(each), [groups[number] for number in chosen])
    ]
    return min(found, key=lambda each: each.missed)


@torch.no_grad()
def pool(regression: Regression, blocks: Sequence[AnyBlock], *, centred: bool = True) -> Compressed:
    """All snapshots, compressed, at points drawn from those of all blocks.

    What it leaves out is that of a factor of few columns; what the regressions miss is not counted.
    `centred` as for `compress`.
    """
    decoder = regression.decoder
    size, outputs = decoder.num_features + 1, decoder.num_outputs
    gram = torch.zeros(outputs, size, size, dtype=torch.float64)
    num_columns = sum(block.num_columns for block in blocks)
    coefficients = torch.zeros(outputs, size, num_columns, dtype=torch.float64)
    num_points = 0
    for group in _groups(decoder, blocks):
        for output, (coords, values) in enumerate(zip(group.coords, group.values, strict=True)):
            features = _features(decoder, coords)
            square = features.T @ features
            found = _regressed(square, features.T @ values, len(features), regression.ridge)
            coefficients[output][:, group.columns] = found
            gram[output] += square
            num_points += len(features)
    points = _drawn(blocks)
    # Rows whose sum of squares is one over the points that were drawn.
    gram *= len(points) / num_points
    gram.diagonal(dim1=1, dim2=2).add_(1e-14 * gram.diagonal(dim1=1, dim2=2).mean())
    root = torch.linalg.cholesky(gram).mT
    rows = _as_block((root @ coefficients).flatten(0, 1))
    small = compress(rows, decoder.latent_dim, centred=centred)
    assert isinstance(small.block, Block)
    factor = small.block.values.unflatten(0, (outputs, size))
    solved = torch.linalg.solve_triangular(root, factor, upper=True)
    values = torch.empty(len(points), factor.shape[2], dtype=torch.float64)
    for output, (own, coords) in enumerate(_rows_of(decoder, points)):
        values[own] = _features(decoder, coords) @ solved[output]
    block = replace(
        small.block, coords=points, weights=torch.ones_like(points[:, 0]), values=values.to(points)
    )
    return replace(small, block=block, total_points=len(points))


def _possible(decoder: FilterNetwork, blocks: Sequence[AnyBlock]) -> bool:
    """Whether all snapshots have enough points, in memory, and regressions are not too many."""
    work, least = 0.0, LEAST_POINTS * decoder.num_features
    for block in blocks:
        if not isinstance(block, Block) or block.team.size > 1:
            return False
        counts = torch.full((1,), block.num_points, device=block.device)
        if block.observed is not None and block.patterns is not None:
            first = [int((block.patterns == each).nonzero()[0, 0]) for each in _numbers(block)]
            counts = block.observed[:, first].sum(0)
        if int(counts.min()) < least * decoder.num_outputs:
            return False
        work += float(counts.sum()) * decoder.num_features**2
    return work <= MOST_WORK


def _numbers(block: Block) -> range:
    assert block.patterns is not None
    return range(int(block.patterns.max()) + 1)


def _groups(decoder: FilterNetwork, blocks: Sequence[AnyBlock]) -> Iterator[_Group]:
    """Blocks without a mask, or the patterns of those that have one."""
    for block in blocks:
        assert isinstance(block, Block)
        channels = torch.arange(block.num_channels, device=block.device)
        columns = (block.snapshots[:, None] * block.num_channels + channels).flatten()
        if block.patterns is None or block.observed is None:
            yield _group(decoder, block.coords, block.values, columns)
            continue
        for number in _numbers(block):
            own = block.patterns == number
            seen = block.observed[:, own.nonzero()[0, 0]]
            yield _group(decoder, block.coords[seen], block.values[:, own][seen], columns[own])


def _group(decoder: FilterNetwork, coords: Tensor, values: Tensor, columns: Tensor) -> _Group:
    rows = list(_rows_of(decoder, coords))
    known = [values[own].to("cpu", torch.float64) for own, _ in rows]
    return _Group([each for _, each in rows], known, columns.cpu())


def _rows_of(decoder: FilterNetwork, coords: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows that belong to each output, and their coordinates without its number."""
    if not decoder.joint:
        yield torch.arange(len(coords)), coords
        return
    number = coords[:, -1].round()
    for output in range(decoder.num_outputs):
        rows = (number == output).nonzero()[:, 0]
        yield rows.cpu(), coords[rows, :-1]


def _features(decoder: FilterNetwork, coords: Tensor) -> Tensor:
    """[Y, 1] (points, features + 1) in float64."""
    features = decoder.features(coords).detach().to("cpu", torch.float64)
    return torch.cat([features, features.new_ones(len(features), 1)], dim=1)


def _regressed(gram: Tensor, cross: Tensor, num_points: int, ridge: float) -> Tensor:
    """Coefficients (features, columns) from sums over points."""
    size = (gram.diagonal() / num_points).sqrt().clamp(min=1e-300)
    scaled = gram / num_points / size[:, None] / size
    scaled.diagonal().add_(ridge)
    root = torch.linalg.cholesky(scaled)
    return torch.cholesky_solve(cross / num_points / size[:, None], root) / size[:, None]


@torch.no_grad()
def _missed(decoder: FilterNetwork, groups: list[_Group]) -> Iterator[tuple[float, float]]:
    """Every ridge, and the mean squared error at points that are left out."""
    generator = torch.Generator().manual_seed(0)
    total, count = torch.zeros(len(RIDGES), dtype=torch.float64), 0
    for group in groups:
        for coords, values in zip(group.coords, group.values, strict=True):
            features = _features(decoder, coords)
            out = torch.rand(len(features), generator=generator) < LEFT_OUT
            known = features[~out]
            sums = known.T @ known, known.T @ values[~out], len(known)
            for number, ridge in enumerate(RIDGES):
                told = features[out] @ _regressed(*sums, ridge)
                total[number] += (told - values[out]).square().sum()
            count += int(out.sum()) * values.shape[1]
    yield from zip(RIDGES, (total / max(count, 1)).tolist(), strict=True)


def _drawn(blocks: Sequence[AnyBlock]) -> Tensor:
    """Coordinates of an even choice of all points."""
    coords = torch.cat([block.coords for block in blocks if isinstance(block, Block)])
    chosen = torch.linspace(0, len(coords) - 1, min(len(coords), MOST_POINTS), dtype=torch.float64)
    return coords[chosen.round().long().unique()]


def _as_block(rows: Tensor) -> Block:
    """Columns whose rows are no points of space."""
    return Block(
        coords=rows.new_zeros(len(rows), 1),
        weights=rows.new_ones(len(rows)),
        values=rows,
        snapshots=torch.arange(rows.shape[1]),
        num_channels=1,
    )
