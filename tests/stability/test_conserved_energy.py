"""Energies that a quadratic term conserves: all of them, and the best."""

import itertools

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import check_grad
from scipy.special import logsumexp

from smore.stability._conserved_energy import (
    _gram,
    _Growth,
    _least_growth,
    conserved_energies,
    conserved_metrics,
)


def conserving(rng, dim):
    skew = rng.normal(size=(dim, dim, dim))
    skew = skew - skew.transpose(1, 0, 2)
    return (skew + skew.transpose(0, 2, 1)) / 2


def seen_as(slices, change):
    """Slices of T a where a has `slices`."""
    back = np.linalg.inv(change)
    return np.einsum("il,lmn,mj,nk->ijk", change, slices, back, back, optimize=True)


def symmetric_part(energy, slices):
    """sym(H Q), by its definition."""
    product = np.einsum("il,ljk->ijk", energy, slices)
    return sum(product.transpose(order) for order in itertools.permutations(range(3))) / 6


def test_the_gram_matrix_is_that_of_the_map():
    rng = np.random.default_rng(0)
    slices = rng.normal(size=(3, 3, 3))
    slices = (slices + slices.transpose(0, 2, 1)) / 2
    gram = _gram(slices)
    for _ in range(5):
        one, two = rng.normal(size=(2, 3, 3))
        expected = (symmetric_part(one, slices) * symmetric_part(two, slices)).sum()
        assert np.einsum("il,iljm,jm->", one, gram, two) == pytest.approx(expected)


def test_a_generic_conserving_term_conserves_one_energy():
    rng = np.random.default_rng(1)
    (energy,) = conserved_energies(conserving(rng, 5))
    np.testing.assert_allclose(energy, np.eye(5) * energy[0, 0], atol=1e-9)
    assert np.linalg.norm(energy) == pytest.approx(1.0)


def test_nothing_is_conserved_by_a_generic_quadratic_term():
    slices = np.random.default_rng(2).normal(size=(5, 5, 5))
    assert not len(conserved_energies((slices + slices.transpose(0, 2, 1)) / 2))


