"""Compression against a singular value decomposition of everything at once."""

import numpy as np
import pytest
import torch

from smore.data import Block
from smore.training.decoder import compression
from smore.training.decoder.compression import compress

DIM = 4


def block_of(points, columns, rank, channels=1):
    """Columns of some rank about a mean that is not zero."""
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(points, rank, generator=generator, dtype=torch.float64)
    fall = 0.7 ** torch.arange(rank, dtype=torch.float64)
    values = (values * fall) @ torch.randn(rank, columns, generator=generator).double()
    return Block(
        coords=torch.rand(points, 2, generator=generator, dtype=torch.float64) / 2,
        weights=torch.ones(points, dtype=torch.float64),
        values=values + torch.linspace(1, 3, points, dtype=torch.float64)[:, None],
        snapshots=torch.arange(columns // channels),
        num_channels=channels,
    )


@pytest.fixture(params=["formed", "applied"])
def gram(request, monkeypatch):
    """The Gram matrix formed, or only applied to a subspace."""
    if request.param == "applied":
        monkeypatch.setattr(compression, "FEW_COLUMNS", 1)
        monkeypatch.setattr(compression, "FEW_TIMES", 0)
        monkeypatch.setattr(compression, "BYTES_AT_ONCE", 2**16)  # several chunks of points


@pytest.mark.usefixtures("gram")
@pytest.mark.parametrize("centred", [True, False])
def test_the_factor_is_that_of_a_singular_value_decomposition(centred):
    block = block_of(points=300, columns=400, rank=12)
    small = compress(block, DIM, centred=centred)
    mean = block.values.mean(1) if centred else torch.zeros(300, dtype=torch.float64)
    departures = block.values - mean[:, None]
    left, singular, _ = np.linalg.svd(departures.numpy(), full_matrices=False)
    rank = len(small.energies)
    np.testing.assert_allclose(small.energies, singular[:rank] ** 2 / 400, rtol=1e-8)
    torch.testing.assert_close(small.block.values[:, -1], mean)
    factor = small.block.values[:, :-1]
    best = torch.as_tensor((left[:, :rank] * singular[:rank] ** 2) @ left[:, :rank].T)
    torch.testing.assert_close(factor @ factor.T, best / 400, rtol=1e-6, atol=1e-8)
    # Every column in the directions of the factor.
    directions = factor / small.energies.sqrt()
    torch.testing.assert_close(small.coordinates, departures.T @ directions, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(small.mean, directions.T @ mean, rtol=1e-6, atol=1e-7)
    outside = float((mean - directions @ small.mean).norm())
    assert small.mean_outside == pytest.approx(outside, abs=1e-6)


@pytest.mark.usefixtures("gram")
def test_the_pod_limit_is_what_the_best_basis_leaves_out():
    block = block_of(points=200, columns=300, rank=12)
    small = compress(block, DIM)
    singular = np.linalg.svd(
        (block.values - block.values.mean(1, keepdim=True)).numpy(), compute_uv=False
    )
    expected = (singular[DIM:] ** 2).sum() / 300 / 200
    assert small.pod_limit(DIM) == pytest.approx(expected, rel=1e-8)
    kept = len(small.energies)
    assert small.rest == pytest.approx((singular[kept:] ** 2).sum() / 300 / 200, abs=1e-12)
    assert small.rest <= 1e-3 * small.pod_limit(DIM)


def test_what_a_subspace_does_not_hold_is_known_to_be_left_out(monkeypatch):
    """A spectrum that goes on beyond the rank: little is lost of what leads, and sums add up."""
    monkeypatch.setattr(compression, "FEW_COLUMNS", 1)
    monkeypatch.setattr(compression, "FEW_TIMES", 0)
    monkeypatch.setattr(compression, "_most_columns", lambda _: 30)
    generator = torch.Generator().manual_seed(4)
    fall = 0.85 ** torch.arange(60, dtype=torch.float64)
    values = torch.linalg.qr(torch.randn(80, 60, generator=generator).double())[0] * fall
    values = values @ torch.randn(60, 500, generator=generator).double()
    block = block_of(points=80, columns=500, rank=1)
    block.values.copy_(values)
    small = compress(block, DIM)
    departures = values - values.mean(1, keepdim=True)
    total = float(small.energies.sum()) + small.left_out
    assert total == pytest.approx(float(departures.square().sum()) / 500, rel=1e-12)
    exact = torch.linalg.svdvals(departures).square() / 500
    torch.testing.assert_close(small.energies[:15], exact[:15], rtol=1e-4, atol=0)


def test_constant_columns_have_one_direction_at_most():
    block = block_of(points=50, columns=20, rank=1)
    block.values.copy_(torch.linspace(0, 1, 50, dtype=torch.float64)[:, None].expand(50, 20))
    small = compress(block, DIM)
    assert len(small.energies) <= 1
    assert small.pod_limit(0) == pytest.approx(0.0, abs=1e-28)


def test_some_points_are_a_sample_of_all():
    compressed = compress(block_of(600, 40, 12), DIM)
    some = compressed.sampled(200)
    assert some.block.num_points == some.total_points == 200
    assert some.rest == pytest.approx(compressed.rest)
    places = {tuple(each): row for row, each in enumerate(compressed.block.coords.tolist())}
    rows = [places[tuple(each)] for each in some.block.coords.tolist()]
    torch.testing.assert_close(some.block.values, compressed.block.values[rows], rtol=0, atol=0)
    assert compressed.sampled(600) is compressed
