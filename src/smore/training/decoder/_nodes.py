"""The points of a training mesh as the nodes of a gridded basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from smore.data import BoxMap, Mesh, SphereMap, seen_points
from smore.decoder import GriddedBasis, Interpolation, interpolation_of
from smore.training.decoder.compression import Compressed
from smore.training.preparing import Prepared


@dataclass(frozen=True, eq=False)
class Nodes:
    """Where modes are known, and how they are interpolated.

    Args:
        mesh: the training mesh.
        coordinate_map: from its coordinates to the decoder's.
        seen: (outputs, points) at which training snapshots have values.
        compressed: the snapshots there, a row for every point and output that is seen.
        interpolation: between the points.
    """

    mesh: Mesh
    coordinate_map: BoxMap | SphereMap
    seen: NDArray[np.bool_]
    compressed: Compressed
    interpolation: Interpolation

    @classmethod
    def of(cls, prepared: Prepared, compressed: Compressed, num_outputs: int) -> Nodes | None:
        """None where the mesh does not let itself be interpolated."""
        assert prepared.mesh is not None
        interpolation = interpolation_of(prepared.mesh, prepared.coordinate_map)
        seen = seen_points(prepared.trajectories)
        if num_outputs == 1:
            seen = np.atleast_2d(seen.any(axis=0))
        if interpolation is None or int(seen.sum()) != compressed.total_points:
            return None
        return cls(prepared.mesh, prepared.coordinate_map, seen, compressed, interpolation)

    def decoder(self, latent_dim: int, with_offset: bool) -> GriddedBasis:
        """The best basis of that size, POD, as a decoder; modes have mean square 1."""
        offset, modes = self.values(latent_dim)
        decoder = GriddedBasis(
            self.interpolation, self.coordinate_map.decoder_dim, latent_dim, len(self.seen)
        )
        decoder.set_nodes(offset if with_offset else torch.zeros_like(offset), modes)
        return decoder

    def values(self, latent_dim: int) -> tuple[Tensor, Tensor]:
        """Offset (outputs, points) and modes (outputs, points, p); unseen points as the nearest."""
        points = self.compressed.total_points / len(self.seen)
        scale = points**0.5 / self.compressed.energies[:latent_dim].sqrt()
        rows = []
        for chunk in self.compressed.block.chunks(None):
            columns = chunk.values.to("cpu", torch.float64)
            rows.append(torch.cat([columns[:, -1:], columns[:, :latent_dim] * scale], dim=1))
        table = torch.zeros(*self.seen.shape, latent_dim + 1, dtype=torch.float64)
        # Rows come point by point, outputs of a point one after the other.
        table.transpose(0, 1)[torch.as_tensor(self.seen.T.copy())] = torch.cat(rows)
        places = self.coordinate_map(self.mesh.coords)
        for number, known in enumerate(self.seen):
            if not known.all():
                nearest = cKDTree(places[known]).query(places[~known])[1]
                unseen = torch.as_tensor(~known)
                table[number, unseen] = table[number, ~unseen][torch.as_tensor(nearest)]
        return table[..., 0], table[..., 1:]
