"""Lyapunov functions: what they measure, how far rounding moved it, where they come from."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from smore.stability.lyapunov import (
    EPSILON,
    KEPT_DECAY,
    MARGINAL,
    SAFETY,
    Enclosed,
    Metric,
    _from_eigenvectors,
    metrics,
    project_spectrum,
)

DIM = 4


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def metric(seed=0, dim=DIM, stretch=3.0):
    return Metric("made up", np.triu(normal(dim, dim, seed=seed)) + stretch * np.eye(dim))


def inverse(factor):
    return np.linalg.inv(factor)


def test_an_enclosed_number_is_at_most_its_value_and_its_error():
    assert Enclosed(2.0, 0.5).upper == 2.5


def test_rounding_is_that_of_doubles_and_zero_is_far_above_it():
    """What a proof takes for zero: a hundred-billionth of the whole, 45,000 units of rounding."""
    assert EPSILON == 2.0**-52
    assert SAFETY == 4.0
    assert MARGINAL == 1e-11


# Norms


def test_norms_in_a_metric_are_those_of_the_turned_matrix():
    matrix, change = normal(DIM, DIM, seed=1), metric()
    turned = change.factor @ matrix @ inverse(change.factor)
    np.testing.assert_allclose(change.transform(matrix)[0], turned, rtol=1e-12)
    assert change.norm(matrix).value == pytest.approx(np.linalg.norm(turned, 2), rel=1e-12)
    rate = np.linalg.eigvalsh((turned + turned.T) / 2)[-1]
    assert change.logarithmic_norm(matrix).value == pytest.approx(rate, rel=1e-12)


def test_no_state_grows_faster_than_the_norms_say_and_some_do_so():
    matrix, change = normal(DIM, DIM, seed=2), metric(seed=3)
    factor, rate = change.norm(matrix).value, change.logarithmic_norm(matrix).value
    states = normal(5000, DIM, seed=4)

    def size(states):
        return np.linalg.norm(states @ change.factor.T, axis=1)

    grown = size(states @ matrix.T) / size(states)
    assert 0.9 * factor < grown.max() <= factor * (1 + 1e-12)
    step = 1e-6
    rates = np.log(size(states @ expm(step * matrix).T) / size(states)) / step
    assert rate - 0.2 * abs(rate) < rates.max() <= rate + 1e-4


def test_condition_is_how_much_a_state_may_grow_in_between():
    factor = np.diag([8.0, 2.0, 0.5])
    assert Metric("", factor).condition == pytest.approx(16.0)
    assert Metric("", np.eye(3)).is_identity
    assert not Metric("", np.eye(3) * (1 + EPSILON)).is_identity


def test_errors_are_the_documented_multiple_of_rounding():
    """c r ε κ(F) (‖A‖ + ‖F A F⁻¹‖) of the transform; c r ε times the number itself on top."""
    matrix, change = normal(DIM, DIM, seed=5), metric(seed=6, stretch=5.0)
    turned, error = change.transform(matrix)
    unit = SAFETY * DIM * EPSILON
    size = np.linalg.norm(matrix) + np.linalg.norm(turned)
    assert error == pytest.approx(unit * change.condition * size, rel=1e-9, abs=0)
    rates = np.linalg.eigvalsh((turned + turned.T) / 2)
    of_rates = change.logarithmic_norm(matrix).error - error
    assert of_rates == pytest.approx(unit * np.abs(rates).max(), rel=1e-9, abs=0)
    of_norm = change.norm(matrix).error - error
    assert of_norm == pytest.approx(unit * np.linalg.norm(turned, 2), rel=1e-9, abs=0)


def exact(matrix):
    return [[Fraction(float(value)) for value in row] for row in matrix]


def exactly_turned(factor, matrix):
    """F A F⁻¹ in rational arithmetic: row by row X F = F A, from the left."""
    forth, inside, dim = exact(factor), exact(matrix), len(factor)
    size = range(dim)
    product = [[sum(forth[i][k] * inside[k][j] for k in size) for j in size] for i in size]
    turned = [[Fraction(0)] * dim for _ in size]
    for i in size:
        for j in size:
            rest = sum(turned[i][k] * forth[k][j] for k in range(j))
            turned[i][j] = (product[i][j] - rest) / forth[j][j]
    return turned


@pytest.mark.parametrize("stretch", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("seed", range(5))
def test_errors_of_a_transform_are_enclosed(seed, stretch):
    factor = np.triu(normal(DIM, DIM, seed=seed)) * np.geomspace(1.0, stretch, DIM)[:, None]
    matrix = normal(DIM, DIM, seed=seed + 10)
    turned, bound = Metric("", factor).transform(matrix)
    true = exactly_turned(factor, matrix)
    error = sum(
        (Fraction(float(turned[i, j])) - true[i][j]) ** 2 for i in range(DIM) for j in range(DIM)
    )
    assert 0 < float(error) ** 0.5 <= bound


# Where they come from


def test_the_plain_norm_comes_first():
    first = next(metrics(normal(3, 3)))
    assert first.is_identity
    assert first.name == "the norm of the latents"


def spiral(growth, frequency):
    return np.array([[growth, -frequency], [frequency, growth]])


def test_the_energies_of_the_eigenmodes_decay_at_the_slowest_rate():
    """In any coordinates: the logarithmic norm is the spectral abscissa, none is smaller."""
    change = normal(5, 5, seed=7)
    generator = block_diag(spiral(-0.3, 2.0), spiral(-0.7, 0.1), [[-0.2]])
    generator = change @ generator @ np.linalg.inv(change)
    _, second, *_ = metrics(generator)
    assert second.name == "the energies of the eigenmodes"
    assert second.logarithmic_norm(generator).value == pytest.approx(-0.2, abs=1e-9)
    assert np.array_equal(second.factor, np.triu(second.factor))


def test_an_oscillation_counts_as_much_as_its_two_eigenmodes():
    """V² = Σ |c_j|² over all eigenmodes, conjugates included."""
    generator = normal(5, 5, seed=8)
    values, vectors = np.linalg.eig(generator)
    assert (values.imag > 0).any()
    assert (values.imag == 0).any()
    found = _from_eigenvectors(values, vectors)
    for state in normal(5, 5, seed=9):
        energies = np.abs(np.linalg.solve(vectors, state.astype(complex))) ** 2
        assert np.linalg.norm(found.factor @ state) ** 2 == pytest.approx(energies.sum())


def test_eigenvectors_that_are_dependent_make_no_metric():
    values = np.array([1.0 + 0j, 1.0])
    assert _from_eigenvectors(values, np.ones((2, 2), dtype=complex)) is None
    assert _from_eigenvectors(values, np.diag([1.0, np.inf]).astype(complex)) is None
    # An eigenvalue whose conjugate is missing: as many rows as columns are not to be had.
    lone = np.array([1.0 + 1j, 1.0])
    assert _from_eigenvectors(lone, np.eye(2, dtype=complex)) is None


def test_solutions_of_the_lyapunov_equation_keep_shares_of_the_slowest_decay():
    """Asked for (W + s I)ᵀP + P (W + s I) = -I, V decays at s at least: half, then nine tenths."""
    generator = np.array([[-2.0, 40.0, 3.0], [0.0, -3.0, 30.0], [0.0, 0.0, -4.0]])
    solutions = [each for each in metrics(generator) if "Lyapunov" in each.name]
    assert KEPT_DECAY == (0.5, 0.9)
    assert len(solutions) == 2
    for kept, found in zip((0.5, 0.9), solutions, strict=True):
        energy = found.factor.T @ found.factor
        moved = generator + kept * 2.0 * np.eye(3)
        np.testing.assert_allclose(moved.T @ energy + energy @ moved, -np.eye(3), atol=1e-9)
        rate = found.logarithmic_norm(generator).value
        assert -2.0 <= rate <= -kept * 2.0


@pytest.mark.parametrize(
    ("slowest", "size", "decays"),
    [
        (0.0, 1.0, False),
        (1e-3, 1.0, False),
        (-0.9 * MARGINAL, 1.0, False),
        (-1.1 * MARGINAL, 1.0, True),
        (-90 * MARGINAL, 100.0, False),
        (-110 * MARGINAL, 100.0, True),
    ],
)
def test_what_does_not_decay_beyond_rounding_has_no_lyapunov_equation(slowest, size, decays):
    """Beyond what counts as zero beside a generator of that size."""
    names = [each.name for each in metrics(np.diag([slowest, -size]))]
    assert names[:2] == ["the norm of the latents", "the energies of the eigenmodes"]
    assert names[2:] == (2 * ["a solution of the Lyapunov equation"] if decays else [])


def test_the_solution_is_used_as_the_symmetric_matrix_it_ought_to_be():
    """The solver is not symmetric to the last digit; a metric of the wrong half proves less."""
    change = normal(6, 6, seed=11)
    generator = change @ np.diag(-np.linspace(0.1, 2.0, 6)) @ np.linalg.inv(change)
    for found in list(metrics(generator))[2:]:
        assert found.logarithmic_norm(generator).upper < 0


# Moving eigenvalues


def test_only_eigenvalues_that_decay_too_slowly_are_moved():
    change = normal(5, 5, seed=12)
    generator = block_diag(spiral(0.4, 2.0), spiral(-0.05, 1.0), [[-3.0]])
    generator = change @ generator @ np.linalg.inv(change)
    moved = project_spectrum(generator, 0.1)
    expected = block_diag(spiral(-0.1, 2.0), spiral(-0.1, 1.0), [[-3.0]])
    np.testing.assert_allclose(moved, change @ expected @ np.linalg.inv(change), atol=1e-10)
    assert moved.dtype == np.float64
    assert moved.flags.c_contiguous


def test_a_stable_generator_stays_as_it_is():
    generator = normal(4, 4, seed=13) - 5 * np.eye(4)
    np.testing.assert_allclose(project_spectrum(generator, 0.01), generator, atol=1e-12)