def test_other_coordinates_conserve_another_energy():
    rng = np.random.default_rng(3)
    change = rng.normal(size=(5, 5))
    slices = seen_as(conserving(rng, 5), change)
    (energy,) = conserved_energies(slices)
    back = np.linalg.inv(change)
    expected = back.T @ back
    np.testing.assert_allclose(
        energy / np.trace(energy), expected / np.trace(expected), rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(symmetric_part(energy, slices), 0, atol=1e-9)


INERTIA = np.array([1.0, 2.0, 3.0])


def rigid_body():
    slices = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        slices[i, j, k] = slices[i, k, j] = (INERTIA[j] - INERTIA[k]) / INERTIA[i] / 2
    return slices


def test_all_energies_of_the_rigid_body_are_found():
    """Energy and angular momentum: H = diag(I) and diag(I²), and what is between them."""
    energies = conserved_energies(rigid_body())
    assert len(energies) == 2
    for expected in (np.diag(INERTIA), np.diag(INERTIA**2)):
        inside = np.einsum("kij,ij->k", energies, expected)
        np.testing.assert_allclose(np.einsum("k,kij->ij", inside, energies), expected, atol=1e-9)


def test_the_plain_energy_is_nothing_new():
    rng = np.random.default_rng(4)
    assert not list(conserved_metrics(-np.eye(4), conserving(rng, 4)))


def test_without_a_quadratic_term_every_energy_will_do():
    """Then the metric may be any that proves the linear part stable."""
    linear = np.array([[-1.0, 100.0], [0.0, -1.1]])
    rates = [
        metric.logarithmic_norm(linear).upper
        for metric in conserved_metrics(linear, np.zeros((2, 2, 2)))
    ]
    assert min(rates) < 0
    assert np.linalg.eigvalsh((linear + linear.T) / 2)[-1] > 40


def test_a_term_that_is_zero_conserves_every_energy():
    assert len(conserved_energies(np.zeros((3, 3, 3)))) == 6


def test_large_systems_are_not_searched():
    """Beyond r = 64; the map of energies has r²/2 columns."""
    assert list(conserved_metrics(shear(64), np.zeros((64, 64, 64))))
    assert not list(conserved_metrics(shear(65), np.zeros((65, 65, 65))))
    assert not list(conserved_metrics(-np.eye(65), np.ones((65, 65, 65))))


def shear(dim):
    linear = -np.diag(np.linspace(1.0, 2.0, dim))
    linear[0, 1] = 9.0
    return linear


def defect_share(slices):
    """√ of the smallest <sym(H Q), sym(H Q)> over symmetric H of norm 1, beside all of them."""
    dim, basis = len(slices), []
    for i, j in itertools.combinations_with_replacement(range(dim), 2):
        energy = np.zeros((dim, dim))
        energy[i, j] = energy[j, i] = 1.0 if i == j else 0.5**0.5
        basis.append(symmetric_part(energy, slices).ravel())
    gram = np.array(basis) @ np.array(basis).T
    return np.sqrt(np.linalg.eigvalsh(gram)[0] / np.linalg.norm(gram))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_energies_count_as_conserved_up_to_a_millionth(scale):
    rng = np.random.default_rng(7)
    exact, other = conserving(rng, 4), rng.normal(size=(4, 4, 4))
    other = other + other.transpose(0, 2, 1)
    slope = defect_share(exact + 1e-4 * other) / 1e-4
    for share, count in ((0.8e-6, 1), (1.25e-6, 0)):
        slices = exact + share / slope * other
        assert defect_share(slices) == pytest.approx(share, rel=1e-2)
        assert len(conserved_energies(scale * slices)) == count


def test_of_many_conserved_energies_sixty_four_are_enough():
    """A term of two coordinates leaves the energies of the twelve others free: 78 of them."""
    slices = np.zeros((14, 14, 14))
    slices[0, 0, 1] = slices[0, 1, 0] = 0.5
    slices[1, 0, 0] = -1.0
    assert len(conserved_energies(slices)) == 64
    assert len(conserved_energies(slices[:3, :3, :3])) == 2  # a² + b² and c²


def test_one_energy_other_than_the_plain_one_is_a_metric():
    rng = np.random.default_rng(8)
    change = rng.normal(size=(4, 4)) + 2 * np.eye(4)
    slices = seen_as(conserving(rng, 4), change)
    back = np.linalg.inv(change)
    expected = back.T @ back
    found = list(conserved_metrics(-np.eye(4), slices))
    assert found
    for metric in found:
        np.testing.assert_allclose(
            metric.factor.T @ metric.factor, expected * 4 / np.trace(expected), rtol=1e-6, atol=1e-8
        )


def test_without_a_linear_part_energies_are_as_near_to_the_plain_one_as_may_be():
    """Nothing else is there to choose by: the identity, projected onto the conserved ones."""
    slices = rigid_body()
    first = next(conserved_metrics(np.zeros((3, 3)), slices))
    energies = conserved_energies(slices)
    nearest = np.einsum("k,kij->ij", np.trace(energies, axis1=1, axis2=2), energies)
    np.testing.assert_allclose(
        first.factor.T @ first.factor, nearest * 3 / np.trace(nearest), atol=1e-9
    )


def test_of_several_energies_the_one_that_decays_is_found():
    """Two conserving systems side by side, weighed unlike, and a flow from one to the other."""
    rng = np.random.default_rng(5)
    slices = np.zeros((6, 6, 6))
    slices[:3, :3, :3] = conserving(rng, 3)
    slices[3:, 3:, 3:] = conserving(rng, 3)
    linear = -np.eye(6)
    linear[:3, 3:] = 10 * np.eye(3)  # stable, but not in the plain norm
    assert np.linalg.eigvalsh((linear + linear.T) / 2)[-1] > 0
    found = list(conserved_metrics(linear, slices))
    assert found
    # The plain energy, which grows at 4, starts the first search and does not end it.
    assert found[0].logarithmic_norm(linear).upper < 2
    best = min(found, key=lambda metric: metric.logarithmic_norm(linear).upper)
    assert best.logarithmic_norm(linear).upper < -0.5
    energy = best.factor.T @ best.factor
    np.testing.assert_allclose(symmetric_part(energy, slices), 0, atol=1e-7 * np.abs(energy).max())
    assert np.trace(energy) == pytest.approx(6.0)


def some_growth(scale=1.0):
    rng = np.random.default_rng(6)
    energies = rng.normal(size=(3, 4, 4))
    energies = energies + energies.transpose(0, 2, 1)
    energies[0] = 9 * np.eye(4)
    linear = scale * rng.normal(size=(4, 4))
    return linear, energies, _Growth(linear, energies), np.array([1.0, 0.3, -0.2])


def literal_growth(linear, energies, weights, width=None):
    """τ log Σ exp(λ/τ) + 10⁻³ ‖W‖ log(mean / geometric mean), τ a fiftieth of the spread of λ."""
    energy = sum(weight * each for weight, each in zip(weights, energies, strict=True))
    power = (energy @ linear + linear.T @ energy) / 2
    rates = eigh(power, energy, eigvals_only=True)
    width = 0.02 * (rates[-1] - rates[0]) if width is None else width
    sizes = np.linalg.eigvalsh(energy)
    spread = np.log(sizes.mean()) - np.log(sizes).mean()
    value = width * logsumexp(rates / width) + 1e-3 * np.linalg.norm(linear) * spread
    return value, width


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_the_growth_is_rounded_off_and_pays_for_a_bad_condition(scale):
    linear, energies, growth, weights = some_growth(scale)
    expected, _ = literal_growth(linear, energies, weights)
    assert growth(weights)[0] == pytest.approx(expected, rel=1e-10)
    # The two largest rates within a width of each other: both count.
    close = -scale * np.diag([1.0, 1.02, 2.0, 3.0])
    expected, width = literal_growth(close, energies, [1.0, 0.01, -0.01])
    assert expected > -scale + width / 4
    found = _Growth(close, energies)(np.array([1.0, 0.01, -0.01]))[0]
    assert found == pytest.approx(expected, rel=1e-10)
    worthless, gradient = growth(np.array([-1.0, 0.0, 0.0]))
    assert worthless == pytest.approx(1e6 * np.linalg.norm(linear))  # no metric at all
    assert not gradient.any()


def test_the_gradient_of_the_growth():
    """With the width of the rounding held still: it moves with the rates, and slowly."""
    linear, energies, growth, weights = some_growth()
    _, width = literal_growth(linear, energies, weights)
    error = check_grad(
        lambda w: literal_growth(linear, energies, w, width)[0],
        lambda w: growth(w)[1],
        weights,
    )
    assert error < 1e-5 * np.linalg.norm(growth(weights)[1])
    assert check_grad(
        lambda w: growth(w)[0], lambda w: growth(w)[1], weights
    ) < 0.1 * np.linalg.norm(growth(weights)[1])


@pytest.mark.parametrize("rate", [1e-9, 1.0, 1e9])
def test_equal_rates_have_no_spread_to_be_rounded_over(rate):
    energies = np.stack([np.eye(3), np.diag([1.0, 0.0, 0.0])])
    growth = _Growth(-rate * np.eye(3), energies)
    assert growth(np.array([1.0, 0.0]))[0] == pytest.approx(-rate, rel=1e-9, abs=0)


def test_weights_are_moved_to_where_growth_is_less():
    linear, energies, growth, weights = some_growth()
    found = _least_growth(linear, energies, weights)
    assert growth(found)[0] < growth(weights)[0] - 0.01
    for move in 1e-3 * np.random.default_rng(0).normal(size=(20, 3)):
        assert growth(found + np.linalg.norm(found) * move)[0] > growth(found)[0] - 1e-3
    np.testing.assert_allclose(_least_growth(linear, energies, -3 * weights), found, rtol=1e-6)
    # Nothing to choose from, nothing to choose by, nothing to start at: weights stay as they are.
    for arguments in (
        (linear, energies[:1], weights[:1]),
        (0 * linear, energies, weights),
        (linear, energies, np.array([0.0, 1.0, 0.0])),
    ):
        assert _least_growth(*arguments) is arguments[2]
