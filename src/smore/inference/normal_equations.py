"""What a block says about its latent codes: the normal equations of decoding.

Fitting a code to a snapshot is linear least squares, min ‖J₀ z - (u - c₀)‖². Its Gram matrix and
right-hand side are all that any fit needs of the data, however many points there are, and they are
sums over points.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import AnyBlock, Block
from smore.decoder import Basis, Decoder
from smore.runtime import Team


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The least-squares problems of a block's snapshots, in float64 on the CPU.

    Args:
        snapshots: (n,) rows of the latent table.
        gram: J₀ᵀJ₀ of every distinct set of observed points, (patterns, p, p).
        pattern: which of them belongs to each snapshot and channel, (n, channels).
        moment: J₀ᵀ(u - c₀), (n, channels, p).
        energy: ‖u - c₀‖², (n, channels).
        count: observed points, (n, channels).
        joint: whether the channels of a snapshot share one code.
    """

    snapshots: Tensor
    gram: Tensor
    pattern: Tensor
    moment: Tensor
    energy: Tensor
    count: Tensor
    joint: bool = False

    @property
    def num_codes(self) -> int:
        """Codes of a snapshot."""
        return 1 if self.joint else self.moment.shape[1]

    def summed(self) -> NormalEquations:
        """Those of the codes: where channels share one, all channels of a snapshot together."""
        if not self.joint:
            return self
        patterns, which = torch.unique(self.pattern, dim=0, return_inverse=True)
        return NormalEquations(
            snapshots=self.snapshots,
            gram=self.gram[patterns].sum(1),
            pattern=which[:, None],
            moment=self.moment.sum(1, keepdim=True),
            energy=self.energy.sum(1, keepdim=True),
            count=self.count.sum(1, keepdim=True),
        )

    def select(self, rows: Tensor) -> NormalEquations:
        """Those of some snapshots."""
        return replace(
            self,
            snapshots=self.snapshots[rows],
            pattern=self.pattern[rows],
            moment=self.moment[rows],
            energy=self.energy[rows],
            count=self.count[rows],
        )

    def add_(self, more: NormalEquations) -> None:
        """Take in what other points say about the same snapshots."""
        self.gram.add_(more.gram)
        self.moment.add_(more.moment)
        self.energy.add_(more.energy)
        self.count.add_(more.count)

    def add_up(self, team: Team) -> None:
        """Take in what the points of the other processes say."""
        team.add_up(self.gram, self.moment, self.energy, self.count)

    def squared_residual(self, codes: Tensor) -> Tensor:
        """‖J₀ z + c₀ - u‖² for codes (n, codes, p): (n, channels), never below 0."""
        codes = codes.expand_as(self.moment)
        return ((codes * (self.pull(codes) - 2 * self.moment)).sum(-1) + self.energy).clamp(min=0)

    def pull(self, codes: Tensor) -> Tensor:
        """J₀ᵀJ₀ z for codes (n, channels, p)."""
        return self.per_pattern(lambda number, rows: rows @ self.gram[number], codes)

    def per_pattern(self, function: Callable[[int, Tensor], Tensor], codes: Tensor) -> Tensor:
        """`function(number, rows)` for the rows of `codes` (n, channels, p) of each pattern."""
        if len(self.gram) == 1:
            return function(0, codes.flatten(0, 1)).view_as(codes)
        result = torch.empty_like(codes)
        for number in range(len(self.gram)):
            rows = self.pattern == number
            result[rows] = function(number, codes[rows])
        return result


@torch.no_grad()
def normal_equations(
    decoder: Decoder, blocks: Sequence[AnyBlock], chunk_size: int | None = None
) -> list[NormalEquations]:
    """The normal equations of each block, summed over chunks of points."""
    return [_block_equations(decoder, block, chunk_size) for block in blocks]


def _block_equations(decoder: Decoder, block: AnyBlock, chunk_size: int | None) -> NormalEquations:
    total: NormalEquations | None = None
    for chunk in block.chunks(chunk_size):
        more = _side_by_side([chunk_equations(*part) for part in decoder.parts(chunk)])
        if total is None:
            total = more
        else:
            total.add_(more)
    assert total is not None
    total.add_up(block.team)
    return total


def _side_by_side(channels: list[NormalEquations]) -> NormalEquations:
    """Those of several channels with modes of their own but one code; of one they are that."""
    if len(channels) == 1:
        return channels[0]
    starts = [0, *itertools.accumulate(len(each.gram) for each in channels)]
    pattern = [each.pattern + start for each, start in zip(channels, starts, strict=False)]
    return NormalEquations(
        snapshots=channels[0].snapshots,
        gram=torch.cat([each.gram for each in channels]),
        pattern=torch.cat(pattern, dim=1),
        moment=torch.cat([each.moment for each in channels], dim=1),
        energy=torch.cat([each.energy for each in channels], dim=1),
        count=torch.cat([each.count for each in channels], dim=1),
        joint=True,
    )


@torch.no_grad()
def chunk_equations(basis: Basis, chunk: Block) -> NormalEquations:
    """The part of a block's normal equations that a chunk of its points contributes."""
    shape = (len(chunk.snapshots), chunk.num_channels)
    modes = basis.modes.to("cpu", torch.float64)
    dim = modes.shape[1]
    offset = torch.outer(basis.offset, chunk.offset_loading)
    target = (chunk.values - offset).to("cpu", torch.float64)
    if chunk.observed is None:
        gram = (modes.T @ modes)[None]
        pattern = torch.zeros(shape, dtype=torch.int64)
        count = torch.full(shape, float(chunk.num_points), dtype=torch.float64)
    else:
        assert chunk.patterns is not None
        observed = chunk.observed.to("cpu", torch.float64)
        target *= observed
        pattern = chunk.patterns.cpu().view(shape)
        gram = torch.stack(
            [
                (modes * observed[:, column, None]).T @ modes
                for column in first_columns(chunk.patterns).tolist()
            ]
        )
        count = observed.sum(0).view(shape)
    return NormalEquations(
        snapshots=chunk.snapshots.cpu(),
        gram=gram,
        pattern=pattern,
        moment=(target.T @ modes).view(*shape, dim),
        energy=target.square().sum(0).view(shape),
        count=count,
    )


def first_columns(patterns: Tensor) -> Tensor:
    """A column that has pattern 0, one that has pattern 1, and so on."""
    first = patterns.new_full((int(patterns.max()) + 1,), len(patterns))
    columns = torch.arange(len(patterns), device=patterns.device)
    return first.scatter_reduce(0, patterns, columns, "amin")
