"""A trained surrogate: what every recipe ends in, whatever it did on the way.

A decoder, dynamics of its latents, the prior of these latents, and a description of what all the
numbers mean to the user. Immutable: training makes it, everything else only asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import AnyBlock, Mesh, Trajectories, align, make_blocks
from smore.decoder import Decoder
from smore.dynamics import LatentDynamics
from smore.inference import (
    LatentPrior,
    ModelError,
)
from smore.stability import Certificate
from smore.surrogate._domain import Domain
from smore.surrogate.description import Description
from smore.surrogate.references import References

# Where the decoder reproduces the training data to round-off, observations are still no better
# than single precision.
LEAST_NOISE = 1e-14
# Points that are decoded at once where the settings do not say.
POINTS_AT_ONCE = 2**14


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Decoder, dynamics, prior, description and certificate of a trained model.

    Args:
        decoder: any coordinates -> (offset, modes).
        dynamics: vector field of the reduced state, in float64 on the CPU: states are small, and
            what is certified is what is iterated.
        priors: distribution of the training latents, and, if there were many, of first ones.
        error: what the model gets wrong even when it knows the state.
        description: settings, units, normalisation, training record.
        mesh: the training mesh, if all sequences shared one of moderate size.
        seen: (channels, points of `mesh`) at which some training snapshot has a value; None where
            that is all of them, or there is no mesh.
        certificate: what has been proved about the dynamics as they are iterated.
        references: what a forecast has to beat, on `mesh`; None where they were not kept.
    """

    decoder: Decoder
    dynamics: LatentDynamics
    priors: tuple[LatentPrior, ...]
    error: ModelError
    description: Description
    mesh: Mesh | None
    seen: NDArray[np.bool_] | None
    certificate: Certificate
    references: References | None = None

    @property
    def prior(self) -> LatentPrior:
        """Distribution of all training latents."""
        return self.priors[0]

    @property
    def least_noise(self) -> Tensor:
        """(channels,) variance of training values about the decoder, normalised units."""
        noise = torch.tensor(self.description.noise_variance, dtype=torch.float64)
        return noise.clamp(min=LEAST_NOISE)

    @property
    def expected_noise(self) -> Tensor:
        """The same of trajectories that were left out."""
        return self.least_noise * torch.tensor(self.description.noise_growth, dtype=torch.float64)

    @property
    def num_channels(self) -> int:
        return len(self.description.channels)

    @cached_property
    def domain(self) -> Domain:
        """Where the model knows anything."""
        told = self.description
        return Domain(self.mesh, self.seen, len(told.channels), told.coordinate_map, told.space)

    def seen_on(self, mesh: Mesh) -> NDArray[np.bool_] | None:
        """(channels, points of `mesh`) where something is known; None for everywhere."""
        return self.domain.known_on(mesh)

    def references_on(self, mesh: Mesh) -> References | None:
        """`references`, if `mesh` has the points of the training mesh."""
        if self.references is None or self.mesh is None or not self.mesh.same_points(mesh):
            return None
        return self.references

    def decoder_chunks(self, mesh: Mesh, points: slice) -> Iterator[tuple[slice, Tensor]]:
        """Slices of a range of points of `mesh`, with their decoder coordinates."""
        size = self.description.settings.chunk_size or POINTS_AT_ONCE
        weight = next(self.decoder.parameters())
        for start in range(points.start, points.stop, size):
            stop = min(start + size, points.stop)
            places = self.description.coordinate_map(mesh.places(slice(start, stop)))
            here = slice(start - points.start, stop - points.start)
            yield here, torch.as_tensor(places).to(weight)

    def warn_outside(self, meshes: Iterable[Mesh]) -> None:
        """Warn about points beyond the domain of the training data."""
        for mesh in {id(mesh): mesh for mesh in meshes}.values():
            self.description.coordinate_map.warn_outside(mesh.reach, self.description.space)
            self.domain.warn_outside(mesh)

    def aligned(self, trajectories: Trajectories) -> Trajectories:
        """`trajectories` with the channels, coordinates and clock of the model."""
        description = self.description
        return align(trajectories, description.channels, description.space, description.clock)

    def blocks(self, trajectories: Trajectories) -> list[AnyBlock]:
        """Aligned trajectories in the decoder's coordinates and units."""
        return make_blocks(
            trajectories,
            self.description.normalization,
            self.description.coordinate_map,
            device=next(self.decoder.parameters()).device,
        )
