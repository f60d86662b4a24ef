"""Points with the decoder's basis kept: fields and error bars there are matrix products."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Mesh, with_channel
from smore.decoder import Basis
from smore.explore._flow import Flow
from smore.inference import LatentPrior, WhitenedPosterior
from smore.surrogate import Surrogate

# Tables that are kept at once, for each channel; a new time takes two.
MOST_KEPT = 8
# Points that can afford error bars without rounding.
FEW = 16


class Places:
    """Some points, and what a model says there.

    Args:
        surrogate: the model.
        mesh: the points.
        unknown: (points,) where nothing is to be said, beside what the model does not know.
    """

    def __init__(
        self,
        surrogate: Surrogate,
        mesh: Mesh,
        unknown: NDArray[np.bool_] | None = None,
    ) -> None:
        self.surrogate, self.mesh = surrogate, mesh
        known = surrogate.seen_on(mesh)
        shape = (surrogate.num_channels, mesh.num_points)
        self.known = np.ones(shape, dtype=bool) if known is None else known.copy()
        if unknown is not None:
            self.known &= ~unknown
        self._kept: OrderedDict[Hashable, Tensor] = OrderedDict()
        self._bases: dict[int, Basis] = {}

    def field(self, channel: int, states: Tensor) -> NDArray[np.float32]:
        """Fields (..., points) of states (..., r) in the data's units, NaN where unknown."""
        basis, told = self._basis(channel), self.surrogate.description.normalization
        codes = states[..., self.part(channel)].to(basis.modes)
        fields = basis.decode(codes).cpu().numpy()
        scale, shift = (
            np.asarray(each[channel], fields.dtype) for each in (told.scale, told.shift)
        )
        return self._blanked(channel, fields * scale + shift)

    def departure(self, channel: int, directions: Tensor) -> NDArray[np.float32]:
        """What directions (..., r) of the state change, (..., points) in the data's units."""
        modes = self._basis(channel).modes
        fields = (directions[..., self.part(channel)].to(modes) @ modes.T).cpu().numpy()
        return self._blanked(channel, fields * self._scale(channel))

    def deviation(
        self, channel: int, known: WhitenedPosterior, flow: Flow, step: int, growth: Tensor
    ) -> NDArray[np.float32]:
        """Standard deviations (points,) of a forecast, in the data's units.

        Args:
            channel: which.
            known: the initial state.
            flow: from there.
            step: how far.
            growth: see `LatentState`.
        """
        key = (channel, flow, step, known.prior)
        rows = self._kept_or(
            ("moved", *key), lambda: self._seen(channel, flow.moved[step], known.prior.factor)
        )
        if len(rows) > FEW:
            squares = self._kept_or(("squares", *key), lambda: rows.square().sum(1))
            variance = known.variances(rows, squares)
        else:
            variance = known.rooted(rows).square().sum(1)
        which, part = min(step, len(flow.patterns) - 1), self.part(channel)
        pattern = self._kept_or(
            ("pattern", channel, flow, which),
            lambda: self._variance(channel, flow.patterns[which][part, part]),
        )
        variance = variance + flow.sizes[step].to(pattern) * pattern
        return self._deviation(channel, variance, growth)

    def deviation_of(self, channel: int, block: Tensor, growth: Tensor) -> NDArray[np.float32]:
        """Standard deviations (points,) of states; `block` (p, p) is that of the channel's code."""
        return self._deviation(channel, self._variance(channel, block), growth)

    def usual_deviation(self, channel: int, growth: Tensor) -> NDArray[np.float32]:
        """Standard deviations (points,) of all training states: nothing is known but the model."""
        return self._deviation(channel, self._usual(channel), growth)

    def root(self, channel: int) -> Tensor:
        """R (p, p) float64: the mean over the domain of (J₀ v)² is ‖R v‖²."""
        return self._kept_or(("root", channel), lambda: self._root(channel))

    def mean(self, channel: int, values: NDArray) -> float:
        """Over the domain, as far as it is known."""
        known = self.known[channel]
        weights = self.mesh.weights[known]
        return float(np.average(values[known], weights=weights)) if known.any() else np.nan

    def missed(self, channel: int, growth: Tensor) -> Tensor:
        """(points,) variance of what the decoder misses, normalised units."""
        error = self.surrogate.error
        floor, share = float(error.floor[channel]), float(error.share[channel])
        return float(growth[channel]) * (floor + share * self._usual(channel))

    def _root(self, channel: int) -> Tensor:
        known = torch.as_tensor(self.known[channel])
        weights = torch.tensor(self.mesh.weights)[known]
        modes = self._basis(channel).modes.cpu()[known].to(torch.float64)
        gram = modes.T @ (modes * (weights / weights.sum())[:, None])
        values, vectors = torch.linalg.eigh(gram)
        return (vectors * values.clamp(min=0).sqrt()).T

    def _deviation(self, channel: int, variance: Tensor, growth: Tensor) -> NDArray[np.float32]:
        total = variance + self.missed(channel, growth).to(variance)
        found = total.clamp(min=0).sqrt().numpy() * self._scale(channel)
        return self._blanked(channel, found)

    def _usual(self, channel: int) -> Tensor:
        prior: LatentPrior = self.surrogate.prior
        return self._kept_or(
            ("usual", channel), lambda: self._seen(channel, prior.factor).square().sum(1)
        )

    def _variance(self, channel: int, block: Tensor) -> Tensor:
        modes = self._basis(channel).modes.to("cpu", torch.float64)
        return ((modes @ block) * modes).sum(1)

    def _seen(self, channel: int, *matrices: Tensor) -> Tensor:
        """J₀ times the rows that the channel sees of a product of matrices: (points, n)."""
        modes = self._basis(channel).modes.to("cpu", torch.float64)
        first, *others = matrices
        product = [modes, first[self.part(channel)], *others]
        return torch.linalg.multi_dot(product)

    @torch.no_grad()
    def _basis(self, channel: int) -> Basis:
        decoder = self.surrogate.decoder
        which = channel if decoder.joint else 0
        if which not in self._bases:
            parts = []
            everywhere = slice(0, self.mesh.num_points)
            for _, coords in self.surrogate.decoder_chunks(self.mesh, everywhere):
                own = with_channel(coords, channel) if decoder.joint else coords
                parts.append(decoder.basis(own))
            self._bases[which] = Basis(
                torch.cat([part.offset for part in parts]),
                torch.cat([part.modes for part in parts]),
            )
        return self._bases[which]

    def part(self, channel: int) -> slice:
        """Where the code of a channel is in a state."""
        size = self.surrogate.decoder.latent_dim
        if self.surrogate.decoder.joint:
            return slice(0, size)
        return slice(channel * size, (channel + 1) * size)

    def _scale(self, channel: int) -> np.float32:
        return np.float32(self.surrogate.description.normalization.scale[channel])

    def _blanked(self, channel: int, fields: NDArray) -> NDArray[np.float32]:
        return np.where(self.known[channel], fields, np.nan).astype(np.float32, copy=False)

    def _kept_or(self, key: Hashable, made: Callable[[], Tensor]) -> Tensor:
        if key not in self._kept:
            self._kept[key] = made()
            while len(self._kept) > MOST_KEPT * max(1, self.surrogate.num_channels):
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
