"""The FiLM-shifted Fourier multiplicative filter network, read as a continuous basis.

With Fourier filters g_l and latent code z the network is (paper, equations mfn-1..3 and film)

    h₀ = g₀(x) ∘ (b₀ + M₀ z)
    h_l = g_l(x) ∘ (W_l h_{l-1} + b_l + M_l z)          l = 1 .. num_hidden
    u(x) = w_out h_last + b_out.

Nothing but products with functions of x ever touches z, so u is affine in z. Running the layers
from the output backwards therefore gives offset and modes at once, for about (1 + p/h) times the
cost of decoding a single snapshot, however many snapshots there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from smore.decoder.basis import Basis
from smore.decoder.decoder import Decoder


class FilterNetwork(Decoder):
    """The paper's decoder; with several outputs, filters and hidden weights are still common.

    Args:
        coordinate_dim: d, the dimension of decoder coordinates.
        latent_dim: p, the length of one component's latent code.
        hidden_dim: h, even, half of it sines and half of it cosines.
        num_hidden: number of hidden linear layers; there is one filter more.
        frequency_scale: w_s; each filter starts with frequencies up to w_s / √(num_hidden + 1).
        generator: the source of the initial weights.
        num_outputs: see `Decoder`; each output has FiLM matrices and biases of its own.
    """

    def __init__(
        self,
        coordinate_dim: int,
        latent_dim: int,
        hidden_dim: int,
        num_hidden: int,
        frequency_scale: float = 64.0,
        generator: torch.Generator | None = None,
        num_outputs: int = 1,
    ) -> None:
        super().__init__()
        self.coordinate_dim, self.latent_dim = coordinate_dim, latent_dim
        self.num_outputs = num_outputs
        outputs = (num_outputs,) if num_outputs > 1 else ()  # (outputs, h, p), or (h, p) of one
        num_filters = num_hidden + 1
        self.filter_scale = frequency_scale / math.sqrt(num_filters)

        def uniform(*shape: int, bound: float) -> nn.Parameter:
            return nn.Parameter((2 * torch.rand(*shape, generator=generator) - 1) * bound)

        per_input, per_hidden = 1 / math.sqrt(coordinate_dim), 1 / math.sqrt(hidden_dim)
        per_code = 1 / math.sqrt(latent_dim)
        self.frequencies = nn.ParameterList(
            uniform(hidden_dim // 2, coordinate_dim, bound=per_input) for _ in range(num_filters)
        )
        self.modulations = nn.ParameterList(
            uniform(*outputs, hidden_dim, latent_dim, bound=per_code) for _ in range(num_filters)
        )
        # The first linear layer's fan-in is d although its weight W₀ is zero and not stored.
        self.biases = nn.ParameterList(
            uniform(*outputs, hidden_dim, bound=per_hidden if layer else per_input)
            for layer in range(num_filters)
        )
        self.weights = nn.ParameterList(
            uniform(hidden_dim, hidden_dim, bound=per_hidden) for _ in range(num_hidden)
        )
        self.output_weight = uniform(hidden_dim, bound=per_hidden)
        self.output_bias = uniform(num_outputs, bound=per_hidden)

    def filter(self, layer: int, coords: Tensor) -> Tensor:
        """g_l(x) = [sin(w_l x), cos(w_l x)]: (points, d) -> (points, h)."""
        phase = coords @ (self.filter_scale * self.frequencies[layer]).T
        return torch.cat([phase.sin(), phase.cos()], dim=-1)

    def sweep(self, coords: Tensor) -> Iterator[tuple[int, Tensor]]:
        """The features y_l(x) (points, h) that the layers see, from the last filter to the first.

        Layer l adds y_l b_l to the offset and y_l M_l to the modes.
        """
        carried: Tensor = self.output_weight
        for layer in reversed(range(len(self.frequencies))):
            features = carried * self.filter(layer, coords)
            yield layer, features
            if layer:
                carried = features @ self.weights[layer - 1]

    def basis(self, coords: Tensor) -> Basis:
        """One reverse sweep from the output layer to the first filter."""
        if self.joint:
            return self._joint_basis(coords)
        offset: Tensor = self.output_bias
        modes: Tensor | None = None
        for layer, features in self.sweep(coords):
            offset = offset + features @ self.biases[layer]
            term = features @ self.modulations[layer]
            modes = term if modes is None else modes + term
        assert modes is not None
        return Basis(offset, modes)

    def _joint_basis(self, coords: Tensor) -> Basis:
        """The same where the last coordinate says which output is meant."""
        number = coords[:, -1].round().long()
        offset = self.output_bias[number]
        modes = coords.new_zeros(len(coords), self.latent_dim)
        for layer, features in self.sweep(coords[:, :-1]):
            for output in range(self.num_outputs):
                rows = number == output
                offset[rows] += features[rows] @ self.biases[layer][output]
                modes[rows] += features[rows] @ self.modulations[layer][output]
        return Basis(offset, modes)

    def features(self, coords: Tensor) -> Tensor:
        """Y(x), the features of all layers side by side: (points, d) -> (points, num_features)."""
        return torch.cat([features for _, features in self.sweep(coords)], dim=1)

    @property
    def num_features(self) -> int:
        return sum(bias.shape[-1] for bias in self.biases)

    @torch.no_grad()
    def set_matrices(self, matrix: Tensor, offset: Tensor, constant: Tensor) -> None:
        """Let J₀ = Y matrix and c₀ = Y offset + constant, for each output.

        Args:
            matrix: (outputs, num_features, p), rows as the columns of `features`.
            offset: (outputs, num_features).
            constant: (outputs,) b_out.
        """
        layers = list(reversed(range(len(self.biases))))
        sizes = [self.biases[layer].shape[-1] for layer in layers]
        for layer, rows, entries in zip(
            layers, matrix.split(sizes, 1), offset.split(sizes, 1), strict=True
        ):
            self.modulations[layer].copy_(rows.view_as(self.modulations[layer]))
            self.biases[layer].copy_(entries.view_as(self.biases[layer]))
        self.output_bias.copy_(constant)

    @torch.no_grad()
    def change_gauge(self, matrix: Tensor, shift: Tensor) -> None:
        """FiLM matrices become M_l A, biases b_l + M_l s."""
        for modulation, bias in zip(self.modulations, self.biases, strict=True):
            old = modulation.to("cpu", torch.float64)
            bias.add_((old @ shift).to(bias))
            modulation.copy_((old @ matrix).to(modulation))
