"""A system in other coordinates: the same numbers as a literal sum, and enclosures that hold."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from smore.dynamics import FullConservative, FullQuadratic, LowRankConservative, LowRankQuadratic
from smore.stability._quadratic_system import QuadraticSystem, cyclic_defect
from smore.stability.lyapunov import Metric
from smore.stability.regularisers import conservation_penalty

DIM = 4


def quadratic(seed=0, dim=DIM, kind=FullQuadratic):
    source = torch.Generator().manual_seed(seed)
    arguments = {
        FullQuadratic: (dim,),
        LowRankQuadratic: (dim, 3),
        LowRankConservative: (dim, 5),
        FullConservative: (dim,),
    }
    dynamics = kind(*arguments[kind], generator=source).double()
    with torch.no_grad():
        for parameter in dynamics.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=source, dtype=torch.float64))
    return dynamics


def metric(seed=0, dim=DIM):
    rng = np.random.default_rng(seed)
    return Metric("made up", np.triu(rng.normal(size=(dim, dim))) + 3 * np.eye(dim))


KINDS = [FullQuadratic, LowRankQuadratic, LowRankConservative, FullConservative]


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_are_those_of_the_vector_field(kind):
    dynamics = quadratic(kind=kind)
    system = QuadraticSystem.of(dynamics)
    state = np.random.default_rng(1).normal(size=DIM)
    field = system.bias + system.linear @ state
    for i, j, k in itertools.product(range(DIM), repeat=3):
        field[i] += float(system.slices[i, j, k]) * state[j] * state[k]
    expected = dynamics(torch.as_tensor(state)).detach().numpy()
    np.testing.assert_allclose(field, expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_no_term_of_the_quadratic_is_larger_than_the_magnitude_says(kind):
    """Of the sums that are really formed: products of absolute values."""
    dynamics = quadratic(kind=kind)
    state = torch.randn(DIM, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    with torch.no_grad():
        if kind is FullQuadratic:
            pairs = (state[:, None] * state).abs().flatten()
            sums = dynamics.tensor.abs().flatten(1) @ pairs
        elif kind is LowRankQuadratic:
            left = torch.einsum("jic,j->ic", dynamics.left.abs(), state.abs())
            right = torch.einsum("jic,j->ic", dynamics.right.abs(), state.abs())
            sums = (left * right).sum(1)
        elif kind is LowRankConservative:
            factors = [
                each.abs() @ state.abs()
                for each in (dynamics.first, dynamics.second, dynamics.third)
            ]
            sums = (factors[1] * factors[2]) @ dynamics.first.abs()
            sums += (factors[0] * factors[2]) @ dynamics.second.abs()
        else:
            upper = dynamics.upper.abs() @ state.abs()
            rows, columns = torch.triu_indices(DIM, DIM, 1)
            sums = torch.zeros(DIM, dtype=torch.float64)
            sums.index_add_(0, rows, upper * state.abs()[columns])
            sums.index_add_(0, columns, upper * state.abs()[rows])
        assert float(sums.norm()) <= float(dynamics.magnitude * state.square().sum())
        # and not much less than needed: a dimension's worth
        assert float(dynamics.magnitude * state.square().sum()) <= 40 * float(sums.norm())


def test_other_coordinates_see_the_same_field():
    system = QuadraticSystem.of(quadratic())
    change = metric()
    seen = system.in_metric(change)
    state = np.random.default_rng(2).normal(size=DIM)
    place = change.factor @ state

    def field(which, at):
        return which.bias + which.linear @ at + np.einsum("ijk,j,k->i", which.slices, at, at)

    np.testing.assert_allclose(field(seen, place), change.factor @ field(system, state), rtol=1e-11)
    assert torch.equal(seen.slices, seen.slices.mT)


def exact(matrix):
    return [[Fraction(float(value)) for value in row] for row in matrix]


def test_errors_of_other_coordinates_are_enclosed():
    """Against rational arithmetic, on badly conditioned coordinates."""
    dim = 3
    system = QuadraticSystem.of(quadratic(dim=dim))
    factor = np.array([[1.0, 1e3, 7.0], [0.0, 3.0, -1e2], [0.0, 0.0, 1e-3]])
    seen = system.in_metric(Metric("stretched", factor))
    forth = exact(factor)
    back = [[Fraction(0)] * dim for _ in range(dim)]  # of an upper triangular matrix, from below
    for column in range(dim):
        for row in reversed(range(dim)):
            rest = sum(forth[row][k] * back[k][column] for k in range(row + 1, dim))
            back[row][column] = (Fraction(int(row == column)) - rest) / forth[row][row]
    bias, linear = [Fraction(float(b)) for b in system.bias], exact(system.linear)
    slices = [exact(each) for each in system.slices.numpy()]
    size = range(dim)
    errors = {
        "bias": [
            Fraction(float(seen.bias[i])) - sum(forth[i][j] * bias[j] for j in size) for i in size
        ],
        "linear": [
            Fraction(float(seen.linear[i, j]))
            - sum(forth[i][k] * linear[k][m] * back[m][j] for k in size for m in size)
            for i in size
            for j in size
        ],
        "slices": [
            Fraction(float(seen.slices[i, j, k]))
            - sum(
                forth[i][a] * slices[a][b][c] * back[b][j] * back[c][k]
                for a in size
                for b in size
                for c in size
            )
            for i in size
            for j in size
            for k in size
        ],
    }
    for name, bound in (
        ("bias", seen.bias_error),
        ("linear", seen.linear_error),
        ("slices", seen.slices_error),
    ):
        error = float(sum(each**2 for each in errors[name])) ** 0.5
        assert 0 < error <= bound
        assert bound <= 1e-3 * np.linalg.norm(getattr(seen, name))


EPSILON = 2.0**-52


def exactly(value):
    """To nine digits, however small it is."""
    return pytest.approx(value, rel=1e-9, abs=0)


@pytest.mark.parametrize("kind", KINDS)
def test_slices_are_known_to_four_roundings_per_dimension_of_their_magnitude(kind):
    dynamics = quadratic(kind=kind, dim=5)
    system = QuadraticSystem.of(dynamics)
    assert system.slices_error == exactly(4 * 5 * EPSILON * float(dynamics.magnitude.detach()))
    assert system.bias_error == system.linear_error == 0.0


def test_errors_of_other_coordinates_are_the_documented_multiples_of_rounding():
    system, change = QuadraticSystem.of(quadratic()), metric(seed=3)
    seen = system.in_metric(change)
    forth = np.linalg.norm(change.factor)
    back = np.linalg.norm(np.linalg.inv(change.factor))
    unit = 4 * DIM * EPSILON * np.linalg.cond(change.factor)
    assert seen.bias_error == exactly(unit * forth * np.linalg.norm(system.bias))
    assert seen.linear_error == exactly(
        unit * (np.linalg.norm(system.linear) + np.linalg.norm(seen.linear))
    )
    of_slices = unit * float(system.slices.norm()) + system.slices_error
    assert seen.slices_error == exactly(forth * back**2 * of_slices)
    assert seen.defect == cyclic_defect(seen.slices, seen.slices_error)
    # An error that was there before is stretched with the slices.
    worse = replace(system, slices_error=1.0).in_metric(change)
    assert worse.slices_error == exactly(forth * back**2 * (of_slices + 1 - system.slices_error))


@pytest.mark.parametrize("change", [Metric("plain", np.eye(DIM)), metric(seed=4)])
def test_errors_of_a_centre_are_the_documented_multiples_of_rounding(change, monkeypatch):
    """With a rounding so coarse that it shows beside the numbers themselves."""
    plain = QuadraticSystem.of(quadratic())
    system = plain if change.is_identity else plain.in_metric(change)
    system = replace(system, bias_error=0.3, linear_error=0.7, slices_error=0.2)
    shift = np.array([1.0, -2.0, 0.5, 3.0])
    place = change.factor @ shift
    monkeypatch.setattr("smore.stability._quadratic_system.EPSILON", 1e-3)
    found = system.about(shift)
    unit, far = 4 * DIM * 1e-3, np.linalg.norm(place)
    moved = unit * np.linalg.norm(change.factor) * np.linalg.norm(shift)
    moved = 0.0 if change.is_identity else moved
    quadratic_size = float(system.slices.norm())
    size = np.linalg.norm(system.linear) + 2 * quadratic_size * far
    error = 2 * unit * size + 0.7 + 2 * 0.2 * far + 2 * quadratic_size * moved
    assert found.growth.error == exactly(error)
    value = np.linalg.norm(
        system.bias + system.linear @ place + np.einsum("ijk,j,k->i", system.slices, place, place)
    )
    rounding = unit * (np.linalg.norm(system.bias) + size * far) + size * moved
    assert found.forcing == exactly(value + rounding + 0.3 + 0.7 * far + 0.2 * far**2)


def test_a_defect_is_known_to_four_roundings_of_the_slices():
    slices = conserving().slices(slice(None)).detach()
    assert float(slices.norm()) > 1
    assert cyclic_defect(slices) == exactly(4 * EPSILON * float(slices.norm()) / 3)


def test_low_rank_slices_that_cancel_are_not_known_to_do_so_exactly():
    """a' = a b, b' = -a²: what it makes is zero, as far as the rounding of products can tell."""
    dynamics = LowRankQuadratic(2, 1).double()
    with torch.no_grad():
        dynamics.left.zero_()
        dynamics.right.zero_()
        dynamics.left[0, 0], dynamics.right[1, 0] = 1.0, 1.0
        dynamics.left[0, 1], dynamics.right[0, 1] = -1.0, 1.0
    assert 0 < QuadraticSystem.of(dynamics).defect < 1e-13


def test_the_defect_is_the_square_root_of_the_penalty_over_three():
    for kind in (FullQuadratic, LowRankQuadratic):
        dynamics = quadratic(kind=kind)
        system = QuadraticSystem.of(dynamics)
        expected = float(conservation_penalty(dynamics).detach()) ** 0.5 / 3
        assert system.defect == pytest.approx(expected, rel=1e-12)
        assert system.defect >= expected


def test_the_defect_bounds_the_energy_that_the_quadratic_term_makes():
    system, rng = QuadraticSystem.of(quadratic()), np.random.default_rng(4)
    for state in rng.normal(size=(100, DIM)):
        energy = np.einsum("i,ijk,j,k->", state, system.slices, state, state)
        assert abs(energy) <= system.defect * np.linalg.norm(state) ** 3


def test_errors_of_the_slices_are_part_of_the_defect():
    slices = QuadraticSystem.of(quadratic()).slices
    assert cyclic_defect(slices, 0.5) == pytest.approx(cyclic_defect(slices) + 0.5)
    # Moving one entry of a slice by e moves η by at most e.
    moved = slices.clone()
    moved[0, 0, 0] += 0.5
    assert cyclic_defect(moved) <= cyclic_defect(slices, 0.5)
    assert cyclic_defect(moved) > cyclic_defect(slices)


def conserving(dim=DIM, seed=0, dyadic=True):
    rng = np.random.default_rng(seed)
    skew = rng.integers(-8, 9, size=(dim, dim, dim)) / 4 if dyadic else rng.normal(size=(dim,) * 3)
    dynamics = FullQuadratic(dim).double()
    with torch.no_grad():
        dynamics.tensor.copy_(torch.as_tensor(skew - skew.transpose(1, 0, 2)))
    return dynamics


def test_exact_cancellation_is_told_from_cancellation_up_to_rounding():
    assert QuadraticSystem.of(conserving()).defect == 0.0
    assert QuadraticSystem.of(quadratic(kind=LowRankConservative)).defect == 0.0
    nearly = conserving()
    with torch.no_grad():
        nearly.tensor[1, 2, 3] *= 1 + 2.0**-52
    assert nearly.tensor[1, 2, 3] != 0
    assert 0 < QuadraticSystem.of(nearly).defect < 1e-12


def test_sums_that_only_round_to_zero_are_not_zero():
    """1 + 2⁻⁵³ - 1 is 0 in floating point, and 2⁻⁵³ it is."""
    dynamics = conserving()
    with torch.no_grad():
        dynamics.tensor.zero_()
        for value, place in ((1.0, (0, 1, 2)), (2.0**-53, (1, 0, 2)), (-1.0, (2, 0, 1))):
            dynamics.tensor[place] = value
    assert QuadraticSystem.of(dynamics).defect > 0


def test_no_quadratic_term_has_no_defect():
    dynamics = quadratic(kind=LowRankQuadratic)
    with torch.no_grad():
        dynamics.left.zero_()
    system = QuadraticSystem.of(dynamics)
    assert system.defect == 0.0
    assert system.slices_error == 0.0


@pytest.mark.parametrize("change", [Metric("plain", np.eye(DIM)), metric()])
def test_a_centre_moves_the_origin(change):
    """Against the derivative and the value of the field there."""
    plain = QuadraticSystem.of(quadratic())
    system = plain if change.is_identity else plain.in_metric(change)
    shift = np.random.default_rng(5).normal(size=DIM)
    found = system.about(shift)
    field = quadratic()
    at = torch.as_tensor(shift)
    value = change.factor @ field(at).detach().numpy()
    jacobian = torch.autograd.functional.jacobian(field, at).numpy()
    jacobian = change.factor @ jacobian @ np.linalg.inv(change.factor)
    growth = np.linalg.eigvalsh((jacobian + jacobian.T) / 2)[-1]
    assert found.growth.value == pytest.approx(growth, rel=1e-12)
    assert abs(found.growth.value - growth) <= found.growth.error < 1e-10
    assert found.forcing == pytest.approx(np.linalg.norm(value), rel=1e-9)
    assert found.forcing >= np.linalg.norm(value) * (1 - 1e-14)
    assert found.defect == system.defect
    np.testing.assert_array_equal(found.shift, shift)


def test_errors_of_the_numbers_are_part_of_what_a_centre_knows():
    system = QuadraticSystem.of(quadratic())
    shift = np.array([3.0, 0.0, 4.0, 0.0])
    plain = system.about(shift)
    for name, growth, forcing in (
        ("bias_error", 0.0, 1.0),
        ("linear_error", 1.0, 5.0),
        ("slices_error", 10.0, 25.0),
    ):
        worse = replace(system, **{name: getattr(system, name) + 1.0}).about(shift)
        assert worse.growth.error - plain.growth.error == pytest.approx(growth)
        assert worse.forcing - plain.forcing == pytest.approx(forcing)


def test_without_bias_nothing_forces_the_origin():
    dynamics = quadratic()
    with torch.no_grad():
        dynamics.bias.zero_()
    assert QuadraticSystem.of(dynamics).about(np.zeros(DIM)).forcing == 0.0


def test_growth_is_judged_by_the_size_of_the_linear_part():
    system = QuadraticSystem.of(quadratic())
    shift = np.array([0.0, 3.0, 0.0, 4.0])
    expected = np.linalg.norm(system.linear) + 2 * 5 * float(system.slices.norm())
    assert system.about(shift).size == pytest.approx(expected)
    assert system.about(np.zeros(DIM)).size == pytest.approx(np.linalg.norm(system.linear))
