"""Conservative dynamics start nearly linear, and what their linear part starts with."""

import math

import pytest
import torch

from smore.dynamics import FullConservative, LowRankConservative

DIM = 16


def generator():
    return torch.Generator().manual_seed(0)


def test_factors_start_with_rows_of_length_one_and_the_third_a_twentieth_of_it():
    """So that U a, V a are of the size of an entry of a, and the product of all three is small."""
    dynamics = LowRankConservative(DIM, 200, generator=generator())
    for factor, length in ((dynamics.first, 1.0), (dynamics.second, 1.0), (dynamics.third, 0.05)):
        mean_square = float(factor.detach().square().sum(1).mean())
        assert math.sqrt(mean_square) == pytest.approx(length, rel=0.05)


def test_a_full_quadratic_term_and_the_bias_start_at_zero():
    dynamics = FullConservative(DIM, generator=generator())
    assert dynamics.upper.shape == (DIM * (DIM - 1) / 2, DIM)  # T_ijk with i < j
    assert not dynamics.upper.any()
    assert not dynamics.bias.any()


def test_a_free_linear_part_starts_with_rows_of_length_at_most_one_over_r():
    linear = FullConservative(DIM, generator=generator()).linear.detach()
    bound = DIM**-1.5
    assert 0.9 * bound < float(linear.abs().max()) <= bound * (1 + 1e-6)
    assert float(linear.norm(dim=1).max()) <= 1 / DIM


def test_a_dissipative_linear_part_starts_as_a_slow_decay():
    """K = 0, R = I / 10 and g = 0: every direction decays at rate 1 / 100."""
    linear = FullConservative(DIM, dissipative=True).linear.detach()
    torch.testing.assert_close(linear, -0.01 * torch.eye(DIM))


def test_the_margin_is_lost_in_every_direction():
    dynamics = FullConservative(DIM, dissipative=True).double()
    before = dynamics.linear.detach()
    dynamics.margin.fill_(0.3)
    identity = torch.eye(DIM, dtype=torch.float64)
    torch.testing.assert_close(dynamics.linear.detach(), before - 0.3 * identity)


def test_the_skew_part_is_half_of_a_matrix_less_its_transpose():
    dynamics = FullConservative(DIM, dissipative=True).double()
    with torch.no_grad():
        dynamics.rotation.normal_(generator=generator())
        dynamics.dissipation.zero_()
    rotation = dynamics.rotation.detach()
    torch.testing.assert_close(dynamics.linear.detach(), (rotation - rotation.T) / 2)


def test_the_magnitude_of_three_factors_is_that_of_both_their_products():
    """In one dimension Uᵀ[(V a)(P a)] and Vᵀ[(U a)(P a)] cancel, but rounding has seen both."""
    dynamics = LowRankConservative(1, 1, generator=generator())
    u, v, p = (float(each.detach()) for each in (dynamics.first, dynamics.second, dynamics.third))
    assert float(dynamics.magnitude.detach()) == pytest.approx(2 * abs(u * v * p), rel=1e-5)
    larger = LowRankConservative(DIM, 7, generator=generator())
    norms = [float(each.detach().norm()) for each in (larger.first, larger.second, larger.third)]
    assert float(larger.magnitude.detach()) == pytest.approx(2 * math.prod(norms), rel=1e-5)


def test_the_magnitude_of_a_full_term_is_the_norm_of_all_its_numbers():
    """T_ijk and T_jik = -T_ijk: S(a) of every unit vector a, all entries squared."""
    dynamics = FullConservative(DIM)
    with torch.no_grad():
        dynamics.upper.normal_(generator=generator())
    every = dynamics.skew(torch.eye(DIM)).detach()
    assert float(dynamics.magnitude.detach()) == pytest.approx(float(every.norm()), rel=1e-5)
