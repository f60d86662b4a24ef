"""Bounds of local errors, against power series written out and against steps really taken."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from oracles import majorant_series as oracle
from smore.dynamics.integrators import CLASSICAL_RK4, THREE_EIGHTHS_RK4, runge_kutta_step
from smore.stability._rk4_majorant import Majorant, substeps_needed

TABLEAUS = [CLASSICAL_RK4, THREE_EIGHTHS_RK4]
SYSTEMS = [
    (0.3, 1.2, 0.7, 0.5, 0.1),
    (0.0, 2.0, 0.5, 1.0, 0.15),
    (1.0, 0.0, 0.4, 0.2, 0.3),
    (0.1, 0.5, 0.0, 2.0, 0.2),
]


@pytest.mark.parametrize("tableau", TABLEAUS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_bound_is_the_sum_of_two_tails(system, tableau):
    forcing, linear, quadratic, radius, step = system
    flow = oracle.flow_coefficients(forcing, linear, quadratic, radius, 60)
    taken = oracle.step_coefficients(
        forcing, linear, quadratic, radius, tableau.stages, tableau.weights
    )
    tails = [sum(c * step**k for k, c in enumerate(series) if k > 4) for series in (flow, taken)]
    found = Majorant(forcing, linear, quadratic).local_error(radius, step, tableau)
    assert sum(tails) <= found  # rounding is on the safe side
    assert found == pytest.approx(sum(tails), rel=1e-3, abs=1e-11)


def test_a_step_of_no_length_errs_by_rounding_alone():
    """A few scalar operations: 1e-12 of the state, and what the step itself loses."""
    for radius, rounding in ((3.0, 0.0), (0.5, 2e-9)):
        found = Majorant(0.1, 0.2, 0.3, rounding).local_error(radius, 1e-9, CLASSICAL_RK4)
        assert found == pytest.approx(1e-12 * radius + rounding, rel=1e-2, abs=0)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("system", SYSTEMS)
def test_units_of_time_do_not_matter(system, unit):
    *rates, radius, step = system
    found = Majorant(*(rate / unit for rate in rates)).local_error(
        radius, step * unit, CLASSICAL_RK4
    )
    assert found == pytest.approx(Majorant(*rates).local_error(radius, step, CLASSICAL_RK4))


def test_a_solution_that_may_blow_up_within_the_step_has_no_bound():
    """dx/dt = x² from 1 is infinite at time 1."""
    majorant = Majorant(0.0, 0.0, 1.0)
    assert majorant.local_error(1.0, 1.01, CLASSICAL_RK4) == np.inf
    assert np.isfinite(majorant.local_error(1.0, 0.9, CLASSICAL_RK4))
    turning = Majorant(1.0, 0.0, 1.0)  # dx/dt = 1 + x²: from 0 it is the tangent
    assert np.isfinite(turning.local_error(0.0, 1.5, CLASSICAL_RK4))
    for step in (1.6, 2.0, 3.0, 5.0):
        assert turning.local_error(0.0, step, CLASSICAL_RK4) == np.inf


def random_system(seed, dim=4):
    random = np.random.default_rng(seed)
    forcing, linear = random.normal(size=dim), random.normal(size=(dim, dim))
    slices = 0.3 * random.normal(size=(dim, dim, dim))
    slices = (slices + slices.transpose(0, 2, 1)) / 2

    def field(state):
        return forcing + state @ linear.T + np.einsum("ijk,...j,...k->...i", slices, state, state)

    norms = Majorant(
        float(np.linalg.norm(forcing)),
        float(np.linalg.norm(linear, 2)),
        float(np.linalg.norm(slices)),  # Frobenius, at least the norm of the bilinear map
    )
    return field, norms


@pytest.mark.parametrize("tableau", TABLEAUS)
@pytest.mark.parametrize("seed", range(10))
def test_steps_of_vector_systems_err_by_no_more(seed, tableau):
    field, majorant = random_system(seed)
    random = np.random.default_rng(seed)
    for step in (0.2, 0.05, 0.01):
        bound = majorant.local_error(1.0, step, tableau)
        for _ in range(5):
            start = random.normal(size=4)
            start *= random.uniform() ** 0.25 / np.linalg.norm(start)
            exact = solve_ivp(
                lambda _, y: field(y), (0, step), start, method="DOP853", rtol=1e-13, atol=1e-15
            ).y[:, -1]
            taken = runge_kutta_step(
                lambda y: torch.as_tensor(field(y.numpy())), torch.as_tensor(start), step, tableau
            ).numpy()
            assert np.linalg.norm(taken - exact) <= bound + 1e-13


@pytest.mark.parametrize("interval", [0.2, 0.5, 1.0, 1.7, 2.0, 3.0, 5.0])
def test_the_substeps_asked_for_are_enough_and_one_less_is_not(interval):
    majorant, margin, radius = Majorant(0.1, 3.0, 0.8), 0.4, 2.0
    needed = substeps_needed(majorant, margin, radius, interval, CLASSICAL_RK4)

    def gains(substeps):
        """Local error minus what the ODE loses at the boundary over a substep."""
        step = interval / substeps
        lost = (1 - np.exp(-margin * step)) * (radius - majorant.forcing / margin)
        return majorant.local_error(radius, step, CLASSICAL_RK4) - lost

    assert gains(needed) <= 0 < gains(needed - 1)


@pytest.mark.parametrize(("margin", "radius"), [(0.0, 5.0), (-0.1, 5.0), (0.5, 0.2)])
def test_without_a_loss_at_the_boundary_no_substeps_help(margin, radius):
    assert substeps_needed(Majorant(0.1, 1.0, 1.0), margin, radius, 1.0, CLASSICAL_RK4) is None


def test_more_than_a_million_substeps_are_not_asked_for():
    """2²⁰ of them at most; how many it takes is proportional to the interval."""
    system = (Majorant(0.1, 3.0, 0.8), 0.4, 2.0)
    each = 1000 / substeps_needed(*system, 1000.0, CLASSICAL_RK4)
    found = substeps_needed(*system, 0.999 * 2**20 * each, CLASSICAL_RK4)
    assert found == pytest.approx(0.999 * 2**20, rel=1e-3)
    assert substeps_needed(*system, 1.001 * 2**20 * each, CLASSICAL_RK4) is None


def test_substeps_are_as_few_as_can_be():
    """A step that is short enough already is taken whole."""
    assert substeps_needed(Majorant(0.1, 1.0, 0.1), 0.5, 2.0, 1e-2, CLASSICAL_RK4) == 1
    # ‖d‖ / γ is 1/4 here, well inside.
    assert substeps_needed(Majorant(1.0, 4.0, 0.1), 4.0, 1.0, 1e-2, CLASSICAL_RK4) is not None
