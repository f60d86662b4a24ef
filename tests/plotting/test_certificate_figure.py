"""Certificates are drawn whatever their bounds: infinite ones as far as they go."""

import io
from dataclasses import replace

import numpy as np
import pytest

from smore.plotting import certificate_figure
from smore.plotting.certificate import linear_part, rollouts
from waves import planted, trajectories


@pytest.fixture(scope="module")
def drawn():
    """A model, its rollouts, and the bound of its forecasts."""
    model = planted(trajectories())
    return model, rollouts(model.surrogate_, 199), model.forecast_bound(trajectories())


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("largest", [1e30, 1.7e308, np.inf])
def test_a_bound_that_grows_out_of_the_picture_says_from_where_on(largest, drawn):
    model, path, forecast = drawn
    bound = forecast.bound.copy()
    bound[3:] = largest
    figure = certificate_figure(
        model.certify(), linear_part(model.surrogate_), path, replace(forecast, bound=bound)
    )
    figure.savefig(io.BytesIO(), format="png")
    axes = figure.axes[2]
    assert "bound (Theorem 3), too large from step 3 on" in labels(axes)
    assert axes.get_ylim()[1] < 1e10
    shown = axes.lines[0].get_ydata()
    np.testing.assert_array_equal(shown[:3], bound[:3])
    assert np.isnan(shown[3:]).all()


def test_a_system_without_any_bound_is_drawn(drawn):
    model, path, _ = drawn
    certificate = model.certify()
    nothing = certificate.claims.model_copy(update={"map_factor": None})
    figure = certificate_figure(
        replace(certificate, claims=nothing), linear_part(model.surrogate_), path
    )
    figure.savefig(io.BytesIO(), format="png")
    assert "bound, too large from step 0 on" in labels(figure.axes[1])
