"""Colours are decided by the data: white is zero where a field has both signs."""

import matplotlib
import numpy as np
import pytest

from smore.plotting.colours import (
    DIVERGING,
    OF_ERRORS,
    SEQUENTIAL,
    error_colours,
    field_colours,
    signed_colours,
)


@pytest.mark.parametrize("values", [[-1.0, 0.5, 3.0], [-3.0, 2.9], [-1e-9, 2e-9, np.nan]])
def test_a_field_with_both_signs_is_centred_on_zero(values):
    values = np.array(values)
    colours = field_colours(values)
    assert colours.name == DIVERGING
    assert colours.limits == (-np.nanmax(np.abs(values)), np.nanmax(np.abs(values)))


@pytest.mark.parametrize(
    "values", [[270.0, 300.0], [-30.0, -2.0], [-0.1, 1.0], [0.0, 4.0], [np.nan, 2.0, 3.0]]
)
def test_any_other_field_runs_from_lowest_to_highest(values):
    values = np.array(values)
    colours = field_colours(values)
    assert colours.name == SEQUENTIAL
    assert colours.limits == (np.nanmin(values), np.nanmax(values))


def test_departures_are_centred_whatever_they_are():
    assert signed_colours(np.array([1.0, 3.0])).limits == (-3.0, 3.0)
    low, high = signed_colours(np.zeros(3)).limits
    assert low < 0 < high


def test_errors_start_at_zero_and_do_not_run_away():
    assert error_colours(np.array([0.1, 0.4])).limits == (0.0, 0.4)
    assert error_colours(np.array([0.1, np.inf, 1e9]), most=2.0).limits == (0.0, 2.0)
    assert error_colours(np.zeros(3)).high > 0
    assert np.isfinite(field_colours(np.full(3, np.nan)).limits).all()


def test_lightness_alone_tells_values_apart():
    """Whatever colours somebody sees: it rises along the maps, on both sides of a centred one."""
    ramp = np.linspace(0, 1, 64)
    for name in (SEQUENTIAL, OF_ERRORS):
        light = matplotlib.colormaps[name](ramp)[:, :3] @ [0.2126, 0.7152, 0.0722]
        assert (np.diff(light) > 0).all()
    light = matplotlib.colormaps[DIVERGING](ramp)[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(light[:32]) > 0).all()
    assert (np.diff(light[32:]) < 0).all()
