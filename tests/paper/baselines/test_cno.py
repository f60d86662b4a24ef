"""Resampling and the activation between, against a grid so fine that aliases do not matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from grids import noise, on_box
from torch import nn
from torch.nn.functional import leaky_relu

from smore.errors import DataError
from smore_paper.baselines.cno import CNO, SLOPE, Activation
from smore_paper.baselines.resampling import Resample


def waves(rows: int, columns: int, highest: int, *, seed: int = 0) -> torch.Tensor:
    """(2, rows, columns) fields with wavenumbers up to `highest`, the same on every grid."""
    stream = np.random.default_rng(seed)
    x, y = (2 * np.pi * np.arange(size) / size for size in (rows, columns))
    field = np.zeros((2, rows, columns))
    for k in range(-highest, highest + 1):
        for m in range(highest + 1):
            phase = stream.uniform(0, 2 * np.pi, size=(2, 1, 1))
            field += stream.normal(size=(2, 1, 1)) * np.cos(k * x[:, None] + m * y + phase)
    return torch.from_numpy(field).float()


@pytest.mark.parametrize(
    ("shape_in", "shape_out"), [((16, 16), (32, 32)), ((32, 16), (16, 16)), ((16, 20), (24, 64))]
)
def test_resampling_is_exact_for_band_limited_fields(shape_in, shape_out):
    resampled = Resample(shape_in, shape_out)(waves(*shape_in, 7))
    torch.testing.assert_close(resampled, waves(*shape_out, 7), rtol=1e-4, atol=1e-4)


def test_resampling_removes_what_the_coarse_grid_cannot_hold():
    everything, low = waves(64, 64, 20), Resample((64, 64), (16, 16))(waves(64, 64, 20))
    spectrum = torch.fft.fft2(everything, norm="forward")
    kept = torch.fft.fft2(low, norm="forward")
    for k in (0, 3, -7):
        for m in (0, 5, 7, -6):
            torch.testing.assert_close(kept[:, k, m], spectrum[:, k, m], rtol=1e-3, atol=1e-4)
    assert kept[:, 8].abs().max() < 1e-4


def test_products_between_refining_and_coarsening_have_no_aliases():
    """A square doubles the band, and twice as fine a grid holds all of it."""
    refine, coarsen = Resample((16, 16), (32, 32)), Resample((32, 32), (16, 16))
    product = coarsen(refine(waves(16, 16, 7)) ** 2)
    oracle = Resample((256, 256), (16, 16))(waves(256, 256, 7) ** 2)
    torch.testing.assert_close(product, oracle, rtol=1e-3, atol=1e-3)
    pointwise = Resample((32, 32), (16, 16))(Resample((16, 16), (32, 32))(waves(16, 16, 7) ** 2))
    assert (pointwise - oracle).std() > 0.1 * oracle.std()


@pytest.mark.parametrize("size_out", [8, 16, 32])
def test_the_activation_adds_next_to_no_aliases(size_out):
    """A kink makes all wavenumbers, the high ones weak: what is left of aliases is small."""
    torch.manual_seed(0)
    activation = Activation(2, (16, 16), (size_out, size_out))
    nn.init.normal_(activation.bias)
    fine = leaky_relu(waves(512, 512, 7) + activation.bias, SLOPE)
    oracle = Resample((512, 512), (size_out, size_out))(fine)
    error = (activation(waves(16, 16, 7)) - oracle).std()
    pointwise = leaky_relu(waves(16, 16, 7) + activation.bias, SLOPE)
    aliased = Resample((32, 32), (size_out, size_out))(Resample((16, 16), (32, 32))(pointwise))
    assert error < 0.03 * oracle.std()
    assert error < 0.2 * (aliased - oracle).std()


def test_a_grid_that_cannot_be_halved_is_refused():
    with pytest.raises(DataError, match="8 divides"):
        CNO(3, 1, 1, 4).fit(on_box(noise(1, 2, 1, 20, 24)), seed=0, epochs=1)
