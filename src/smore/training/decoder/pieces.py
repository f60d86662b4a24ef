"""The data as variable projection sees them: few columns where possible, a sample where not.

Snapshots that share their points are compressed once and for all. What cannot be, snapshots with
points or gaps of their own, is looked at a random share per step: a column's projection error does
not depend on its neighbours, so the gradient of a sample is that of everything on average, and its
noise dies out with the error itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import AnyBlock, Block
from smore.errors import SettingsError
from smore.training.decoder.compression import Compressed, compress

# A mesh or mask with fewer points than this times p leaves too little of a snapshot unexplained,
# whatever the modes, to learn from.
LEAST_POINTS = 1.25
# What a step looks at: meshes until they have this many points together, masks of one mesh.
POINTS_PER_STEP = 2**14
MASKS_PER_STEP = 32


@dataclass(frozen=True, eq=False)
class Piece:
    """A block and the weight of each of its squared entries in the mean squared error.

    Args:
        block: the data, compressed or not.
        weight: of a squared entry.
        rest: error that compression leaves out of the block.
        limit: error of the best linear basis for this piece alone; 0 where it is not known.
        compressed: what the block came from, if it is compressed.
    """

    block: AnyBlock
    weight: float
    rest: float = 0.0
    limit: float = 0.0
    compressed: Compressed | None = None


def make_pieces(
    blocks: Sequence[AnyBlock], latent_dim: int, *, centred: bool, joint: bool = False
) -> list[Piece]:
    """The blocks, compressed where that helps, without masks that show too little.

    Args:
        blocks: the training data.
        latent_dim: p.
        centred: whether the decoder has an offset.
        joint: whether the channels of a snapshot share one code.

    Raises:
        SettingsError: no snapshot has enough observed points for so many latents.
    """
    if joint:
        blocks = [block.stacked() for block in blocks]
    parts = [part for block in blocks for part in _by_mask(block, latent_dim)]
    parts = [part for part in parts if part.total_points >= LEAST_POINTS * latent_dim]
    if not parts:
        raise SettingsError(
            f"latent_dim: {latent_dim} latents cannot be told from fewer than "
            f"{LEAST_POINTS * latent_dim:.0f} observed points per snapshot and channel; "
            "choose a smaller latent_dim, or recipe 'paper'"
        )
    counts = [part.team.total(part.num_values) for part in parts]
    total = sum(counts)
    pieces = []
    for part, count in zip(parts, counts, strict=True):
        share = count / total
        if part.observed is None and (len(parts) == 1 or part.num_columns > 2 * latent_dim):
            small = compress(part, latent_dim, centred=centred)
            limit, rest = share * small.pod_limit(latent_dim), share * small.rest
            pieces.append(Piece(small.block, share / small.total_points, rest, limit, small))
        else:
            pieces.append(Piece(part, 1 / total))
    return pieces


def _by_mask(block: AnyBlock, latent_dim: int) -> Iterator[AnyBlock]:
    """Masks with many columns as blocks of their own, without a mask; the others together."""
    if not isinstance(block, Block) or block.observed is None:
        yield block
        return
    assert block.patterns is not None
    frequent = torch.bincount(block.patterns) > 2 * latent_dim
    for pattern in frequent.nonzero()[:, 0].tolist():
        columns = block.patterns == pattern
        points = block.observed[:, columns.nonzero()[0, 0]]
        yield replace(
            select_columns(block, columns),
            coords=block.coords[points],
            weights=block.weights[points],
            values=block.values[:, columns][points],
            observed=None,
            patterns=None,
        )
    enough = block.observed.sum(0) >= LEAST_POINTS * latent_dim
    others = ~frequent[block.patterns] & enough
    if bool(others.any()):
        yield select_columns(block, others).with_mask(block.observed[:, others])


def select_columns(block: Block, chosen: Tensor) -> Block:
    """Some columns of a block, as if each were a snapshot of one channel.

    Args:
        block: any block that is not compressed.
        chosen: (columns,) booleans.
    """
    return replace(
        block,
        values=block.values[:, chosen],
        snapshots=chosen.nonzero()[:, 0],
        num_channels=1,
        observed=None if block.observed is None else block.observed[:, chosen],
        patterns=None if block.patterns is None else block.patterns[chosen],
    )


def draw(pieces: Sequence[Piece], generator: torch.Generator) -> list[Piece]:
    """What one step looks at; weights make up for what it does not."""
    order = torch.randperm(len(pieces), generator=generator).tolist()
    drawn: list[Piece] = []
    num_points = 0
    for number in order:
        if drawn and num_points + pieces[number].block.num_points > POINTS_PER_STEP:
            break
        drawn.append(_draw_masks(pieces[number], generator))
        num_points += pieces[number].block.num_points
    factor = len(pieces) / len(drawn)
    return [replace(piece, weight=factor * piece.weight) for piece in drawn]


def _draw_masks(piece: Piece, generator: torch.Generator) -> Piece:
    if not isinstance(piece.block, Block) or piece.block.patterns is None:
        return piece
    patterns = piece.block.patterns
    num_patterns = int(patterns.max()) + 1
    if num_patterns <= MASKS_PER_STEP:
        return piece
    chosen = torch.randperm(num_patterns, generator=generator)[:MASKS_PER_STEP].to(patterns.device)
    number = patterns.new_full((num_patterns,), -1)
    number[chosen] = torch.arange(MASKS_PER_STEP, device=patterns.device)
    block = select_columns(piece.block, number[patterns] >= 0)
    assert block.patterns is not None
    return Piece(
        replace(block, patterns=number[block.patterns]),
        piece.weight * num_patterns / MASKS_PER_STEP,
    )
