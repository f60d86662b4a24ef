"""Verdicts about linear dynamics: on which side of each threshold, and in which words."""

import itertools

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from smore.dynamics import LinearDynamics
from smore.stability._certify_linear import _Attempt, certify_linear
from smore.stability.lyapunov import MARGINAL, Enclosed, Metric
from smore.stability.stepping import Stepping


def linear(matrix):
    dynamics = LinearDynamics(len(matrix)).double()
    with torch.no_grad():
        dynamics.linear.copy_(torch.as_tensor(np.asarray(matrix, dtype=float)))
    return dynamics


def certify(matrix, states=((1.0, 2.0),), step=0.5, method="exact", substeps=1):
    return certify_linear(linear(matrix), np.array(states), Stepping(step, method, substeps))


def attempt(rate=-1.0, rate_error=1e-14, factor=0.5, factor_error=1e-14, size=1.0, stretch=1.0):
    metric = Metric("made up", np.diag([stretch, 1.0]))
    return _Attempt(metric, Enclosed(rate, rate_error), Enclosed(factor, factor_error), size)


# One Lyapunov function


@pytest.mark.parametrize(
    ("changes", "strict", "marginal"),
    [
        ({}, True, True),
        ({"rate": 0.0}, False, True),
        ({"rate": -1e-14}, False, True),  # touches zero
        ({"rate": 1e-14}, False, True),
        ({"rate": 1.1e-14}, False, False),  # more than rounding explains
        ({"rate": 0.0, "rate_error": 0.9 * MARGINAL}, False, True),
        ({"rate": 0.0, "rate_error": 1.1 * MARGINAL}, False, False),  # rounding could hide much
        ({"rate": 0.0, "rate_error": 2.9 * MARGINAL, "size": 3.0}, False, True),
        ({"rate": 0.0, "rate_error": 3.1 * MARGINAL, "size": 3.0}, False, False),
        ({"factor": 1.0}, False, True),
        ({"factor": 1 - 1e-14}, False, True),
        ({"factor": 1 + 2**-44, "factor_error": 2**-44}, False, True),
        ({"factor": 1 + 2e-14}, False, False),
        # Where rounding could hide much, touching the edge is not enough.
        ({"rate": -1e-3, "rate_error": 1e-3}, False, False),
        ({"factor": 0.5, "factor_error": 0.5}, False, False),
        ({"factor": 1.0, "factor_error": 0.9 * MARGINAL}, False, True),
        ({"factor": 1.0, "factor_error": 1.1 * MARGINAL}, False, False),
        ({"factor": 1.0, "factor_error": 2 * MARGINAL, "size": 3.0}, False, False),
        ({"rate": 0.0, "factor": 1.0}, False, True),
        ({"rate": 1.0}, False, False),
        ({"factor": 2.0}, False, False),
        ({"rate": 1.0, "factor": 2.0}, False, False),
    ],
)
def test_growth_is_strictly_less_than_none_or_none_as_far_as_rounding_can_tell(
    changes, strict, marginal
):
    found = attempt(**changes)
    assert found.strict == strict
    assert found.marginal == marginal


def test_the_better_proof_is_preferred_and_of_equal_ones_the_better_conditioned():
    order = [
        attempt(),
        attempt(stretch=5.0),
        attempt(rate=0.0),
        attempt(rate=0.0, stretch=5.0),
        attempt(factor=1.0, stretch=50.0),
        attempt(rate=0.01, stretch=50.0),
        attempt(rate=-9.0, factor=1.02),  # decay of the ODE makes up for nothing
        attempt(rate=0.03, factor=0.1),
        attempt(rate=0.02, factor=1.02),  # both count
        attempt(rate=0.05),
    ]
    found = sorted(order[5:] + order[:5], key=lambda each: each.rank)
    assert found == order
    ranks = [each.rank for each in order]
    assert all(one < two for one, two in itertools.pairwise(ranks))


# Verdicts


