"""Certificates of linear-quadratic dynamics at the edge of what is true.

Systems that rounding undoes must be refused, systems that are stable in some sense must be told in
which; whatever is claimed is checked against rollouts of the map it is claimed for.
"""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from smore.dynamics import FullConservative, FullQuadratic, LowRankConservative, rollout, step_map
from smore.stability.certify import certify_dynamics
from smore.stability.shift import LARGEST_PROGRAMME
from smore.stability.stepping import Stepping


def dissipative(rotation, dissipation, margin, bias=0.0, upper=0.0):
    """K - D Dᵀ - g I and a conserving quadratic term."""
    dynamics = FullConservative(len(rotation), dissipative=True).double()
    with torch.no_grad():
        dynamics.rotation.copy_(torch.as_tensor(rotation))
        dynamics.dissipation.zero_()
        columns = np.shape(dissipation)[1]
        dynamics.dissipation[:, :columns] = torch.as_tensor(dissipation)
        dynamics.margin.fill_(margin)
        dynamics.bias.fill_(bias)
        dynamics.upper.copy_(torch.as_tensor(upper).expand_as(dynamics.upper))
    return dynamics


def certify(dynamics, states, step=1.0, method="strang", substeps=1):
    return certify_dynamics(dynamics, states, Stepping(step, method, substeps))


def exceeds(certificate, dynamics, states, num_steps):
    """Largest V / bound over rollouts of what was certified."""
    claims = certificate.claims
    method, _, rest = claims.integrator.partition(" ")
    substeps = int(rest.rpartition(", ")[2].split()[0]) if method != "exact" else 1
    steps = torch.full((len(states), 1), claims.step, dtype=torch.float64)
    advance = step_map(dynamics, steps, method=method, substeps=substeps)
    with torch.no_grad():
        path = rollout(lambda state, _: advance(state, 0), torch.as_tensor(states), num_steps)
    bounds = certificate.bound(certificate.distance(states), num_steps)
    return float((certificate.distance(path.numpy()) / np.maximum(bounds, 1e-300)).max())


# What rounding undoes


def stiff(scale, margin, seed=0, dim=20, columns=10, bias=0.0):
    rng = np.random.default_rng(seed)
    rotation = rng.normal(size=(dim, dim))
    dissipation = scale * rng.normal(size=(dim, min(columns, dim)))
    return dissipative(rotation, dissipation, margin, bias)


@pytest.mark.parametrize("margin", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("scale", [3.0, 1e2, 1e4, 1e5, 1e6])
def test_margins_below_the_rounding_of_the_linear_part_are_not_believed(scale, margin):
    """D Dᵀ is known to ε ‖D‖²: ten of these fifteen were certified, and grew."""
    dynamics = stiff(scale, margin)
    states = np.random.default_rng(1).normal(size=(4, 20))
    certificate = certify(dynamics, states)
    rounding = np.finfo(float).eps * scale**2 * 20
    if margin < rounding:
        assert not certificate.claims.certified
    if certificate.claims.map_factor is not None:
        assert exceeds(certificate, dynamics, states, 2000) <= 1 + 1e-12


def test_an_exponential_that_is_lost_in_rounding_is_refused():
    """Of a matrix of norm 1e13: V grows 1e10-fold in 2,000 steps."""
    dynamics = stiff(1e6, 1e-12)
    states = np.random.default_rng(1).normal(size=(4, 20))
    certificate = certify(dynamics, states)
    assert certificate.claims.verdict == "refused"
    assert "as computed" in certificate.claims.reason
    assert np.isinf(certificate.bound(1.0, 1)).all()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    dim=st.integers(2, 20),
    scale=st.floats(-2, 7),
    margin=st.floats(-14, 0),
    step=st.floats(-3, 1),
    bias=st.sampled_from([0.0, 1e-9, 1.0]),
)
def test_no_claim_near_the_edge_of_rounding_is_broken(seed, dim, scale, margin, step, bias):
    dynamics = stiff(10**scale, 10**margin, seed, dim, bias=bias)
    states = np.random.default_rng(seed).normal(size=(3, dim))
    certificate = certify(dynamics, states, step=10**step)
    if certificate.claims.map_factor is not None:
        assert exceeds(certificate, dynamics, states, 200) <= 1 + 1e-12
    if certificate.claims.certified:
        linear = dynamics.linear.detach().numpy()
        assert np.linalg.eigvalsh((linear + linear.T) / 2)[-1] < 0


# What is stable in a weaker sense


