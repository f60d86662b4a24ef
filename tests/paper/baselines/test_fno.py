"""The planar spectral layer against the definition of a convolution, at any resolution."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from grids import noise, on_box

from smore.errors import DataError
from smore_paper.baselines.fno import FNO, FourierLayer

WIDTH, MODES = 3, 4


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return FourierLayer(WIDTH, MODES)


def band_limited(rows: int, columns: int, *, seed: int = 0) -> torch.Tensor:
    """(2, WIDTH, rows, columns) fields with wavenumbers below MODES, the same on every grid."""
    stream = np.random.default_rng(seed)
    x, y = (2 * np.pi * np.arange(size) / size for size in (rows, columns))
    field = np.zeros((2, WIDTH, rows, columns))
    for k in range(-MODES + 1, MODES):
        for m in range(MODES):
            phase = stream.uniform(0, 2 * np.pi, size=(2, WIDTH, 1, 1))
            amplitude = stream.normal(size=(2, WIDTH, 1, 1))
            field += amplitude * np.cos(k * x[:, None] + m * y + phase)
    return torch.from_numpy(field).float()


def test_band_limited_input_gives_the_same_output_at_another_resolution(layer):
    coarse, fine = layer(band_limited(16, 24)), layer(band_limited(48, 48))
    torch.testing.assert_close(coarse, fine[..., ::3, ::2], rtol=1e-4, atol=1e-5)


def test_weight_gradients_are_the_same_at_another_resolution(layer):
    gradients = []
    for shape in ((24, 24), (40, 36)):
        loss = layer(band_limited(*shape)).square().mean()  # a mean without aliases
        gradients.append(torch.autograd.grad(loss, layer.weights)[0])
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-6)


def test_layer_equals_the_sum_over_wavenumbers(layer):
    """out(x) = Re Σ_k R_k c_k e^{ikx}, each k ≠ 0 along the columns with its mirror image."""
    v = torch.randn(2, WIDTH, 10, 12)
    x, y = (2 * np.pi * np.arange(size) / size for size in (10, 12))
    expected = np.zeros((2, WIDTH, 10, 12))
    blocks = layer.weights.detach().numpy()
    for k in range(-MODES, MODES):
        for m in range(MODES):
            wave = np.exp(1j * (k * x[:, None] + m * y))
            coefficient = (v.numpy() * wave.conj()).mean((-2, -1))
            weights = blocks[0, :, :, k, m] if k >= 0 else blocks[1, :, :, k, m]
            term = (coefficient @ weights)[..., None, None] * wave
            expected += (1 if m == 0 else 2) * term.real
    torch.testing.assert_close(layer(v).detach().numpy(), expected.astype(np.float32))


def test_layer_commutes_with_shifts(layer):
    v = torch.randn(2, WIDTH, 10, 12)
    shifted = layer(v.roll((3, 5), (-2, -1)))
    torch.testing.assert_close(shifted, layer(v).roll((3, 5), (-2, -1)), rtol=1e-4, atol=1e-6)


def test_too_coarse_a_grid_is_refused():
    with pytest.raises(DataError, match="12 Fourier modes need at least 24"):
        FNO(12, 4, 1).fit(on_box(noise(1, 2, 1, 32, 20)), seed=0, epochs=1)
