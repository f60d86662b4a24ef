"""Transolver (Wu et al. 2024): attention between slices of a field rather than between its points.

Each point belongs to a few learned slices, by weights w_ig with Σ_g w_ig = 1. A slice is summed up
in one token, t_g = Σ_i w_ig v_i / Σ_i w_ig; tokens attend to each other; and each point reads them
back, Σ_g w_ig t_g. The cost is linear in the number of points.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from smore_paper.baselines.grid import Grid
from smore_paper.baselines.rollout_operator import AppendCoordinates, RolloutOperator

NUM_HEADS = 8
MLP_RATIO = 2
KERNEL_SIZE = 3
INITIAL_TEMPERATURE = 0.5
TEMPERATURE_RANGE = (0.1, 5.0)
EMPTY_SLICE = 1e-5  # added to Σ_i w_ig, which a slice without points has near zero
WEIGHT_DEVIATION = 0.02  # of initial weights, as in vision transformers


@dataclass(eq=False)
class Transolver(RolloutOperator):
    """The variant for structured 2-D grids, where points enter slices by 3 x 3 convolutions.

    Args:
        num_layers: attention blocks.
        width: channels inside.
        num_slices: slices per head.
        batch_size, windows_at_once, device: as in `RolloutOperator`. The slice weights of all
            points, heads, layers and steps are kept for the gradient: gigabytes per window.
    """

    name = "Transolver"
    num_layers: int
    width: int
    num_slices: int
    windows_at_once: int | None = field(default=1, kw_only=True)

    def build(self, grid: Grid, num_channels: int) -> nn.Module:
        return SliceTransformer(grid, num_channels, self.width, self.num_layers, self.num_slices)


class SliceTransformer(nn.Module):
    """Coordinates appended, embedding, attention blocks, projection."""

    def __init__(
        self, grid: Grid, num_channels: int, width: int, num_layers: int, num_slices: int
    ) -> None:
        super().__init__()
        self.append = AppendCoordinates(grid)
        self.embed = _perceptron(num_channels + len(grid.coordinates), width)
        self.blocks = nn.Sequential(*(Block(width, num_slices) for _ in range(num_layers)))
        self.project = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, num_channels))
        self.apply(_small_weights)
        self.placeholder = nn.Parameter(torch.rand(width) / width)

    def forward(self, fields: Tensor) -> Tensor:
        # Channels last: linear layers and normalisation act on them at every point.
        points = self.append(fields).permute(0, 2, 3, 1)
        v = self.blocks(self.embed(points) + self.placeholder)
        return self.project(v).permute(0, 3, 1, 2)


class Block(nn.Module):
    """v + attention(v), then v + MLP(v), each after layer normalisation."""

    def __init__(self, width: int, num_slices: int) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), PhysicsAttention(width, num_slices))
        self.perceptron = nn.Sequential(nn.LayerNorm(width), _perceptron(width, width))

    def forward(self, v: Tensor) -> Tensor:
        v = v + self.attention(v)
        return v + self.perceptron(v)


class PhysicsAttention(nn.Module):
    """Attention between slices, (batch, rows, columns, width) -> the same.

    Args:
        width: channels; each of the heads has width // heads of its own.
        num_slices: slices per head.
        kernel_size: of the convolutions through which a point sees its neighbours; with 1 they are
            linear maps, and points have no order.
    """

    def __init__(self, width: int, num_slices: int, kernel_size: int = KERNEL_SIZE) -> None:
        super().__init__()
        head = width // NUM_HEADS
        inner = NUM_HEADS * head
        self.place, self.value = (
            nn.Conv2d(width, inner, kernel_size, padding=kernel_size // 2) for _ in range(2)
        )
        self.slice = nn.Linear(head, num_slices)
        self.temperature = nn.Parameter(torch.full((NUM_HEADS, 1, 1), INITIAL_TEMPERATURE))
        self.query, self.key, self.answer = (nn.Linear(head, head, bias=False) for _ in range(3))
        self.out = nn.Linear(inner, width)

    def forward(self, v: Tensor) -> Tensor:
        images = v.permute(0, 3, 1, 2)
        place, value = _heads(self.place(images)), _heads(self.value(images))
        # By their last channel, a one, products with these also add the bias and sum the weights:
        # half the time of passes of their own over all points and slices.
        scores = torch.cat([self.slice.weight, self.slice.bias[:, None]], dim=1)
        scores = scores / self.temperature.clamp(*TEMPERATURE_RANGE)
        weights = (scores @ place).softmax(-2)
        sums = weights @ value.mT
        tokens = sums[..., :-1] / (sums[..., -1:] + EMPTY_SLICE)
        tokens = scaled_dot_product_attention(
            self.query(tokens), self.key(tokens), self.answer(tokens)
        )
        points = (tokens.mT @ weights).flatten(1, 2).mT
        return self.out(points).unflatten(1, v.shape[1:3])


def _heads(images: Tensor) -> Tensor:
    """(batch, heads · c, rows, columns) -> (batch, heads, c + 1, points), a one at the end."""
    return pad(images.unflatten(1, (NUM_HEADS, -1)).flatten(3), (0, 0, 0, 1), value=1.0)


def _perceptron(width_in: int, width: int) -> nn.Module:
    hidden = MLP_RATIO * width
    return nn.Sequential(nn.Linear(width_in, hidden), nn.GELU(), nn.Linear(hidden, width))


def _small_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=WEIGHT_DEVIATION)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
