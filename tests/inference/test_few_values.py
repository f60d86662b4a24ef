"""Few values are inferred from their rows, to all digits whatever the noise."""

import mpmath
import numpy as np
import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.inference import (
    LatentPrior,
    has_few_values,
    infer_states,
    normal_equations,
    posterior,
    value_rows,
)
from smore.inference.few_values import posterior_of_values, whitened_posterior

CHANNELS, DIM = 2, 5
SIZE = CHANNELS * DIM


@pytest.fixture
def decoder():
    return FilterNetwork(2, DIM, 8, 1, generator=torch.Generator().manual_seed(0)).double()


def prior(count=None):
    random = torch.Generator().manual_seed(1)
    return LatentPrior(
        torch.randn(SIZE, dtype=torch.float64, generator=random),
        torch.randn(SIZE, SIZE, dtype=torch.float64, generator=random),
        count,
    )


def block(num_points, num_snapshots=1, masked=False):
    random = torch.Generator().manual_seed(2)
    columns = (num_points, num_snapshots * CHANNELS)
    return Block(
        coords=torch.rand(num_points, 2, dtype=torch.float64, generator=random),
        weights=torch.ones(num_points, dtype=torch.float64),
        values=torch.randn(columns, dtype=torch.float64, generator=random),
        snapshots=torch.arange(num_snapshots),
        num_channels=CHANNELS,
    ).with_mask(torch.rand(columns, generator=random) < 0.7 if masked else None)


def conditioned(rows, targets, noise, given):
    """Mean and covariance by the textbook's formula, with fifty digits."""
    mpmath.mp.dps = 50
    a, factor = mpmath.matrix(rows.tolist()), mpmath.matrix(given.factor.tolist())
    mean = mpmath.matrix(given.mean.tolist())
    spread = factor * factor.T
    gain = spread * a.T * (a * spread * a.T + mpmath.diag(noise.tolist())) ** -1
    found = mean + gain * (mpmath.matrix(targets.tolist()) - a * mean)
    left = spread - gain * a * spread
    plain = np.array(left.tolist(), dtype=float).reshape(SIZE, SIZE)
    return np.array(found.tolist(), dtype=float).ravel(), plain


@pytest.mark.parametrize("deviation", [1.0, 1e-3, 1e-7])
def test_it_is_conditioning_to_all_digits_however_small_the_noise(decoder, deviation):
    given, noise = prior(), torch.full((CHANNELS,), deviation**2, dtype=torch.float64)
    values = value_rows(decoder, block(2))
    mean, covariance = conditioned(values.rows, values.targets[0], noise[values.channels], given)
    found = posterior_of_values(values, given, noise)
    np.testing.assert_allclose(found.mean.flatten(), mean, rtol=1e-8)
    np.testing.assert_allclose(found.covariance[0], covariance, rtol=0, atol=1e-9)
    variances = np.diag(covariance)
    np.testing.assert_allclose(found.covariance[0].diagonal(), variances, rtol=1e-8)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("count", [None, 30])
def test_where_noise_is_no_matter_normal_equations_say_the_same(decoder, masked, count):
    data, given = block(6, 3, masked), prior(count)
    noise = torch.tensor([0.1, 0.2], dtype=torch.float64)
    (equations,) = normal_equations(decoder, [data])
    expected = posterior(equations, given, noise)
    found = posterior_of_values(value_rows(decoder, data), given, noise)
    for name in ("mean", "covariance", "determined", "log_evidence"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))


def test_values_determine_no_more_directions_than_there_are_values(decoder):
    given, noise = prior(), torch.full((CHANNELS,), 1e-14, dtype=torch.float64)
    for num_points in range(1, 5):
        found = posterior_of_values(value_rows(decoder, block(num_points)), given, noise)
        number = CHANNELS * num_points
        assert number - 1e-6 < float(found.determined) <= number


def test_the_root_has_the_covariance_for_its_square(decoder):
    values = value_rows(decoder, block(3))
    found = whitened_posterior(
        values.rows, values.targets, torch.full((6,), 0.3, dtype=torch.float64), prior(30)
    )
    rows = torch.randn(7, SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    variances = found.rooted(rows @ found.prior.factor).square().sum(1)
    torch.testing.assert_close(variances, (rows @ found.covariance @ rows.T).diagonal())


def test_many_values_are_left_to_normal_equations(decoder):
    assert has_few_values(decoder, block(2 * DIM))
    assert not has_few_values(decoder, block(2 * DIM + 1))


def test_states_are_inferred_from_the_values_that_are_given(decoder):
    data, given = block(2), prior()
    noise = torch.full((CHANNELS,), 1e-14, dtype=torch.float64)
    equations, values = normal_equations(decoder, [data]), [value_rows(decoder, data)]
    state = infer_states(equations, torch.zeros(1), priors=[given], noise=noise, values=values)
    found = posterior_of_values(values[0], given, noise)
    assert torch.equal(state.mean, found.mean)
    assert torch.equal(state.covariance, found.covariance)
