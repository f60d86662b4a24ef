"""The answer to "when does this forecast stop being worth anything", in all its cases."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from smore import Trajectories
from smore.evaluation import LeadScores, Skill
from smore.report._worth import Worth, dmd_by_lead, over_all, worth_by_channel


class Description:
    """Steps of half an hour."""

    from smore.data import Clock, Pace

    clock, pace, step = Clock(units="h"), Pace(scale=0.5), 1.0


class Unitless(Description):
    from smore.data import Clock

    clock = Clock()


def skill(model, persistence, climatology=None, **others):
    """Squared errors by lead."""
    nmse = {"model": model, "persistence": persistence}
    nmse |= {"climatology": climatology or [1.0] * len(model)} | others
    scores = LeadScores(
        mse=nmse, nmse=nmse, full_nmse={}, anomaly_correlation={}, crps=None, spread=None
    )
    leads = tuple(range(1, len(model) + 1))
    return Skill(1, leads, scores, None, None, {}, None, False)


def test_worth_while_it_is_better_than_what_needs_no_model():
    worth = Worth.of(skill([0.01, 0.25, 0.81, 1.2], [0.04, 1.1, 2.0, 2.0]))
    assert worth.stretches == [(1, 3)]
    assert worth.headline(Description) == "up to 1.5 h"
    told = " ".join(worth.sentences(Description))
    assert "At step 3 (1.5 h) its error is 0.9 times that of climatology" in told
    assert "After that climatology is as good or better: it is worth nothing." in told
    assert worth.errors == pytest.approx((0.5, 0.5, 0.9, math.sqrt(1.2)))
    assert worth.best == ("persistence", *["climatology"] * 3)


def test_what_was_not_tested_is_not_promised():
    worth = Worth.of(skill([0.1, 0.2], [1.0, 1.0]))
    assert worth.headline(Description) == "up to 1 h, all that was tested"
    assert "Nobody has tested further." in worth.sentences(Description)


def test_persistence_may_be_better_at_first():
    worth = Worth.of(skill([0.2, 0.2, 0.3, 0.9], [0.1, 0.2, 0.8, 0.9], [0.5, 0.5, 0.5, 0.5]))
    assert worth.stretches == [(3, 3)]
    assert worth.headline(Unitless) == "from 3 steps to 3 steps"
    assert "At steps 1 to 2 persistence is as good or better." in worth.sentences(Unitless)


def test_a_forecast_that_is_never_better_is_not_worth_anything():
    worth = Worth.of(skill([2.0, math.inf], [1.0, 1.0]))
    assert (worth.span, worth.headline(Description)) == (None, "not at all")
    assert "do not use" in worth.sentences(Description)[0]


def test_the_mean_of_the_month_needs_no_model_and_dmd_does():
    better = {"monthly": [0.1, 0.1], "dmd": [0.01, 0.01]}
    assert Worth.of(skill([0.2, 0.2], [1.0, 1.0], **better)).span is None
    assert Worth.of(skill([0.05, 0.05], [1.0, 1.0], **better)).span == (1, 2)


def test_errors_that_are_as_good_as_none_are_worth_something():
    worth = Worth.of(skill([1e-9, 1e-9], [1e-10, 1.0]))
    assert worth.span == (1, 2)
    assert worth.errors[1] == pytest.approx(math.sqrt(1e-9))


def test_leads_without_values_say_nothing():
    worth = Worth.of(skill([0.1, None, 0.1], [1.0, 1.0, 1.0]))
    assert worth.stretches == [(1, 3)]
    nothing = Worth.of(skill([None], [None], [None]))
    assert nothing.headline(Description) == "not known"


def test_of_errors_that_go_up_and_down_the_longest_good_span_counts():
    model = [1.5, 0.5, 1.5, *[0.5] * 6, 1.5, *[1.1] * 8, 0.5, 1.1]
    worth = Worth.of(skill(model, [2.0] * len(model)))
    assert worth.span == (2, 9)
    assert worth.stretches == [(2, 2), (4, 9), (19, 19)]
    told = worth.sentences(Unitless)
    assert "At 10 of the 11 steps after that climatology is as good or better." in told
    assert "At 2 earlier steps climatology is as good or better." in told


def whole(error, num_sequences=1, steps=59, **ratios):
    return SimpleNamespace(
        full_nmse=error,
        num_sequences=num_sequences,
        per_step_mse=(1.0,) * steps,
        improvements=ratios,
    )


def test_a_forecast_to_the_end_may_be_no_better_than_none():
    """Alike is not better, and what is as good as exact is never told to be worthless."""
    alike = whole(1.0, persistence=2.0, climatology=1.015)
    assert over_all(alike, Description) == (
        "a single forecast over all 29.5 h is no better than climatology"
    )
    several = whole(1.0, num_sequences=3, persistence=0.5, climatology=0.9)
    assert over_all(several, Unitless) == (
        "forecasts over all 59 steps are no better than persistence or climatology"
    )
    assert over_all(whole(1.0, persistence=2.0, climatology=1.03), Description) is None
    assert over_all(whole(1e-9, persistence=2.0, climatology=1.0), Description) is None
    assert over_all(whole(None, climatology=math.nan), Description) is not None


def test_what_is_not_better_is_as_good_or_better_for_a_dmd_too():
    model = [0.1, 0.1, 0.1, 1e-9]
    found = skill(model, [1.0] * 4, dmd=[0.101, 0.2, 0.05, 1e-9])
    assert dmd_by_lead(found) == "A plain DMD is as good or better at steps 1 and 3."
    assert dmd_by_lead(skill([0.1], [1.0], dmd=[0.2])) is None
    assert dmd_by_lead(skill([0.1], [1.0])) is None


def test_channels_for_which_the_answer_differs_are_named(on_grid):
    """Of each channel as if the other did not count, from the same forecasts."""
    model, truth = on_grid.model, on_grid.truth
    data = truth.to_xarray()
    name = "speed $\\frac$"
    noise = np.random.default_rng(0).normal(5.0, 1.0, data[name].shape)
    data[name] = data[name].dims, np.where(np.isnan(data[name]), np.nan, noise), data[name].attrs
    spoiled = Trajectories.from_xarray(data, missing="mask")
    whole = Worth.of(model.skill(truth))
    assert worth_by_channel(model.surrogate_, truth, whole) == {}
    found = worth_by_channel(model.surrogate_, spoiled, whole)
    assert [*found] == [name]
    description = model.surrogate_.description
    assert found[name].headline(description) == "not at all"
