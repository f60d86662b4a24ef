"""The comparison equation v' = c + λ v + η v², and what a centre makes of it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from smore.stability._centre import Centre, escape_time
from smore.stability.lyapunov import MARGINAL, Enclosed

sizes = st.floats(1e-3, 1e3)


def centre(forcing=0.0, growth=-1.0, error=0.0, defect=0.0, size=1.0, shift=(0.0, 0.0)):
    return Centre(np.array(shift), forcing, Enclosed(growth, error), defect, size)


@given(st.floats(0, 10), st.floats(-10, 10), sizes, st.floats(0, 10))
def test_escape_takes_as_long_as_the_integral_says(forcing, growth, defect, start):
    def speed(v):
        return forcing + growth * v + defect * v**2

    found = escape_time(forcing, growth, defect, start)
    grid = start + np.concatenate([[0.0], np.geomspace(1e-6, 1e6, 4000)])
    lowest = float(speed(grid).min())
    if math.isinf(found):
        assert lowest <= 1e-6 * (1 + abs(growth) * start + defect * start**2)
        return
    if lowest < 1e-3 * speed(start + 1):  # nearly a root: no quadrature to compare with
        return
    # v = start + s / (1 - s) brings infinity to 1.
    expected, _ = quad(lambda s: 1 / (speed(start + s / (1 - s)) * (1 - s) ** 2), 0, 1, limit=200)
    assert found == pytest.approx(expected, rel=1e-6)


def test_escape_in_closed_form():
    assert escape_time(0.0, 0.0, 2.0, 3.0) == pytest.approx(1 / 6)  # v' = 2 v²
    assert escape_time(1.0, 0.0, 1.0, 0.0) == pytest.approx(math.pi / 2)  # v = tan t
    assert escape_time(1.0, 0.0, 1.0, 1.0) == pytest.approx(math.pi / 4)
    assert escape_time(0.0, 1.0, 1.0, 1.0) == pytest.approx(math.log(2))  # logistic
    assert escape_time(0.0, -1.0, 1.0, 2.0) == pytest.approx(math.log(2))
    assert escape_time(1.0, 2.0, 1.0, 0.0) == pytest.approx(1.0)  # v' = (v + 1)²
    assert escape_time(1.0, 2.0 + 1e-9, 1.0, 0.0) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    ("forcing", "growth", "defect", "start"),
    [(1.0, 5.0, 0.0, 9.0), (0.0, -1.0, 1.0, 1.0), (0.0, 0.0, 1.0, 0.0), (0.1, -1.0, 1.0, 0.5)],
)
def test_nothing_escapes_without_a_defect_or_below_a_resting_point(forcing, growth, defect, start):
    assert escape_time(forcing, growth, defect, start) == math.inf


def test_the_solution_itself_escapes_then():
    """By small steps of the equation: still finite a little before, huge at the time."""
    forcing, growth, defect, v = 0.3, -0.2, 0.4, 0.5
    end = escape_time(forcing, growth, defect, v)
    step = end / 200_000
    for _ in range(199_000):
        slope = forcing + growth * v + defect * v**2
        middle = v + step / 2 * slope
        v += step * (forcing + growth * middle + defect * middle**2)
    assert 100 < v < 1e4
    assert v == pytest.approx(1 / (defect * 1_000 * step), rel=0.05)


def test_without_a_defect_claims_hold_everywhere_at_the_full_margin():
    found = centre(forcing=3.0, growth=-2.0, error=0.5)
    assert found.gamma == 1.5
    assert found.margin == 1.5
    assert found.radius == math.inf
    assert found.absorbing == 2.0
    assert found.dissipates


def test_half_the_margin_pays_for_a_defect():
    """Up to γ / (2 η): there η V² is half of γ V."""
    found = centre(forcing=0.1, growth=-2.0, defect=0.25)
    assert found.radius == 4.0
    assert found.margin == 1.0
    assert found.absorbing == 0.1
    assert found.dissipates
    radius = found.radius
    assert found.defect * radius**2 == pytest.approx((found.gamma - found.margin) * radius)


def test_forcing_that_the_region_does_not_hold_is_not_balanced():
    assert centre(forcing=3.9, growth=-2.0, defect=0.25).dissipates
    assert not centre(forcing=4.0, growth=-2.0, defect=0.25).dissipates
    assert not centre(forcing=0.0, growth=0.0).dissipates
    assert not centre(forcing=0.0, growth=-1.0, error=1.0).dissipates
    assert centre(growth=1.0).absorbing == math.inf
    assert centre(growth=0.0).absorbing == math.inf


@pytest.mark.parametrize(
    ("growth", "error", "defect", "expected"),
    [
        (0.0, 1e-14, 0.0, True),
        (1e-14, 1e-14, 0.0, True),
        (1.1e-14, 1e-14, 0.0, False),  # more than rounding explains
        (0.0, 0.9 * MARGINAL, 0.0, True),
        (0.0, 1.1 * MARGINAL, 0.0, False),  # rounding could hide too much
        (-1.0, 1e-3, 0.0, True),
        (-1e-3, 1e-3, 0.0, True),  # surely not more than zero
        (0.0, 1e-14, 1e-12, False),  # the smallest defect wins in the end
    ],
)
def test_zero_growth_is_zero_as_far_as_rounding_can_tell(growth, error, defect, expected):
    assert centre(growth=growth, error=error, defect=defect).makes_no_energy == expected


def test_what_zero_is_depends_on_the_size_of_the_system():
    assert not centre(growth=0.0, error=2 * MARGINAL, size=1.0).makes_no_energy
    assert centre(growth=0.0, error=2 * MARGINAL, size=3.0).makes_no_energy


def test_a_centre_knows_whether_it_is_zero():
    assert centre().at_zero
    assert not centre(shift=(0.0, 1e-30)).at_zero


def test_escape_is_that_of_the_enclosed_growth():
    found = centre(forcing=0.2, growth=0.1, error=0.05, defect=0.3)
    assert found.escape_time(1.5) == escape_time(0.2, 0.1 + 0.05, 0.3, 1.5)