def test_the_claims_are_about_generator_and_iterated_matrix():
    generator = np.array([[-0.3, 2.0], [-2.0, -0.3]])
    claims = certify(generator, step=0.5).claims
    assert claims.verdict == "certified"
    assert claims.remedy is None
    assert claims.margin == pytest.approx(0.3, rel=1e-12)
    assert 0 < 0.3 - claims.margin < 1e-13
    factor = np.linalg.norm(expm(0.5 * generator), 2)
    assert claims.map_factor == pytest.approx(factor, rel=1e-12)
    assert claims.map_factor > factor
    assert claims.map_forcing == claims.forcing == claims.defect == 0.0
    assert claims.radius is None
    assert claims.condition == 1.0
    assert claims.training_radius == pytest.approx(5**0.5)
    ode, taken = claims.conditions
    assert ode.holds
    assert taken.holds
    assert ode.value == pytest.approx(-0.3)
    assert taken.value == pytest.approx(factor)
    assert taken.detail.startswith(f"V changes by a factor 1 {factor - 1:+.3g} ± ")
    assert ode.detail.startswith("V grows at -0.3 ± ")
    assert claims.reason.endswith("at most 1 times its norm")


def test_the_reach_of_training_states_is_told_in_the_metric():
    generator = np.array([[-1.0, 30.0], [0.0, -1.2]])
    states = np.array([[1.0, 2.0], [-3.0, 1.0]])
    certificate = certify(generator, states)
    claims = certificate.claims
    assert claims.verdict == "certified"
    assert claims.metric != "the norm of the latents"
    assert claims.training_radius == pytest.approx(certificate.distance(states).max())
    assert f"{claims.condition:.3g} times its norm" in claims.reason


def test_a_rotation_neither_grows_nor_decays():
    claims = certify([[0.0, 2.0], [-2.0, 0.0]]).claims
    assert claims.verdict == "bounded"
    assert claims.remedy is None
    assert abs(claims.margin) < 1e-13
    growth = claims.map_factor - 1
    assert 0 <= growth < 1e-13
    assert f"and {growth:.1g} per step" in claims.reason
    assert all(condition.holds for condition in claims.conditions)


def test_growth_of_the_generator_is_blamed_first():
    claims = certify(np.diag([0.25, -1.0])).claims
    assert claims.verdict == "refused"
    assert claims.reason == "an eigenvalue of the generator grows at 0.25"
    assert claims.remedy.startswith("stabilise='always'")
    assert claims.margin is claims.map_factor is claims.map_forcing is None
    assert [condition.holds for condition in claims.conditions] == [False, False]


def test_a_map_that_grows_though_its_ode_does_not_is_told_so():
    """RK4 multiplies the fastest by 1 - 3 + 9/2 - 27/6 + 81/24 = 1.375."""
    claims = certify(np.diag([-3.0, -1.0]), step=1.0, method="rk4").claims
    assert claims.verdict == "refused"
    assert claims.reason == "the ODE is stable but its map is not: spectral radius 1 +0.375"
    assert claims.remedy == "integrator 'exact', or more substeps"
    assert [condition.holds for condition in claims.conditions] == [True, False]
    finer = certify(np.diag([-3.0, -1.0]), step=1.0, method="rk4", substeps=2).claims
    assert finer.verdict == "certified"


def test_an_ode_that_grows_though_its_map_does_not_is_refused_too():
    """RK4 damps what turns by 2 per step more than a growth of 1e-3 makes up for."""
    claims = certify([[1e-3, 2.0], [-2.0, 1e-3]], step=1.0, method="rk4").claims
    assert claims.verdict == "refused"
    assert [condition.holds for condition in claims.conditions] == [False, True]
    assert "generator grows" in claims.reason
    assert claims.remedy.startswith("stabilise")


def test_a_defective_rotation_is_too_close_to_call():
    """States grow linearly; both spectra lie on the edge."""
    claims = certify([[0.0, 1.0], [0.0, 0.0]], step=0.5).claims
    assert claims.verdict == "refused"
    assert claims.reason == "growth, if any, is too close to zero to be told from rounding"
    assert claims.remedy.startswith("stabilise")
    with_rk4 = certify([[0.0, 1.0], [0.0, 0.0]], step=0.5, method="rk4").claims
    assert with_rk4.remedy.startswith("stabilise")  # the ODE does not decay: steps are no remedy
