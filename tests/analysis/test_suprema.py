"""What proofs of suprema rest on: polynomials between Chebyshev points, and complex places."""

import math

import numpy as np
import pytest
import torch
from numpy.polynomial import chebyshev

from smore.analysis._suprema import (
    NEARLY,
    BoxChart,
    SphereChart,
    _degrees,
    _layers,
    suprema,
)
from smore.decoder import FilterNetwork

PARTS = {
    "line": BoxChart(torch.tensor([0.1]).double(), torch.tensor([0.6]).double()),
    "box": BoxChart(torch.tensor([0.0, -0.1]).double(), torch.tensor([0.5, 0.3]).double()),
    "sphere": SphereChart(
        torch.tensor([-math.pi / 2, -1.0]).double(), torch.tensor([math.pi / 2, 5.0]).double()
    ),
}


def network(chart, num_hidden, scale):
    dim = 3 if isinstance(chart, SphereChart) else chart.num_axes
    generator = torch.Generator().manual_seed(3)
    return FilterNetwork(dim, 3, 8, num_hidden, scale, generator).double()


@torch.no_grad()
def amplitudes_of(decoder):
    """Written out: sums over layers of the norms of what multiplies their features."""

    def amplitudes(sizes):
        offset = sum(size * bias.norm() for size, bias in zip(sizes, decoder.biases, strict=True))
        modes = sum(
            size * torch.linalg.matrix_norm(matrix, 2)
            for size, matrix in zip(sizes, decoder.modulations, strict=True)
        )
        return torch.stack([offset, modes]).detach()

    return amplitudes


@torch.no_grad()
def rows(decoder, places):
    basis = decoder.basis(places)
    return basis.offset - decoder.output_bias, basis.modes


@pytest.mark.parametrize("times", [3, 6])
def test_polynomials_are_hardly_larger_between_chebyshev_points(times):
    random, chart = np.random.default_rng(0), PARTS["box"]
    degrees = (7, 4)
    counts = [times * degree for degree in degrees]
    known = ((chart.points(counts) - chart.lower) / chart.half - 1).numpy()
    dense = random.uniform(-1, 1, size=(20_000, 2))
    most = math.cos(math.pi / (2 * times)) ** -2
    ratios = []
    for _ in range(50):
        coefficients = random.normal(size=[degree + 1 for degree in degrees])
        sizes = [np.abs(chebyshev.chebval2d(*at.T, coefficients)).max() for at in (dense, known)]
        ratios.append(sizes[0] / sizes[1])
    assert max(ratios) <= most
    assert max(ratios) > 0.9


@pytest.mark.filterwarnings("ignore:Complex modules")
@pytest.mark.parametrize("where", PARTS)
@pytest.mark.parametrize("num_hidden", [0, 2])
@torch.no_grad()
def test_amplitudes_hold_at_complex_places(where, num_hidden):
    """The network itself in complex arithmetic, at places as far off as proofs go."""
    chart = PARTS[where]
    decoder = network(chart, num_hidden, 9.0)
    random, axes = np.random.default_rng(1), chart.num_axes
    heights = torch.as_tensor(random.uniform(0, 0.3, size=(500, axes)))
    real = chart.lower + torch.as_tensor(random.uniform(size=(500, axes))) * 2 * chart.half
    sizes = [
        size * chart.imaginary(frequency, heights).exp()
        for size, frequency in _layers(decoder, chart)
    ]
    bounds = amplitudes_of(decoder)(sizes)
    offset, modes = rows(decoder.to(torch.complex128), chart.place(torch.complex(real, heights)))
    assert (offset.abs() <= bounds[0] * (1 + 1e-12)).all()
    assert (modes.abs().square().sum(1).sqrt() <= bounds[1] * (1 + 1e-12)).all()


@pytest.mark.parametrize("eta", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("kappa", [0.0, 0.3, 2.0])
def test_imaginary_parts_on_the_sphere_are_at_most_those_that_are_claimed(eta, kappa):
    chart, random = PARTS["sphere"], np.random.default_rng(2)
    real = torch.as_tensor(random.uniform(-3, 3, size=(4000, 2)))
    places = chart.place(
        torch.complex(real, torch.tensor([eta, kappa], dtype=torch.float64).expand(4000, 2))
    )
    claimed = math.sinh(eta + kappa)
    longest = float(places.imag.norm(dim=1).max())
    assert longest <= claimed * (1 + 1e-12)
    assert longest >= 0.99 * max(math.sinh(eta), math.sinh(kappa))


@pytest.mark.parametrize("num_hidden", [0, 2])
@pytest.mark.parametrize("scale", [8.0, 60.0])
@torch.no_grad()
def test_what_a_polynomial_misses_is_as_little_as_is_claimed(num_hidden, scale):
    """Chebyshev series of the modes on a line, from far more points than they need."""
    chart = PARTS["line"]
    decoder = network(chart, num_hidden, scale)
    points = chart.points([1000])
    modes = rows(decoder, points)[1].numpy()
    seen = torch.tensor([1e-3, np.linalg.norm(modes, axis=1).max()]).double()
    (degree,), missed = _degrees(chart, list(_layers(decoder, chart)), amplitudes_of(decoder), seen)
    at = ((points[:, 0] - chart.lower) / chart.half - 1).numpy()
    found = chebyshev.chebfit(at, modes, degree)
    error = np.linalg.norm(chebyshev.chebval(at, found).T - modes, axis=1).max()
    assert error <= float(missed[1]) <= NEARLY * float(seen[1])
    # A polynomial of two thirds of the degree does not do.
    fewer = chebyshev.chebfit(at, modes, degree // 3)
    assert np.linalg.norm(chebyshev.chebval(at, fewer).T - modes, axis=1).max() > float(missed[1])


@pytest.mark.parametrize("where", PARTS)
@torch.no_grad()
def test_bounds_hold_and_are_close(where):
    chart = PARTS[where]
    decoder = network(chart, 1, 12.0)

    def largest(places):
        offset, modes = rows(decoder, places)
        return torch.stack([offset.abs().max(), modes.norm(dim=1).max()])

    random = np.random.default_rng(5).uniform(size=(50_000, chart.num_axes))
    seen = largest(chart.place(chart.lower + torch.as_tensor(random) * 2 * chart.half))
    few = torch.full((2,), 0.1 * float(seen.max())).double()
    found = suprema(decoder, chart, amplitudes_of(decoder), largest, few, 2**19)
    assert (seen <= found.bound).all()
    assert (found.bound <= 1.04 * torch.maximum(seen, found.peaks)).all()


@torch.no_grad()
def test_nothing_is_proved_from_fewer_points_than_that_takes():
    chart = PARTS["box"]
    decoder = network(chart, 2, 30.0)

    def largest(places):
        return torch.stack([part.abs().max() for part in rows(decoder, places)])

    found = suprema(decoder, chart, amplitudes_of(decoder), largest, torch.ones(2).double(), 100)
    assert found.bound.isinf().all()
    assert found.num_points == 100


@torch.no_grad()
def test_weights_that_have_diverged_have_no_bound():
    chart = PARTS["box"]
    decoder = network(chart, 1, 3.0)
    decoder.biases[0][0] = math.nan

    def largest(places):
        return torch.stack([each.abs().max() for each in rows(decoder, places)])

    found = suprema(decoder, chart, amplitudes_of(decoder), largest, torch.zeros(2).double(), 2**12)
    assert found.bound.isinf().all()
