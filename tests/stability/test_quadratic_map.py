"""What a map keeps of the bound of its ODE: every claim against its formula written out.

Rounding is made coarse where formulas of it are compared, so that it shows beside the numbers.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.linalg import expm

from smore.dynamics import FullConservative, FullQuadratic, step_map
from smore.dynamics.integrators import CLASSICAL_RK4
from smore.stability._centre import Centre
from smore.stability._quadratic_map import MapClaim, _majorant, certify_map, compound
from smore.stability._quadratic_system import QuadraticSystem
from smore.stability._rk4_majorant import Majorant, substeps_needed
from smore.stability.lyapunov import MARGINAL, Enclosed, Metric
from smore.stability.stepping import Stepping

DIM = 3
COARSE = 1e-3
RK4 = Stepping(0.3, "rk4", 4)


@pytest.fixture
def coarse(monkeypatch):
    """As if there were three digits."""
    for module in ("_quadratic_map", "lyapunov"):
        monkeypatch.setattr(f"smore.stability.{module}.EPSILON", COARSE)


def exactly(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def conservative(margin=2.0, bias=0.4, rotation=1.0, quadratic=1.0):
    rng = np.random.default_rng(0)
    dynamics = FullConservative(DIM, dissipative=True).double()
    with torch.no_grad():
        dynamics.rotation.copy_(rotation * torch.as_tensor(rng.normal(size=(DIM, DIM))))
        dynamics.dissipation.zero_()
        dynamics.margin.fill_(margin)
        dynamics.bias.copy_(bias * torch.as_tensor(rng.normal(size=DIM)))
        dynamics.upper.copy_(quadratic * torch.as_tensor(rng.normal(size=dynamics.upper.shape)))
    return dynamics


def centre(forcing=0.5, growth=-1.0, error=0.0, defect=0.0, shift=(0.0, 0.0, 0.0)):
    return Centre(np.array(shift), forcing, Enclosed(growth, error), defect, 1.0)


def of(dynamics):
    with torch.no_grad():
        return QuadraticSystem.of(dynamics)


def claim(dynamics, about=None, reach=1.0, stepping=RK4, system=None):
    system = of(dynamics) if system is None else system
    about = system.about(np.zeros(DIM)) if about is None else about
    with torch.no_grad():
        return certify_map(dynamics, system, about, reach, stepping)


# Steps one after the other


def test_steps_one_after_the_other_are_the_recursion_written_out():
    """And a unit of rounding for each of them."""
    for once, gain, substeps in ((0.9, 0.2, 7), (1.0, 0.5, 3), (1.1, 0.0, 5), (0.3, 2.0, 1)):
        value, start = 4.0, 4.0
        for _ in range(substeps):
            value = once * value + gain
        factor, forcing = compound(once, gain, substeps)
        assert factor * start + forcing == pytest.approx(value)
        assert factor == pytest.approx(once**substeps)


@pytest.mark.usefixtures("coarse")
def test_each_step_is_allowed_a_unit_of_rounding():
    assert compound(0.5, 3.0, 2) == exactly((0.25 * (1 + 2 * COARSE), 4.5 * (1 + 2 * COARSE)))


@pytest.mark.parametrize(
    ("factor", "keeps", "expected"),
    [(0.5, True, True), (0.5, False, False), (1.0, True, False), (None, True, False)],
)
def test_states_end_up_somewhere_if_a_claim_can_be_used_again_and_shrinks(factor, keeps, expected):
    assert MapClaim(factor, 0.0, 1.0, keeps, "").contracts == expected


def test_a_map_has_nothing_to_inherit_from_an_ode_that_makes_energy():
    found = claim(conservative(), centre(growth=1.0))
    assert (found.factor, found.forcing, found.keeps) == (None, None, False)
    assert found.radius == 0.0
    assert found.detail == "nothing to inherit"
    # Either of the two is enough.
    assert claim(conservative(), centre(growth=0.0, error=1e-14), reach=0.1).factor is not None
    with_defect = centre(growth=-3.0, defect=0.1)
    assert with_defect.dissipates
    assert not with_defect.makes_no_energy
    assert claim(conservative(quadratic=0.1), with_defect, stepping=replace(RK4, substeps=50)).keeps


# Strang steps

STRANG = Stepping(0.8, "strang", 3)


def literal_strang(dynamics, stepping, epsilon):
    """ρ and κ of the matrices that are applied."""
    half = stepping.step / stepping.substeps / 2
    linear, bias = dynamics.linear.detach().numpy(), dynamics.bias.detach().numpy()
    flow = expm(half * linear)
    shift = np.linalg.solve(linear, (flow - np.eye(DIM)) @ bias)
    unit = 4 * DIM * epsilon
    stretch = np.linalg.norm(flow, 2)
    stretch += unit * 2 * np.linalg.norm(flow) + unit * stretch
    rounding = 1 + 4 * (DIM + 8) * epsilon
    push = np.linalg.norm(shift) * rounding
    once, gain = stretch**2 * rounding, push * (stretch * rounding + 1)
    factor, forcing = 1.0, 0.0
    for _ in range(stepping.substeps):
        factor, forcing = factor * once, once * forcing + gain
    slack = 1 + epsilon * stepping.substeps
    return factor * slack, forcing * slack


@pytest.mark.usefixtures("coarse")
def test_a_strang_step_is_two_halves_of_an_affine_flow_with_their_rounding():
    dynamics = conservative()
    found = claim(dynamics, stepping=STRANG)
    factor, forcing = literal_strang(dynamics, STRANG, COARSE)
    assert found.factor == exactly(factor)
    assert found.forcing == exactly(forcing)
    assert found.radius == math.inf
    assert found.keeps
    assert found.detail.endswith(f"V changes by a factor 1 {factor - 1:+.3g}")


def test_strang_steps_keep_close_to_the_matrices_that_are_applied():
    dynamics = conservative()
    found = claim(dynamics, stepping=STRANG)
    factor, forcing = literal_strang(dynamics, STRANG, 0.0)
    assert factor < found.factor < factor * (1 + 1e-12)
    assert forcing < found.forcing < forcing * (1 + 1e-12)


def test_strang_steps_are_taken_about_zero_in_the_plain_norm():
    dynamics = conservative()
    elsewhere = claim(dynamics, centre(shift=(0.0, 1.0, 0.0)), stepping=STRANG)
    other = of(dynamics).in_metric(Metric("other", np.diag([1.0, 2.0, 1.0])))
    stretched = claim(dynamics, centre(), stepping=STRANG, system=other)
    for found in (elsewhere, stretched):
        assert found.factor is None
        assert not found.keeps
        assert found.radius == 0.0
        assert found.detail == "Strang steps are taken about zero"


@pytest.mark.parametrize(("share", "believed"), [(0.9, True), (1.1, False)])
def test_a_stretch_that_rounding_hides_is_no_stretch_while_little_can_be_hidden(
    share, believed, monkeypatch
):
    """Up to what counts as zero."""
    dynamics = conservative(margin=0.0)
    flow = expm(0.1 * dynamics.linear.detach().numpy())
    error = Metric("", np.eye(DIM)).norm(flow).error
    monkeypatch.setattr("smore.stability.lyapunov.EPSILON", 2.0**-52 * share * MARGINAL / error)
    about = centre(growth=0.0, error=1e-15)
    found = claim(dynamics, about, stepping=Stepping(0.2, "strang", 1))
    assert (found.factor is not None) == believed
    assert found.keeps == believed
    if not believed:
        assert found.detail.startswith("as computed, half of the affine flow may stretch by 1 +1.")
        assert found.detail.endswith("e-11")
        assert found.radius == math.inf


def test_a_stretch_beyond_rounding_is_a_stretch():
    about = centre(growth=0.0, error=1e-15)
    found = claim(conservative(margin=-1e-9), about, stepping=Stepping(0.2, "strang", 1))
    assert found.factor is None
    assert found.detail == "as computed, half of the affine flow may stretch by 1 +1e-10"


@pytest.mark.parametrize("size", [(math.inf, 1.0), (1.0, math.inf), (math.nan, math.nan)])
def test_an_overflowing_flow_is_refused(size, monkeypatch):
    """Of its shift alone, of its matrix alone, or of all of it."""
    flow, shift = (torch.eye(DIM).double() / 2 * size[0], torch.ones(DIM).double() * size[1])
    monkeypatch.setattr("smore.stability._quadratic_map.affine_flow", lambda *_: (flow, shift))
    overflows = claim(conservative(), centre(), stepping=STRANG)
    monkeypatch.undo()
    really = claim(conservative(margin=-1e4), centre(), stepping=Stepping(20.0, "strang", 1))
    for found in (overflows, really):
        assert found.factor is None
        assert not found.keeps
        assert found.detail == "the affine flow overflows"


# Runge-Kutta steps


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("shift", [(0.0, 0.0, 0.0), (1.0, -2.0, 0.5)])
def test_the_majorant_dominates_the_system_seen_from_the_centre(shift):
    dynamics = conservative()
    change = Metric("other", np.array([[2.0, 1.0, 0.0], [0.0, 0.5, 3.0], [0.0, 0.0, 1.5]]))
    system = replace(of(dynamics).in_metric(change), linear_error=0.7, slices_error=0.2)
    about, radius = centre(forcing=0.6, shift=shift), 2.5
    with torch.no_grad():
        found = _majorant(dynamics, system, about, radius, RK4)
    flat = system.slices.numpy().reshape(DIM, -1)
    strength = np.linalg.norm(flat, 2) + 0.2
    place = np.linalg.norm(change.factor @ np.array(shift))
    assert found.forcing == 0.6
    assert found.quadratic == exactly(strength)
    assert found.linear == exactly(np.linalg.norm(system.linear, 2) + 0.7 + 2 * strength * place)
    back = np.linalg.norm(np.linalg.inv(change.factor), 2)
    far = np.linalg.norm(shift) + back * radius
    bias, linear = dynamics.bias.detach().numpy(), dynamics.linear.detach().numpy()
    slope = np.linalg.norm(bias) + DIM * np.linalg.norm(linear) * far
    slope += DIM**2 * float(dynamics.magnitude.detach()) * far**2
    rounding = 4 * COARSE * (DIM * far + 0.3 * slope) * np.linalg.norm(change.factor, 2)
    assert found.rounding == exactly(rounding)


def test_the_rounding_of_a_step_is_enclosed():
    """Against the same step in long double."""
    dynamics, rng, once = conservative(), np.random.default_rng(1), Stepping(0.05, "rk4", 1)
    system = of(dynamics)
    with torch.no_grad():
        bound = _majorant(dynamics, system, centre(), 1.0, once).rounding
    arrays = (dynamics.bias, dynamics.linear, system.slices)
    bias, linear, slices = (each.detach().numpy().astype(np.longdouble) for each in arrays)

    def field(state):
        return bias + linear @ state + (slices @ state) @ state

    steps = torch.full((1, 1), once.step, dtype=torch.float64)
    advance = step_map(dynamics, steps, method="rk4")
    errors = []
    for _ in range(50):
        start = rng.normal(size=DIM)
        start /= np.linalg.norm(start)
        state, step = start.astype(np.longdouble), np.longdouble(once.step)
        one = field(state)
        two = field(state + step / 2 * one)
        three = field(state + step / 2 * two)
        four = field(state + step * three)
        precise = state + step / 6 * (one + 2 * two + 2 * three + four)
        with torch.no_grad():
            taken = advance(torch.as_tensor(start)[None], 0)[0].numpy()
        errors.append(float(np.linalg.norm(taken - precise)))
    assert 0 < max(errors) <= bound


@pytest.mark.parametrize(
    ("about", "reach", "radius"),
    [
        (centre(forcing=0.5), 1.0, 2.0),  # twice the reach
        (centre(forcing=3.0), 1.0, 6.0),  # twice where states end
        (centre(forcing=0.1, defect=0.4), 1.0, 1.25),  # no more than where claims hold
        (centre(forcing=0.1, defect=0.1), 1.0, 2.0),
        (centre(forcing=3.0, growth=0.0, error=1e-14), 1.0, 2.0),  # they end nowhere
    ],
)
def test_the_ball_has_room_for_twice_what_it_must_hold(about, reach, radius):
    found = claim(conservative(quadratic=0.1), about, reach, replace(RK4, substeps=100))
    assert found.radius == pytest.approx(radius)
    assert found.factor is not None


@pytest.mark.parametrize("defect", [0.0, 0.05])
def test_a_runge_kutta_step_loses_what_the_ode_does_but_for_its_local_error(defect):
    dynamics, about = conservative(quadratic=0.5), centre(forcing=0.5, growth=-1.5, defect=defect)
    stepping = Stepping(0.6, "rk4", 12)
    found = claim(dynamics, about, 1.0, stepping)
    step = 0.6 / 12
    with torch.no_grad():
        majorant = _majorant(dynamics, of(dynamics), about, 2.0, stepping)
    error = majorant.local_error(2.0, step, CLASSICAL_RK4)
    margin = 1.5 if defect == 0 else 0.75
    once = math.exp(-margin * step)
    gain = (1 - once) * 0.5 / margin + error
    assert error > 1e-6 * gain
    assert found.radius == 2.0
    assert found.factor == exactly(once**12)
    assert found.forcing == exactly(gain * sum(once**power for power in range(12)))
    needed = substeps_needed(majorant, margin, 2.0, 0.6, CLASSICAL_RK4)
    assert 1 < needed <= 12
    assert found.keeps
    assert found.substeps_needed == needed
    assert f"({needed} substeps suffice)" in found.detail


def test_too_few_substeps_are_told_how_many_would_do():
    dynamics, about = conservative(), centre()
    needed = claim(dynamics, about, 1.0, Stepping(0.6, "rk4", 10**5)).substeps_needed
    assert claim(dynamics, about, 1.0, Stepping(0.6, "rk4", needed)).keeps
    found = claim(dynamics, about, 1.0, Stepping(0.6, "rk4", needed - 1))
    assert (found.factor, found.forcing, found.keeps) == (None, None, False)
    assert found.substeps_needed == needed
    assert found.radius == 2.0
    assert found.detail == f"{needed - 1} per interval are too few; {needed} substeps would"


def test_where_no_number_of_substeps_is_known_none_is_told():
    """Rounding is more than the ODE loses, however short the step."""
    found = claim(conservative(), centre(forcing=0.0, growth=-1e-13))
    assert found.factor is None
    assert found.substeps_needed is None
    assert found.detail == "4 per interval are too few; no number of substeps is known to"


@pytest.mark.parametrize("growth", [0.0, 0.2])
def test_without_loss_local_errors_add_up(growth):
    dynamics = conservative(quadratic=0.5, margin=0.0)
    about = replace(centre(forcing=0.5, growth=0.0, error=growth), size=1e12)
    assert about.makes_no_energy
    found = claim(dynamics, about, 1.0, RK4)
    step = 0.3 / 4
    with torch.no_grad():
        majorant = _majorant(dynamics, of(dynamics), about, 2.0, RK4)
    error = majorant.local_error(2.0, step, CLASSICAL_RK4)
    once = math.exp(growth * step)
    gain = 0.5 * ((once - 1) / growth if growth else step) + error
    assert error > 1e-6 * gain
    assert found.factor == exactly(once**4)
    assert found.forcing == exactly(gain * sum(once**power for power in range(4)))
    assert not found.keeps
    assert found.detail.startswith(f"local errors of {error:.2g} per step add up")


def test_without_loss_and_without_a_bound_of_local_errors_nothing_is_claimed():
    found = claim(conservative(margin=0.0), centre(growth=0.0, error=1e-14), 1e3)
    assert (found.factor, found.forcing, found.keeps) == (None, None, False)
    assert found.detail == "its local error has no bound"


def test_a_system_that_is_not_conservative_takes_runge_kutta_steps_too():
    dynamics = FullQuadratic(DIM).double()
    found = claim(dynamics, centre(), 1.0, Stepping(0.05, "rk4", 4))
    with torch.no_grad():
        majorant = _majorant(dynamics, of(dynamics), centre(), 2.0, Stepping(0.05, "rk4", 4))
    assert isinstance(majorant, Majorant)
    assert found.keeps == (substeps_needed(majorant, 1.0, 2.0, 0.05, CLASSICAL_RK4) <= 4)
