"""All snapshots on a mesh, through their mean and a low-rank factor of their covariance.

Latents eliminated, the loss of a decoder is how much of each snapshot lies outside its modes.
Summed over snapshots that depends on their mean μ and covariance C ≈ F Fᵀ alone,

    Σ ‖(I - P)(u - c₀)‖² / n = ‖(I - P)(μ - c₀)‖² + ‖(I - P) F‖² + rest,

so thousands of columns become the few hundred of [F, μ]. The same singular values say how well any
linear basis of a given size could do (Eckart-Young): the POD limit.

The factor comes from the Gram matrix G = UᵀU of the columns U. Of few columns, or at few points, a
root of it, RᵀR = G, is put together from QR decompositions of some points after the others: G
itself would lose the weaker half of the digits, and what a forecast needs may be there. Of many
columns G is only applied, U'(U Ω), to a random subspace that each pass over the points turns
towards the leading directions (Halko, Martinsson, Tropp, 2011). Either way whatever depends on
points is made of pieces of them: in memory, on disk and among processes alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import AnyBlock, Block, ColumnStore, StoredBlock
from smore.runtime import one_thread

# Share of the POD limit's residual that the factor may leave out.
LEFT_OUT = 1e-3
# Up to so many columns, or points, a root of the Gram matrix is decomposed; and up to so many times
# as many as directions are wanted, where passes would take longer.
FEW_COLUMNS, FEW_TIMES = 1024, 2
# Passes over the data that turn a random subspace towards the leading directions. The first one is
# not the last word, and float32 takes half the time.
PASSES = torch.float32, torch.float64
# Directions with less than this share of the largest energy are round-off: of a root, and where
# squares were summed.
ROUND_OFF, SUMMED_ROUND_OFF = 1e-30, 1e-15
# What the columns at some points take, in float64.
BYTES_AT_ONCE = 2**26


# Directions of a factor that is to have as many as the data.
MOST_DIRECTIONS = 640


def _most_columns(latent_dim: int | None) -> int:
    return MOST_DIRECTIONS if latent_dim is None else 4 * latent_dim + 128


@dataclass(frozen=True, eq=False)
class Compressed:
    """A block whose columns are [F, μ], and every column of the original in its directions.

    Args:
        block: [F, μ] as columns; only μ carries the decoder's offset.
        energies: (rank,) variance along each column of F, summed over points, falling.
        left_out: variance that F leaves out, summed over points.
        total_points: how many points that are, in all processes.
        coordinates: (columns, rank) of u - μ along the orthonormal directions F / √energies.
        mean: (rank,) those of μ itself.
        mean_outside: norm of what of μ lies outside these directions.
    """

    block: AnyBlock
    energies: Tensor
    left_out: float
    total_points: int
    coordinates: Tensor
    mean: Tensor
    mean_outside: float

    @property
    def rest(self) -> float:
        """Mean squared value per point that F leaves out."""
        return self.left_out / self.total_points

    def part(self, chosen: Tensor) -> Block | None:
        """The same of some of the columns, about the mean of all; None where that is on disk.

        Args:
            chosen: (columns,) booleans.
        """
        if not isinstance(self.block, Block):
            return None
        some = self.coordinates[chosen]
        energies, vectors = torch.linalg.eigh(some.T @ some / len(some))
        change = vectors * energies.clamp(min=0).sqrt() / self.energies.sqrt()[:, None]
        factor = self.block.values[:, :-1].to("cpu", torch.float64) @ change
        values = torch.cat([factor.to(self.block.values), self.block.values[:, -1:]], dim=1)
        return replace(self.block, values=values)

    def sampled(self, count: int) -> Compressed:
        """The same at some of its points, in memory; itself where it has no more than these.

        Columns and their energies are those of all points.
        """
        if self.block.team.size > 1 or self.block.num_points <= count:
            return self
        generator = torch.Generator().manual_seed(0)
        rows = torch.randperm(self.block.num_points, generator=generator)[:count]
        share = count / self.block.num_points
        return replace(
            self,
            block=self.block.at(rows.sort().values),
            left_out=share * self.left_out,
            total_points=round(share * self.total_points),
        )

    def ending(self, count: int) -> Compressed:
        """The same directions for the last `count` columns alone, about the mean of these."""
        coordinates = self.coordinates[-count:]
        shift = coordinates.mean(0)
        same = torch.eye(len(shift), dtype=torch.float64)
        moved = _changed(self.block, same, shift / self.energies.sqrt())
        return replace(
            self,
            block=_stored_columns(self.block, moved, len(shift)),
            coordinates=coordinates - shift,
            mean=self.mean + shift,
        )

    def within(self, subspace: Tensor) -> Compressed:
        """The same in a subspace (rank, p) of its directions, given by orthonormal columns.

        Its directions have to be uncorrelated; what lies outside counts as left out.
        """
        coordinates, mean = self.coordinates @ subspace, self.mean @ subspace
        energies = coordinates.square().mean(0).clamp(min=1e-300)
        change = subspace * energies.sqrt() / self.energies.sqrt()[:, None]
        changed = _changed(self.block, change, torch.zeros_like(self.energies))
        outside = self.coordinates.square().sum(1).mean() - energies.sum()
        mean_outside = self.mean_outside**2 + float(self.mean.square().sum() - mean.square().sum())
        return Compressed(
            block=_stored_columns(self.block, changed, len(energies)),
            energies=energies,
            left_out=self.left_out + max(float(outside), 0.0),
            total_points=self.total_points,
            coordinates=coordinates,
            mean=mean,
            mean_outside=max(mean_outside, 0.0) ** 0.5,
        )

    def pod_limit(self, latent_dim: int) -> float:
        """Mean squared error of the best basis of that size about the mean."""
        return (float(self.energies[latent_dim:].sum()) + self.left_out) / self.total_points


def compress(block: AnyBlock, latent_dim: int | None, *, centred: bool = True) -> Compressed:
    """Compress a block without missing values, for a decoder of `latent_dim` modes.

    Args:
        block: the snapshots.
        latent_dim: p; the factor leaves out a thousandth of what p modes must leave out. None for
            one that leaves out as little as it can.
        centred: covariance about the mean; False takes the second moment about zero, for decoders
            without an offset.
    """
    assert block.observed is None
    count, rank = block.num_columns, _most_columns(latent_dim)
    columns = _Columns(block, centred)
    few = min(count, block.total_points) <= max(FEW_COLUMNS, FEW_TIMES * rank)
    energies, vectors, image = columns.decomposed() if few else columns.leading(rank)
    # The sum of what is left out, not a difference of large ones, where all of it is at hand.
    beyond_rank = float(energies[rank:].sum())
    if not few:
        beyond_rank = max(columns.energy - float(energies.sum()), 0.0)
    energies, vectors, image = energies[:rank], vectors[:, :rank], image[:, :rank]
    beyond = energies.flip(0).cumsum(0).flip(0) + beyond_rank  # beyond[k]: what k columns leave
    kept = len(energies)
    if latent_dim is not None:
        kept = int((beyond > LEFT_OUT * beyond[min(latent_dim, len(beyond) - 1)]).sum())
    size = energies[:kept].sqrt()
    mean = vectors[:, :kept].T @ columns.cross / size
    return Compressed(
        block=_factor_block(block, vectors[:, :kept] / count**0.5, centred=centred),
        energies=energies[:kept] / count,
        left_out=(beyond_rank + float(energies[kept:].sum())) / count,
        total_points=block.total_points,
        coordinates=image[:, :kept] / size,
        mean=mean,
        mean_outside=max(columns.mean_energy - float(mean.square().sum()), 0.0) ** 0.5,
    )


class _Columns:
    """The columns of a block, about their mean or about zero, and what passes over them give.

    Attributes:
        energy: sum of their squares.
        cross: (columns,) their products with the mean.
        mean_energy: squared norm of the mean.
    """

    def __init__(self, block: AnyBlock, centred: bool) -> None:
        self.block, self.centred = block, centred
        self.energy = self.mean_energy = 0.0
        self.cross = torch.zeros(block.num_columns, dtype=torch.float64)

    def decomposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """All eigenvalues of G, falling, their vectors (columns, n), and G times these."""
        root = self.root()
        with one_thread():
            _, singular, vectors = torch.linalg.svd(root, full_matrices=False)
        energies = singular.square()
        kept = max(int((energies > ROUND_OFF * energies[0]).sum()), 1)
        energies, vectors = energies[:kept].clamp(min=1e-300), vectors[:kept].T
        return energies, vectors, vectors * energies

    def leading(self, rank: int) -> tuple[Tensor, Tensor, Tensor]:
        """The leading ones of these, found by passes over the points."""
        count = self.block.num_columns
        generator = torch.Generator().manual_seed(0)
        subspace = torch.randn(count, rank, dtype=torch.float64, generator=generator)
        for dtype in PASSES:
            subspace, sizes = torch.linalg.qr(self.applied(subspace, dtype))
        # Directions that nothing is left along cost a pass as much as any.
        turned, sizes, _ = torch.linalg.svd(sizes)
        subspace = subspace @ turned[:, sizes > SUMMED_ROUND_OFF * sizes[0]]
        image = self.applied(subspace)
        energies, vectors = torch.linalg.eigh(subspace.T @ image)
        energies, vectors = _falling(energies, vectors)
        return energies, subspace @ vectors, image @ vectors

    def root(self) -> Tensor:
        """R (n, columns) with RᵀR = G."""
        count = self.block.num_columns
        found = torch.zeros(0, count, dtype=torch.float64)
        energy = torch.zeros(2, dtype=torch.float64)
        cross = torch.zeros_like(self.cross)
        for columns, mean in _departures(self.block, self.centred):
            found = torch.cat([found, columns])
            if len(found) > count:
                found = torch.linalg.qr(found, mode="r").R
            cross.addmv_(columns.T, mean)
            energy += torch.stack([columns.square().sum(), mean.square().sum()])
        self.block.team.add_up(energy, cross)
        self.energy, self.mean_energy = energy.tolist()
        self.cross = cross
        return self.block.team.gather(found)

    def applied(self, subspace: Tensor, dtype: torch.dtype = torch.float64) -> Tensor:
        """G Ω for Ω (columns, n), to the precision of `dtype`."""
        subspace = subspace.to(dtype)
        total = torch.zeros_like(subspace)
        energy = torch.zeros(2, dtype=dtype)
        cross = torch.zeros_like(subspace[:, 0])
        for columns, mean in _departures(self.block, self.centred, dtype):
            total.addmm_(columns.T, columns @ subspace)
            cross.addmv_(columns.T, mean)
            energy += torch.stack([columns.square().sum(), mean.square().sum()])
        self.block.team.add_up(total, energy, cross)
        self.energy, self.mean_energy = energy.tolist()
        self.cross = cross.double()
        return total.double()


def _falling(energies: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """From eigh's order to falling eigenvalues, without those that are round-off."""
    energies, vectors = energies.flip(0), vectors.flip(1)
    kept = max(int((energies > SUMMED_ROUND_OFF * energies[0]).sum()), 1)
    return energies[:kept].clamp(min=1e-300), vectors[:, :kept]


