"""Convolutional neural operator (Raonić et al. 2023): a U-Net that respects band limits.

A pointwise nonlinearity makes frequencies that the grid cannot hold, and they come back as aliases.
So every activation works on a grid twice as fine, and what the coarse grid cannot hold is cut off
before going back. The published network resamples by windowed sinc filters; here sampling is exact,
by trigonometric interpolation. As published, convolutions see zeros beyond the edge of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from smore.errors import DataError
from smore_paper.baselines.grid import Grid
from smore_paper.baselines.resampling import Resample, Shape
from smore_paper.baselines.rollout_operator import RolloutOperator

LIFT_WIDTH = 64  # channels between the two convolutions of lift and projection
OVERSAMPLING = 2
SLOPE = 0.2  # of the leaky ReLU left of zero


@dataclass(eq=False)
class CNO(RolloutOperator):
    """The original network, on a square grid and without coordinates, as in the paper.

    A grid that is not square is resampled to a square one with as many points as it has along its
    shorter side, and back.

    Batch normalisation looks at all windows of a batch, which must therefore be rolled out at once.

    Args:
        num_levels: times the grid is halved.
        num_residual: residual blocks per level.
        num_neck: residual blocks on the coarsest grid.
        multiplier: channels on the first halved grid; half of that before, doubled at each level.
        batch_size, device: as in `RolloutOperator`.
    """

    name = "CNO"
    num_levels: int
    num_residual: int
    num_neck: int
    multiplier: int

    def build(self, grid: Grid, num_channels: int) -> nn.Module:
        side = min(grid.shape)
        if side % 2**self.num_levels:
            raise DataError(
                f"a grid that is halved {self.num_levels} times needs a shorter side that "
                f"{2**self.num_levels} divides, got {grid.shape}; use fewer levels or another grid"
            )
        widths = [self.multiplier // 2, *(self.multiplier * 2**i for i in range(self.num_levels))]
        square = (side, side)
        return nn.Sequential(
            Resample(grid.shape, square),
            UShape(num_channels, square, widths, self.num_residual, self.num_neck),
            Resample(square, grid.shape),
        )


class UShape(nn.Module):
    """Lift, down to the neck, up again with what each level left behind, projection.

    Args:
        num_channels: of the fields.
        shape: of the grid.
        widths: channels on the grid, on the grid halved once, and so on.
        num_residual: residual blocks per level.
        num_neck: residual blocks on the coarsest grid.
    """

    def __init__(
        self,
        num_channels: int,
        shape: Shape,
        widths: list[int],
        num_residual: int,
        num_neck: int,
    ) -> None:
        super().__init__()
        shapes = [(shape[0] >> level, shape[1] >> level) for level in range(len(widths))]
        levels = range(len(widths) - 1)
        neck_width, neck_shape = widths[-1], shapes[-1]
        self.lift = _lift(num_channels, widths[0], shape)
        self.beside = nn.ModuleList(
            _residuals(widths[level], shapes[level], num_residual) for level in levels
        )
        self.down = nn.ModuleList(
            _block(widths[level], widths[level + 1], shapes[level], shapes[level + 1])
            for level in levels
        )
        self.neck = nn.Sequential(
            _residuals(neck_width, neck_shape, num_neck),
            _block(neck_width, neck_width, neck_shape, neck_shape),
        )
        self.across = nn.ModuleList(
            _block(widths[level], widths[level], shapes[level], shapes[level]) for level in levels
        )
        self.up = nn.ModuleList(self._up(level, widths, shapes) for level in levels)
        self.project = _lift(2 * widths[0], num_channels, shape)

    @staticmethod
    def _up(level: int, widths: list[int], shapes: list[Shape]) -> nn.Module:
        """From grid `level + 1`, which above the neck carries twice its channels, to `level`."""
        above_neck = level + 2 < len(widths)
        width = widths[level + 1] * (2 if above_neck else 1)
        below = shapes[level + 1]
        return nn.Sequential(
            _block(width, width, below, below),
            _block(width, widths[level], below, shapes[level]),
        )

    def forward(self, fields: Tensor) -> Tensor:
        v = self.lift(fields)
        left_behind = []
        for beside, across, down in zip(self.beside, self.across, self.down, strict=True):
            left_behind.append(across(beside(v)))
            v = down(v)
        v = self.neck(v)
        for up, skip in zip(reversed(self.up), reversed(left_behind), strict=True):
            v = torch.cat([up(v), skip], dim=1)
        return self.project(v)


def _block(width_in: int, width_out: int, shape_in: Shape, shape_out: Shape) -> nn.Module:
    """Convolution, batch normalisation, activation that ends on the grid `shape_out`."""
    return nn.Sequential(
        _convolution(width_in, width_out),
        nn.BatchNorm2d(width_out),
        Activation(width_out, shape_in, shape_out),
    )


def _lift(width_in: int, width_out: int, shape: Shape) -> nn.Module:
    """Two convolutions with an activation between, without normalisation."""
    return nn.Sequential(
        _convolution(width_in, LIFT_WIDTH),
        Activation(LIFT_WIDTH, shape, shape),
        _convolution(LIFT_WIDTH, width_out),
    )


def _residuals(width: int, shape: Shape, number: int) -> nn.Module:
    return nn.Sequential(*(Residual(width, shape) for _ in range(number)))


def _convolution(width_in: int, width_out: int) -> nn.Module:
    return nn.Conv2d(width_in, width_out, 3, padding=1)


class Residual(nn.Module):
    """v + B(v), where B is convolution, activation, convolution, each convolution normalised."""

    def __init__(self, width: int, shape: Shape) -> None:
        super().__init__()
        self.branch = nn.Sequential(
            _block(width, width, shape, shape),
            _convolution(width, width),
            nn.BatchNorm2d(width),
        )

    def forward(self, v: Tensor) -> Tensor:
        return v + self.branch(v)


class Activation(nn.Module):
    """Leaky ReLU of v + bias on a grid twice as fine as the finer of `shape_in`, `shape_out`."""

    def __init__(self, width: int, shape_in: Shape, shape_out: Shape) -> None:
        super().__init__()
        rows, columns = (
            OVERSAMPLING * max(sizes) for sizes in zip(shape_in, shape_out, strict=True)
        )
        self.bias = nn.Parameter(torch.zeros(width, 1, 1))
        self.refine = Resample(shape_in, (rows, columns))
        self.coarsen = Resample((rows, columns), shape_out)

    def forward(self, v: Tensor) -> Tensor:
        return self.coarsen(leaky_relu(self.refine(v + self.bias), SLOPE))
