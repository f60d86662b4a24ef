"""Modes known at the points of one mesh, and interpolated in between: a POD basis as a decoder.

Its features are the few functions that an interpolation weighs values by, its matrix the modes at
their places, so that a mesh is decoded as well as any linear basis can; the file holds a number for
every point and mode.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from smore.decoder.basis import Basis
from smore.decoder.decoder import Decoder
from smore.decoder.interpolation import Interpolation

# Points whose weights are made at once.
AT_ONCE = 2**16


class GriddedBasis(Decoder):
    """Offset and modes as coefficients of an interpolation.

    Args:
        interpolation: between the points of the training mesh.
        coordinate_dim: d.
        latent_dim: p.
        num_outputs: see `Decoder`.
    """

    def __init__(
        self,
        interpolation: Interpolation,
        coordinate_dim: int,
        latent_dim: int,
        num_outputs: int = 1,
    ) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.coordinate_dim, self.latent_dim = coordinate_dim, latent_dim
        self.num_outputs = num_outputs
        size = (num_outputs, interpolation.num_coefficients)
        self.offset = nn.Parameter(torch.zeros(size), requires_grad=False)
        self.modes = nn.Parameter(torch.zeros(*size, latent_dim), requires_grad=False)

    def basis(self, coords: Tensor) -> Basis:
        """Weighted sums of the coefficients around each point."""
        parts = [self._basis(some) for some in coords.split(AT_ONCE)]
        return Basis(
            *(torch.cat([getattr(part, name) for part in parts]) for name in ("offset", "modes"))
        )

    def _basis(self, coords: Tensor) -> Basis:
        places = coords[:, : self.coordinate_dim].detach().to("cpu", torch.float64).numpy()
        found, shares = self.interpolation.weights(places)
        used = shares.any(axis=0)  # at points of the mesh only one is
        index = torch.as_tensor(found[:, used]).to(coords.device)
        weight = torch.as_tensor(shares[:, used]).to(self.modes)
        if self.joint:  # coefficients of all outputs one after the other
            number = coords[:, -1].round().long()
            index = index + number[:, None] * self.interpolation.num_coefficients
        offsets, modes = self.offset.flatten(), self.modes.flatten(0, 1)
        offset = (weight * offsets[index]).sum(1)
        total = weight[:, :1] * modes[index[:, 0]]
        for corner in range(1, index.shape[1]):  # one after the other: the modes are the memory
            total = torch.addcmul(total, weight[:, corner, None], modes[index[:, corner]])
        return Basis(offset, total)

    def change_gauge(self, matrix: Tensor, shift: Tensor) -> None:
        """Coefficients are linear in the modes."""
        old = self.modes.to("cpu", torch.float64)
        self.offset.add_((old @ shift).to(self.offset))
        self.modes.copy_((old @ matrix).to(self.modes))

    @torch.no_grad()
    def set_nodes(self, offset: Tensor, modes: Tensor) -> None:
        """Let it have these values at the points of the mesh.

        Args:
            offset: (outputs, nodes) float64.
            modes: (outputs, nodes, p) float64.
        """
        both = torch.cat([offset[..., None], modes], dim=-1)
        for output, values in enumerate(both):
            found = torch.as_tensor(self.interpolation.coefficients(values.numpy()))
            self.offset[output] = found[:, 0].to(self.offset)
            self.modes[output] = found[:, 1:].to(self.modes)

    def bounding(self) -> Iterator[list[Basis]]:
        """Values of every output between which its offset and modes are, everywhere."""
        both = torch.cat([self.offset[..., None], self.modes], dim=-1).to("cpu", torch.float64)
        table = both.transpose(0, 1).flatten(1).numpy()
        for values in self.interpolation.bounding(table):
            each = torch.as_tensor(values).unflatten(1, (self.num_outputs, -1)).unbind(1)
            yield [Basis(output[:, 0], output[:, 1:]) for output in each]