@pytest.mark.parametrize("bias", [0.0, 0.25])
def test_without_a_margin_states_are_bounded_over_any_finite_horizon(bias):
    """The paper's training target γ = 0: non-expansive without forcing, linear growth with it."""
    rng = np.random.default_rng(2)
    dynamics = dissipative(
        rng.normal(size=(4, 4)), np.zeros((4, 1)), 0.0, bias, rng.normal(size=(6, 4))
    )
    states = rng.normal(size=(5, 4))
    certificate = certify(dynamics, states, step=0.1, substeps=2)
    claims = certificate.claims
    assert claims.verdict == "bounded"
    assert not claims.certified
    assert claims.escape_time is None
    assert abs(claims.margin) < 1e-13
    assert exceeds(certificate, dynamics, states, 1000) <= 1 + 1e-12
    growth = certificate.bound(0.0, 1000)[-1]
    forced = 0.1 * 1000 * bias * 2  # ‖b‖ t
    assert growth <= forced * (1 + 1e-9)
    assert growth >= 0.5 * forced
    words = "no state ever grows" if bias == 0 else "grows by at most"
    assert words in claims.reason
    assert "BOUNDED OVER ANY FINITE HORIZON" in certificate.text()


def test_of_a_bounded_ode_runge_kutta_steps_are_covered_while_local_errors_add_up():
    rng = np.random.default_rng(3)
    dynamics = dissipative(
        rng.normal(size=(3, 3)), np.zeros((3, 1)), 0.0, 0.05, 0.1 * rng.normal(size=(3, 3))
    )
    states = 0.5 * rng.normal(size=(5, 3))
    certificate = certify(dynamics, states, step=0.05, method="rk4", substeps=4)
    assert certificate.claims.verdict == "refused"
    assert "bounded over any finite horizon" in certificate.claims.reason
    assert "local errors" in certificate.claims.reason
    bounds = certificate.bound(certificate.distance(states), 10_000)
    covered = np.isfinite(bounds).all(axis=0)
    assert 10 < covered.sum() < 10_000
    assert exceeds(certificate, dynamics, states, int(covered.sum()) - 1) <= 1 + 1e-12


def test_a_rigid_body_written_as_a_plain_quadratic_system_makes_no_energy():
    """Exact cancellation of numbers that need not be built to cancel."""
    dynamics = FullQuadratic(3).double()
    with torch.no_grad():
        dynamics.linear.zero_()
        dynamics.bias.zero_()
        dynamics.tensor.zero_()
        for place, value in (((0, 1, 2), -1.0), ((1, 2, 0), 2.0), ((2, 0, 1), -1.0)):
            dynamics.tensor[place] = value
    claims = certify(dynamics, np.ones((1, 3)), step=0.01, method="rk4", substeps=4).claims
    assert claims.defect == 0.0
    assert claims.escape_time is None
    assert "bounded over any finite horizon" in claims.reason


def test_a_defect_lets_states_escape_at_a_time_that_is_told():
    """a' = a²: from 1 it is gone at t = 1, and the comparison says so exactly."""
    dynamics = FullQuadratic(1).double()
    with torch.no_grad():
        dynamics.linear.zero_()
        dynamics.bias.zero_()
        dynamics.tensor.fill_(1.0)
    claims = certify(dynamics, np.array([[1.0]]), step=0.01, method="rk4").claims
    assert claims.verdict == "refused"
    assert claims.escape_time == pytest.approx(1.0, rel=1e-9)
    assert claims.escape_time <= 1.0
    assert "up to t = 1 (100 steps)" in claims.reason


def test_growth_is_not_called_bounded():
    dynamics = dissipative(np.zeros((3, 3)), np.zeros((3, 1)), -1e-9)
    claims = certify(dynamics, np.ones((1, 3))).claims
    assert claims.verdict == "refused"
    assert "may make energy" in claims.reason


# Other centres, other metrics


def lorenz(shift=0.0):
    """Lorenz 1963 with its third coordinate moved: it loses energy about (0, 0, ρ + σ - shift)."""
    sigma, rho, beta = 10.0, 28.0, 8.0 / 3.0
    dynamics = FullQuadratic(3).double()
    with torch.no_grad():
        dynamics.tensor.zero_()
        dynamics.tensor[1, 0, 2] = -1.0
        dynamics.tensor[2, 0, 1] = 1.0
        dynamics.linear.copy_(
            torch.tensor([[-sigma, sigma, 0], [rho - shift, -1, 0], [0, 0, -beta]])
        )
        dynamics.bias.copy_(torch.tensor([0.0, 0.0, -beta * shift]))
    return dynamics


