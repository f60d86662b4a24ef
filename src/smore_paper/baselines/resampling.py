"""From one periodic grid to another, exactly for what both can hold."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

Shape = tuple[int, int]


class Resample(nn.Module):
    """Trigonometric interpolation of fields (..., *shape_in) to (..., *shape_out).

    Wavenumbers up to below half the smaller size are kept, others removed; an axis that keeps its
    size is left alone. As two matrix products it is faster on these grids than by FFT.
    """

    rows: Tensor | None
    columns: Tensor | None

    def __init__(self, shape_in: Shape, shape_out: Shape) -> None:
        super().__init__()
        for name, size_in, size_out in zip(("rows", "columns"), shape_in, shape_out, strict=True):
            matrix = None if size_in == size_out else interpolation_matrix(size_in, size_out)
            self.register_buffer(name, matrix, persistent=False)

    def forward(self, fields: Tensor) -> Tensor:
        if self.rows is not None:
            fields = self.rows @ fields
        if self.columns is not None:
            fields = fields @ self.columns.T
        return fields


@cache
def interpolation_matrix(size_in: int, size_out: int) -> Tensor:
    """(size_out, size_in): Σ_|k|<n/2 exp(2πi k (j / size_out - i / size_in)) / size_in.

    n is the smaller of both sizes. The highest wavenumber of an even grid is left out: half of it
    cannot be seen there.
    """
    highest = (min(size_in, size_out) - 1) // 2
    shift = np.subtract.outer(np.arange(size_out) / size_out, np.arange(size_in) / size_in)
    waves = np.arange(1, highest + 1)
    matrix = (1 + 2 * np.cos(2 * np.pi * shift[..., None] * waves).sum(-1)) / size_in
    return torch.from_numpy(matrix).float()
