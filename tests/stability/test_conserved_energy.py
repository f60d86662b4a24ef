"""Energies that a quadratic term conserves: all of them, and the best."""

import itertools

import numpy as np
import pytest
from scipy.optimize import check_grad

from smore.stability.conserved_energy import (
    LARGEST,
    _gram,
    _Growth,
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


def test_all_energies_of_the_rigid_body_are_found():
    """Energy and angular momentum: H = diag(I) and diag(I²), and what is between them."""
    inertia = np.array([1.0, 2.0, 3.0])
    slices = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        slices[i, j, k] = slices[i, k, j] = (inertia[j] - inertia[k]) / inertia[i] / 2
    energies = conserved_energies(slices)
    assert len(energies) == 2
    for expected in (np.diag(inertia), np.diag(inertia**2)):
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


def test_large_systems_are_not_searched():
    dim = LARGEST + 1
    assert not list(conserved_metrics(-np.eye(dim), np.ones((dim, dim, dim))))


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
    best = min(found, key=lambda metric: metric.logarithmic_norm(linear).upper)
    assert best.logarithmic_norm(linear).upper < -0.5
    energy = best.factor.T @ best.factor
    np.testing.assert_allclose(symmetric_part(energy, slices), 0, atol=1e-7 * np.abs(energy).max())
    assert np.trace(energy) == pytest.approx(6.0)


def test_the_gradient_of_the_growth():
    rng = np.random.default_rng(6)
    energies = rng.normal(size=(3, 4, 4))
    energies = energies + energies.transpose(0, 2, 1)
    energies[0] = 9 * np.eye(4)
    growth = _Growth(rng.normal(size=(4, 4)), energies)
    weights = np.array([1.0, 0.3, -0.2])
    error = check_grad(lambda w: growth(w)[0], lambda w: growth(w)[1], weights)
    # The width of the rounding moves with the rates, which the gradient leaves out.
    assert error < 0.1 * np.linalg.norm(growth(weights)[1])
    worthless = growth(np.array([-1.0, 0.0, 0.0]))
    assert worthless[0] > 1e5