def test_a_centre_is_searched_where_that_at_zero_covers_too_little():
    """Zero loses energy, with a defect, in a ball that misses the training states."""
    dynamics = lorenz(shift=37.0)
    with torch.no_grad():
        dynamics.tensor[0, 0, 0] = 0.004
    states = np.array([[0.0, 0.0, 1.0], [5.0, 5.0, 0.0]])
    about_zero = np.linalg.eigvalsh((dynamics.linear + dynamics.linear.T).detach().numpy() / 2)
    assert about_zero[-1] < 0
    claims = certify(dynamics, states, step=0.001, method="rk4", substeps=4).claims
    assert "centre" in claims.metric


def scaled_conserving(rng, dim, change):
    """A certified system, and the same one as T a."""
    skew = rng.normal(size=(dim, dim, dim))
    skew = skew - skew.transpose(1, 0, 2)
    slices = 0.3 * (skew + skew.transpose(0, 2, 1)) / 2
    turning = rng.normal(size=(dim, dim))
    linear = (turning - turning.T) / 2 - np.diag(rng.uniform(0.5, 1.0, dim))
    back = np.linalg.inv(change)
    dynamics = FullQuadratic(dim).double()
    with torch.no_grad():
        seen = np.einsum("il,lmn,mj,nk->ijk", change, slices, back, back, optimize=True)
        dynamics.tensor.copy_(torch.as_tensor(seen))
        dynamics.linear.copy_(torch.as_tensor(change @ linear @ back))
        dynamics.bias.copy_(torch.as_tensor(change @ (0.01 * rng.normal(size=dim))))
    return dynamics


@pytest.mark.parametrize("stretch", [1.0, 3.0])
@pytest.mark.parametrize("dim", [2, 4, 10])
def test_a_conservative_system_seen_in_other_coordinates_is_certified(dim, stretch):
    rng = np.random.default_rng(dim)
    left, right = (np.linalg.qr(rng.normal(size=(dim, dim)))[0] for _ in range(2))
    change = left @ np.diag(np.exp(np.linspace(-stretch, stretch, dim) / 2)) @ right
    dynamics = scaled_conserving(rng, dim, change)
    states = 0.3 * rng.normal(size=(8, dim)) @ change.T
    certificate = certify(dynamics, states, step=0.02, method="rk4", substeps=8)
    assert certificate.claims.certified, certificate.text()
    assert "conserves" in certificate.claims.metric
    assert certificate.claims.defect < 1e-6
    assert exceeds(certificate, dynamics, states, 500) <= 1 + 1e-12


def test_a_linear_part_with_a_bias_and_no_quadratic_term_is_judged_as_a_linear_system():
    """Strong transient growth: the plain norm refuses it, its own does not."""
    dynamics = FullQuadratic(2).double()
    with torch.no_grad():
        dynamics.tensor.zero_()
        dynamics.linear.copy_(torch.tensor([[-1.0, 30.0], [0.0, -1.2]]))
        dynamics.bias.fill_(0.1)
    states = np.random.default_rng(0).normal(size=(5, 2))
    certificate = certify(dynamics, states, step=0.1, method="rk4", substeps=50)
    assert certificate.claims.certified, certificate.text()
    assert exceeds(certificate, dynamics, states, 200) <= 1 + 1e-12


def test_large_systems_are_searched_too():
    """Beyond where the programme is solved exactly: a shift that takes all growth away."""
    dim = LARGEST_PROGRAMME + 2
    rng = np.random.default_rng(4)
    dynamics = LowRankConservative(dim, 2, generator=torch.Generator().manual_seed(0)).double()
    place = np.zeros(dim)
    place[2] = 1.0
    with torch.no_grad():
        dynamics.first.zero_()
        dynamics.second.zero_()
        dynamics.third.zero_()
        # About m = e₂ the pair (0, 1) is damped: S(a) has a₂ between them.
        dynamics.first[0, 0], dynamics.second[0, 2], dynamics.third[0, 0] = 1.0, 1.0, 1.0
        dynamics.free_linear.copy_(-torch.eye(dim))
        dynamics.free_linear[0, 0] = 0.3
        dynamics.bias.zero_()
    states = 2 * rng.normal(size=(20, dim))
    claims = certify(dynamics, states, step=0.01, method="rk4").claims
    names = {condition.name: condition for condition in claims.conditions}
    assert names["the linear part loses energy"].holds, names
    assert "centre" in claims.metric


def test_forecasts_beyond_what_is_proved_have_no_bound():
    dynamics = lorenz()
    certificate = certify(dynamics, 10 * np.ones((2, 3)), step=0.01, method="rk4")
    assert certificate.claims.verdict == "refused"
    assert math.isinf(certificate.bound(1e9, 1)[1])