def _departures(
    block: AnyBlock, centred: bool, dtype: torch.dtype = torch.float64
) -> Iterator[tuple[Tensor, Tensor]]:
    """Columns about the mean, and the mean, at some points after the others."""
    for chunk in block.chunks(max(BYTES_AT_ONCE // (8 * block.num_columns), 64)):
        columns = chunk.values.to("cpu", dtype)
        mean = columns.mean(1) if centred else columns.new_zeros(len(columns))
        yield columns - mean[:, None], mean


def _factor_block(block: AnyBlock, vectors: Tensor, *, centred: bool) -> AnyBlock:
    """[F, μ] as a block on the same points, with F = U' vectors."""
    parts = (
        torch.cat([columns @ vectors, mean[:, None]], dim=1)
        for columns, mean in _departures(block, centred)
    )
    return _stored_columns(block, parts, vectors.shape[1])


def _changed(block: AnyBlock, change: Tensor, shift: Tensor) -> Iterator[Tensor]:
    """[F change, μ + F shift] of a block [F, μ], at some points after the others."""
    for chunk in block.chunks(max(BYTES_AT_ONCE // (8 * block.num_columns), 64)):
        columns = chunk.values.to("cpu", torch.float64)
        factor, mean = columns[:, :-1], columns[:, -1:]
        yield torch.cat([factor @ change, mean + factor @ shift[:, None]], dim=1)


def _stored_columns(block: AnyBlock, parts: Iterator[Tensor], kept: int) -> AnyBlock:
    """Columns [F, μ] where those of `block` are, in memory or on disk."""
    loading = torch.zeros(kept + 1, dtype=block.dtype, device=block.device)
    loading[-1] = 1
    if isinstance(block, StoredBlock):
        store = ColumnStore(block.num_points, kept + 1, block.store.folder, block.tile)
        point = 0
        for part in parts:
            store.write(0, point, part.T.to(torch.float32).numpy())
            point += len(part)
        return replace(block.on_store(store), loading=loading)
    assert isinstance(block, Block)
    snapshots = torch.arange(kept + 1, device=block.device)
    values = torch.cat(list(parts)).to(block.values)
    return replace(block, values=values, snapshots=snapshots, num_channels=1, loading=loading)
