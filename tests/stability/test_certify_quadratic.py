"""Certificates of linear-quadratic dynamics at the edge of what is true.

Systems that rounding undoes must be refused, systems that are stable in some sense must be told in
which; whatever is claimed is checked against rollouts of the map it is claimed for.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from side_by_side import side_by_side
from smore.dynamics import FullConservative, FullQuadratic, LowRankConservative, rollout, step_map
from smore.stability._centre import Centre
from smore.stability._certify_quadratic import (
    _Attempt,
    _attempts,
    _claims,
    _shifts,
    certify_quadratic,
)
from smore.stability._quadratic_map import MapClaim
from smore.stability._quadratic_system import QuadraticSystem
from smore.stability._shift import LARGEST_PROGRAMME, Shifted
from smore.stability.certify import certify_dynamics
from smore.stability.lyapunov import Enclosed
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
    # Below this the squares of a norm have lost their digits: 1.1 times the bound at V = 2e-162.
    return float((certificate.distance(path.numpy()) / np.maximum(bounds, 1e-150)).max())


# What rounding undoes


def stiff(scale, margin, seed=0, dim=20, columns=10, bias=0.0):
    rng = np.random.default_rng(seed)
    rotation = rng.normal(size=(dim, dim))
    dissipation = scale * rng.normal(size=(dim, min(columns, dim)))
    return dissipative(rotation, dissipation, margin, bias)


def test_margins_below_the_rounding_of_the_linear_part_are_not_believed():
    """D Dᵀ is known to ε ‖D‖²: ten of these fifteen were certified, and grew."""
    kinds = list(itertools.product([3.0, 1e2, 1e4, 1e5, 1e6], [1e-12, 1e-9, 1e-6]))
    systems = [stiff(scale, margin) for scale, margin in kinds]
    states = np.random.default_rng(1).normal(size=(4, 20))
    everywhere = np.stack([states] * len(kinds))
    paths = side_by_side(systems, everywhere, Stepping(1.0, "strang", 1), 2000)
    for (scale, margin), dynamics, path in zip(kinds, systems, paths, strict=True):
        certificate = certify(dynamics, states)
        rounding = np.finfo(float).eps * scale**2 * 20
        if margin < rounding:
            assert not certificate.claims.certified, (scale, margin)
        if certificate.claims.map_factor is not None:
            bounds = certificate.bound(certificate.distance(states), 2000)
            excess = certificate.distance(path) / np.maximum(bounds, 1e-300)
            assert excess.max() <= 1 + 1e-12, (scale, margin)


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


# What an attempt proves, and the words for it

STEPPING = Stepping(0.5, "rk4", 2)


def attempt(
    growth=-1.0,
    error=1e-14,
    forcing=0.25,
    defect=0.0,
    shift=(0.0, 0.0),
    dynamics=None,
    reach=2.0,
    **claimed,
):
    if dynamics is None:
        dynamics = FullConservative(2, dissipative=True).double()
    known = {"factor": 0.5, "radius": math.inf, "keeps": True, "detail": "as told"} | claimed
    push = None if known["factor"] is None else 0.5
    return _Attempt(
        dynamics,
        QuadraticSystem.of(dynamics),
        Centre(np.array(shift), forcing, Enclosed(growth, error), defect, 1.0),
        MapClaim(forcing=push, **known),
        reach,
    )


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "certified"),
        ({"radius": 2.0}, "certified"),  # up to the edge
        ({"radius": 1.9}, "refused"),
        ({"factor": 1.0}, "bounded"),
        ({"factor": None, "keeps": False}, "refused"),
        ({"growth": 1.0}, "refused"),
        ({"growth": 0.0}, "bounded"),
        ({"growth": 0.0, "factor": 1.0}, "bounded"),
        ({"growth": 0.0, "factor": 1.0, "radius": 2.0}, "bounded"),
        ({"growth": 0.0, "factor": 1.0, "radius": 1.9}, "refused"),
        ({"growth": 0.0, "factor": 1.0, "keeps": False}, "refused"),
        ({"growth": 0.0, "defect": 0.1}, "refused"),
        ({"growth": -4.0, "defect": 0.1}, "certified"),
        ({"growth": -4.0, "defect": 0.1, "factor": 1.0}, "refused"),
    ],
)
def test_a_verdict_needs_the_ode_the_map_and_the_training_states(changes, verdict):
    assert attempt(**changes).verdict == verdict


def test_the_better_certificate_is_preferred():
    order = [
        attempt(growth=-2.0),
        attempt(),
        attempt(growth=-1e-15),
        attempt(growth=0.0),
        attempt(growth=-1.0, keeps=False),  # refused; the map is known for a while
        attempt(growth=-0.5, keeps=False),
        attempt(growth=1.0, defect=0.1, reach=1.0),  # finite up to a time, and that is longer
        attempt(growth=-9.0, defect=9.0, reach=2.0, keeps=False),
        attempt(growth=-1.0, factor=None, keeps=False),
        attempt(growth=1.0, factor=None, keeps=False),
    ]
    ranks = [each.rank for each in order]
    assert all(one < two for one, two in itertools.pairwise(ranks))


def test_the_first_of_equals_is_taken_and_nobody_asks_beyond_a_certificate(monkeypatch):
    def offered(*attempts):
        monkeypatch.setattr(
            "smore.stability._certify_quadratic._attempts", lambda *_: iter(attempts)
        )
        return certify_quadratic(attempts[0].dynamics, np.ones((1, 2)), STEPPING)

    one, two = (attempt(growth=0.0, detail=detail) for detail in ("one", "two"))
    assert offered(one, two).claims.conditions[3].detail == "one"
    better = attempt(detail="better")
    assert offered(one, better).claims.conditions[3].detail == "better"
    assert offered(better, one).claims.conditions[3].detail == "better"
    best = attempt(growth=-2.0, detail="best")
    assert offered(one, better, best).claims.conditions[3].detail == "better"  # certified already


def condition(claims, name):
    return next(each for each in claims.conditions if name in each.name)


def test_a_certificate_tells_where_states_end():
    claims = _claims(attempt(), STEPPING)
    assert claims.reason == "from any state forecasts end within 1 (training states: 2)"
    assert claims.remedy is None
    assert claims.radius is None
    assert claims.margin == pytest.approx(1.0)
    assert (claims.forcing, claims.defect) == (0.25, 0.0)
    assert (claims.map_factor, claims.map_forcing) == (0.5, 0.5)
    assert claims.metric == "the norm of the latents"
    assert all(each.holds for each in claims.conditions)
    assert condition(claims, "quadratic term").detail == "by construction"
    assert condition(claims, "linear part").detail == "margin γ = 1 ± 1e-14 about zero"
    assert condition(claims, "linear part").value == pytest.approx(1.0)
    assert condition(claims, "forcing").detail == (
        "‖d‖ = 0.25: states end within 0.25, claims hold up to inf"
    )
    assert condition(claims, "training states").detail == "up to 2 from the centre"


def test_a_certificate_of_a_ball_tells_how_large_it_is():
    found = attempt(radius=3.0, shift=(0.0, 1.0), growth=-4.0, defect=0.1)
    claims = _claims(found, STEPPING)
    assert claims.reason == (
        "from any state within 3 of the centre forecasts end within 1 (training states: 2)"
    )
    assert claims.radius == 3.0
    assert claims.margin == pytest.approx(2.0)
    assert claims.metric == "the norm of the latents, from a centre found for it"
    assert not condition(claims, "quadratic term").holds
    assert condition(claims, "quadratic term").detail == "cyclic defect η_Q = 0.1"
    assert condition(claims, "linear part").detail.endswith("about the best centre found")


def test_energy_is_conserved_by_construction_only_where_it_is_built_so():
    claims = _claims(attempt(dynamics=FullQuadratic(2).double()), STEPPING)
    assert condition(claims, "quadratic term").holds
    assert condition(claims, "quadratic term").detail == "cyclic defect η_Q = 0"


def test_what_is_bounded_tells_how_fast_it_may_grow():
    grows = _claims(attempt(growth=0.0, factor=1 + 2e-15), STEPPING)
    assert grows.reason == (
        "the distance from the centre grows by at most 0.5 per step, 5e+03 in 10,000 steps "
        "(training states: 2); rounding may add 2e-15 per step"
    )
    assert grows.remedy is None
    assert grows.margin == pytest.approx(-1e-14)
    rests = attempt(growth=0.0, factor=1 + 2e-15, forcing=0.0)
    assert _claims(rests, STEPPING).reason == (
        "no state ever grows, and none has to decay; rounding may add 2e-15 per step"
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"factor": None, "keeps": False},
            "the ODE is bounded, its map is not proved to be: as told",
        ),
        ({"radius": 1.5}, "training states reach 2, claims only 1.5"),
        (
            {"growth": 0.0, "factor": None, "keeps": False},
            "the ODE is bounded over any finite horizon, growing by 0.25 per unit of time at "
            "most; its map is not covered for long: as told",
        ),
        ({"growth": 0.5}, "the linear part may make energy, at a rate up to 0.5"),
        (
            {"growth": 0.0, "defect": 0.5, "forcing": 0.0},
            "the linear part may make energy, at a rate up to 1e-14; from training states the ODE "
            "is proved finite up to t = 1 (2 steps) and no longer",
        ),
        (
            {"growth": -0.5, "error": 0.5, "defect": 0.5, "forcing": 0.0},  # γ = 0 loses nothing
            "the linear part may make energy, at a rate up to 0; from training states the ODE "
            "is proved finite up to t = 1 (2 steps) and no longer",
        ),
        (
            {"growth": -1.0, "defect": 1.0, "forcing": 9.0, "reach": 0.0},
            "the quadratic term makes more energy than the linear part is sure to lose; from "
            "training states the ODE is proved finite up to t = 0.588 (1.18 steps) and no longer",
        ),
    ],
)
def test_a_refusal_tells_what_is_missing(changes, reason):
    found = attempt(**changes)
    assert found.verdict == "refused"
    claims = _claims(found, STEPPING)
    assert claims.reason == reason
    assert claims.remedy is not None
    escapes = "no longer" in reason
    assert (claims.escape_time is not None) == escapes
    assert (claims.margin is not None) == found.centre.dissipates


def test_what_is_not_known_is_not_said_to_hold():
    unknown = _claims(attempt(factor=None, keeps=False), STEPPING)
    assert not condition(unknown, "training states").holds
    assert not condition(unknown, "the map").holds
    outside = _claims(attempt(radius=1.0), STEPPING)
    assert not condition(outside, "training states").holds
    for margin in ({"growth": 1.0}, {"growth": -0.5, "error": 0.5}):  # γ = -1 and γ = 0
        claims = _claims(attempt(**margin), STEPPING)
        assert condition(claims, "forcing").value is None
        assert condition(claims, "forcing").detail == (
            "‖d‖ = 0.25, and nothing that loses energy to balance it"
        )
        assert not condition(claims, "linear part").holds


def test_remedies_are_what_would_help_next():
    plain = attempt(growth=1.0, dynamics=FullQuadratic(2).double())
    assert "dissipative=True" in _claims(plain, STEPPING).remedy
    free = attempt(growth=1.0, dynamics=FullConservative(2).double())
    assert _claims(free, STEPPING).remedy == "dissipative=True"
    coarse = attempt(factor=None, keeps=False)
    assert _claims(coarse, STEPPING).remedy == "integrator 'strang'"
    assert _claims(attempt(radius=1.0), STEPPING).remedy == "a shorter horizon"
    grows = attempt(growth=1.0, factor=None, keeps=False)
    assert _claims(grows, STEPPING).remedy == "a shorter horizon"


def test_strang_steps_have_one_centre_and_others_have_more():
    states = np.ones((2, 3))
    for margin, method, alone in (
        (1.0, "strang", True),
        (0.0, "strang", True),
        (-1.0, "strang", False),
        (1.0, "rk4", False),
    ):
        dynamics = dissipative(np.zeros((3, 3)), np.zeros((3, 1)), margin, upper=1.0)
        with torch.no_grad():
            found = list(_attempts(dynamics, states, Stepping(0.1, method, 1)))
        assert (len(found) == 1) == alone


def test_distances_of_training_states_are_those_from_the_centre():
    dynamics, states = lorenz(), 10 * np.random.default_rng(0).normal(size=(6, 3))
    with torch.no_grad():
        found = list(_attempts(dynamics, states, Stepping(0.01, "rk4", 1)))
    assert any(not each.centre.at_zero for each in found)
    for each in found:
        offsets = (states - each.centre.shift) @ each.system.metric.factor.T
        assert each.training_radius == pytest.approx(np.linalg.norm(offsets, axis=1).max())


@pytest.mark.parametrize(
    ("dim", "growth", "count"), [(256, 0.0, 1), (256, -1.0, 2), (256, 1.0, 1), (257, -1.0, 0)]
)
def test_centres_are_searched_up_to_256_dimensions_and_improved_where_they_lose_energy(
    dim, growth, count, monkeypatch
):
    found = Shifted(torch.zeros(dim).double(), torch.zeros(dim).double(), growth)
    for name in ("best_shift", "improve_radius"):
        monkeypatch.setattr(f"smore.stability._certify_quadratic.{name}", lambda *_: found)
    small = QuadraticSystem.of(FullQuadratic(2).double())
    system = replace(
        small,
        metric=replace(small.metric, factor=np.eye(dim)),
        bias=np.zeros(dim),
        linear=np.eye(dim),
        slices=torch.zeros(()).double().expand(dim, dim, dim),
    )
    assert len(list(_shifts(system, np.ones((1, dim))))) == count
