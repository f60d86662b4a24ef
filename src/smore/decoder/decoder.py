"""What every decoder is to the rest of smore: any coordinates -> (offset, modes)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from torch import Tensor, nn

from smore.data import Block, with_channel
from smore.decoder.basis import Basis


class Decoder(nn.Module, ABC):
    """The contract: offset and modes at any coordinates are features there times a matrix.

    Latents are *shared*, a code for every channel and the same modes for all, or *joint*, one code
    for all channels and modes for each. A joint decoder takes the number of a channel as a last
    coordinate, so that sums over points are sums over channels too.

    Attributes:
        latent_dim: p, length of a code.
        coordinate_dim: d, coordinates of a point.
        num_outputs: channels that have modes of their own; 1 if they are shared.
    """

    latent_dim: int
    coordinate_dim: int
    num_outputs: int = 1

    @abstractmethod
    def basis(self, coords: Tensor) -> Basis:
        """The affine basis at `coords` (points, d), with its graph; joint: (points, d + 1)."""

    @abstractmethod
    def change_gauge(self, matrix: Tensor, shift: Tensor) -> None:
        """Let z = matrix y + shift and make this decoder a function of y, in place.

        Args:
            matrix: (p, p) float64, invertible.
            shift: (p,) float64.
        """

    @property
    def joint(self) -> bool:
        """Whether all channels share one code."""
        return self.num_outputs > 1

    def num_codes(self, num_channels: int) -> int:
        """Codes of a snapshot."""
        return 1 if self.joint else num_channels

    def channel_bases(self, coords: Tensor, num_channels: int) -> list[Basis]:
        """The basis of every channel at `coords` (points, d)."""
        if not self.joint:
            return [self.basis(coords)] * num_channels
        return [self.basis(with_channel(coords, number)) for number in range(num_channels)]

    def parts(self, chunk: Block) -> Iterator[tuple[Basis, Block]]:
        """A chunk in parts whose columns have one basis, channel after channel.

        Stacked ones, whose coordinates name their channel already, are one part.
        """
        if not self.joint or chunk.coords.shape[1] > self.coordinate_dim:
            yield self.basis(chunk.coords), chunk
            return
        for number in range(chunk.num_channels):
            part = chunk.channel(number)
            yield self.basis(part.coords), part


def per_channel(latents: Tensor, num_channels: int) -> Tensor:
    """The code of every channel, (..., channels, p), from shared or joint ones (..., codes, p)."""
    return latents.expand(*latents.shape[:-2], num_channels, latents.shape[-1])
