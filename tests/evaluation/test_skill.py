"""Skill by lead equals loops over forecasts one value at a time; words say what is better."""

import dataclasses
import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from seasons import record
from smore import SMORE, Trajectories
from smore.errors import SettingsError
from smore.evaluation import rolling
from smore.evaluation.calibration import Departures, gaussian_crps
from smore.evaluation.words import steps_in_words


@pytest.fixture(scope="module")
def model():
    return SMORE().fit(record(), progress=False)


def later(gaps):
    """Twenty months that follow the training data, with other noise."""
    data = record(60, seed=1)
    sequence = data.sequences[0].snapshots(slice(40, 60))
    fields = np.where(sequence.observed, sequence.fields, np.nan)
    if gaps:
        fields[np.random.default_rng(3).uniform(size=fields.shape) < 0.2] = np.nan
    times = data.clock.to_values(sequence.times)
    areas = np.linspace(1, 3, sequence.mesh.num_points)
    return Trajectories.from_arrays(
        [fields], sequence.mesh.coords, times, weights=areas, missing="mask"
    )


def literal(model, data, starts, horizon):
    """Every value of every forecast: (lead, channel, point, weight, truth, mean, std, others)."""
    surrogate = model.surrogate_
    references, undo = surrogate.references, surrogate.description.normalization.undo
    aligned = surrogate.aligned(data).sequences[0]
    dates = surrogate.description.clock.to_values(aligned.times)
    rows = []
    for start in starts:
        first = dataclasses.replace(
            data, sequences=(data.sequences[0].snapshots(slice(start, start + 1)),)
        )
        told = model.forecast(first, dates[start + 1 : start + 1 + horizon])
        begin = surrogate.description.normalization.apply(aligned.fields[start].astype(float))
        begin = np.where(aligned.observed[start], begin, 0.0)
        dmd = references.dmd.forecast(begin.ravel(), horizon).reshape(horizon, 2, -1)
        for lead in range(1, horizon + 1):
            month = int(str(dates[start + lead])[5:7]) - 1
            others = {
                "persistence": np.where(aligned.observed[start], aligned.fields[start], np.nan),
                "climatology": undo(references.mean),
                "monthly": undo(references.monthly[month].astype(float)),
                "dmd": undo(dmd[lead - 1]),
            }
            for channel in range(2):
                mean, std = (told[f"u{channel}{e}"].values[0, lead - 1] for e in ("", "_std"))
                for point in np.flatnonzero(aligned.observed[start + lead, channel]):
                    truth = float(aligned.fields[start + lead, channel, point])
                    other = {name: float(each[channel, point]) for name, each in others.items()}
                    weight = aligned.mesh.weights[point]
                    rows.append((lead, channel, weight, truth, mean[point], std[point], other))
    return rows


def check(scores, rows, variance, horizon, weigh):
    """Compare with means over `rows`, each of which counts as `weigh` says."""
    for lead in range(1, horizon + 1):
        here = [(weigh(row), *row[1:2], *row[3:]) for row in rows if row[0] == lead]

        def mean(values, here=here):
            known = [(row[0], v) for row, v in zip(here, values, strict=True) if not np.isnan(v)]
            return sum(w * v for w, v in known) / sum(w for w, _ in known)

        place = lead - 1
        for name in scores.nmse:
            guess = [row[3] if name == "model" else row[5][name] for row in here]
            wrong = [(g - row[2]) ** 2 for g, row in zip(guess, here, strict=True)]
            scaled = [e / variance[row[1]] for e, row in zip(wrong, here, strict=True)]
            assert scores.mse[name][place] == pytest.approx(mean(wrong), rel=2e-4)
            assert scores.nmse[name][place] == pytest.approx(mean(scaled), rel=2e-4)
            if name in scores.anomaly_correlation:
                climate = [row[5]["monthly"] for row in here]
                own = [
                    (g - c) / variance[r[1]] ** 0.5
                    for g, c, r in zip(guess, climate, here, strict=True)
                ]
                true = [
                    (r[2] - c) / variance[r[1]] ** 0.5 for c, r in zip(climate, here, strict=True)
                ]
                true = [t if not np.isnan(o) else np.nan for t, o in zip(true, own, strict=True)]
                pair = mean(np.multiply(own, true)), mean(np.square(own)) * mean(np.square(true))
                expected = pair[0] / math.sqrt(pair[1])
                assert scores.anomaly_correlation[name][place] == pytest.approx(expected, abs=1e-4)
        spread = mean([row[4] ** 2 / variance[row[1]] for row in here])
        assert scores.spread[place] == pytest.approx(math.sqrt(spread), rel=1e-4)
        crps = [gaussian_crps(r[2] - r[3], np.array(r[4])) / variance[r[1]] ** 0.5 for r in here]
        assert scores.crps[place] == pytest.approx(mean(crps), rel=1e-4)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("at_once", [40, 2**20])
def test_every_score_is_a_mean_over_values(gaps, at_once, model, monkeypatch):
    monkeypatch.setattr(rolling, "AT_ONCE", at_once)
    data = later(gaps)
    skill = model.skill(data, horizon=7, origins=3)
    assert (skill.num_origins, skill.leads) == (3, tuple(range(1, 8)))
    assert ("dmd" in skill.scores.nmse) == (not gaps)
    assert ("dmd" in skill.absent) == gaps
    variance = model.surrogate_.description.training_variance
    rows = literal(model, data, [0, 6, 12], 7)
    check(skill.scores, rows, variance, 7, lambda row: 1.0)
    check(skill.weighted, rows, variance, 7, lambda row: row[2])
    for level, shares in skill.calibration.by_lead.items():
        width = norm.ppf((1 + level) / 2)
        for lead in range(1, 8):
            inside = [abs(r[3] - r[4]) <= width * r[5] for r in rows if r[0] == lead]
            assert shares[lead - 1] == pytest.approx(np.mean(inside), abs=1e-9)
        inside = [abs(row[3] - row[4]) <= width * row[5] for row in rows]
        assert skill.calibration.coverage[level] == pytest.approx(np.mean(inside), abs=1e-9)
    json.dumps(skill.to_dict(), allow_nan=False)


def test_the_score_of_a_gaussian_is_the_integral_that_defines_it():
    for departure, deviation in ((0.0, 1.0), (1.3, 0.4), (-2.0, 3.0)):
        pieces = [
            quad(lambda x, d=deviation: norm.cdf(x / d) ** 2, -40, departure)[0],
            quad(lambda x, d=deviation: norm.sf(x / d) ** 2, departure, 40)[0],
        ]
        assert float(gaussian_crps(departure, np.array(deviation))) == pytest.approx(sum(pieces))


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (1.6, "too wide by a factor of about 1.6"),
        (0.25, "too narrow by a factor of about 4"),
        (1.0, "about right"),
    ],
)
def test_intervals_that_are_off_are_told_by_how_much(factor, words):
    counted = Departures(2)
    draws = np.abs(np.random.default_rng(0).normal(size=40_000)) / factor
    counted.add(0, draws[:20_000])
    counted.add(1, draws[20_000:])
    found = counted.calibration()
    assert words in found.verdict()
    assert found.factor == pytest.approx(factor, rel=0.05)
    assert found.coverage[0.5] == pytest.approx(np.mean(draws <= norm.ppf(0.75)))
    assert found.by_lead[0.95][1] == pytest.approx(np.mean(draws[20_000:] <= norm.ppf(0.975)))


def told(fitted, **errors):
    """The skill of forecasts with these errors per variance by lead."""
    skill = fitted.skill(later(gaps=False), horizon=4, origins=2)
    full = {name: float(np.mean(each)) for name, each in errors.items()}
    scores = dataclasses.replace(skill.scores, nmse=errors, full_nmse=full)
    return dataclasses.replace(skill, scores=scores)


def test_a_better_reference_is_named(model):
    skill = told(model, model=(2.0,) * 4, climatology=(4.0,) * 4, dmd=(1.0,) * 4)
    assert not skill.beats_references
    assert skill.verdict() == ("A plain DMD is better here: the model's error is 2 times as large.")
    skill = told(model, model=(2.0,) * 4, persistence=(1.0,) * 4, dmd=(0.5,) * 4)
    assert skill.verdict().startswith("A plain DMD is better here (and so is persistence):")


def test_leads_at_which_a_reference_is_better_are_named(model):
    skill = told(model, model=(1.0, 2.0, 3.0, 4.0), monthly=(5.0, 5.0, 2.0, 2.0))
    assert skill.beats_references
    assert skill.verdict() == (
        "The model is better: its error is 1.4 times below monthly climatology. "
        "Monthly climatology is better from step 3 on."
    )


def test_what_differs_by_little_or_is_as_good_as_nothing_is_no_better(model):
    alike = told(model, model=(1.0,) * 4, dmd=(0.99,) * 4)
    assert alike.verdict() == "The model is as good as a plain DMD."
    solved = told(model, model=(1e-9,) * 4, dmd=(1e-13,) * 4, climatology=(1.0,) * 4)
    assert solved.beats_references
    assert solved.verdict().startswith("The model is as good as a plain DMD; it is better:")


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_a_reference_that_overflows_is_not_better(error, model):
    skill = told(model, model=(1.0,) * 4, dmd=(error,) * 4)
    assert skill.beats_references
    assert told(model, model=(error,) * 4, dmd=(1.0,) * 4).beats_references is False


def test_a_forecast_is_valid_until_its_error_first_passes_half_of_climatologys(model):
    errors = {"model": (0.1, 0.2, 0.3, 0.1), "climatology": (1.0,) * 4}
    assert told(model, **errors).valid_steps == 2


def test_a_horizon_beyond_the_data_is_refused(model):
    with pytest.raises(SettingsError, match="between 1 and 19 steps"):
        model.skill(later(gaps=False), horizon=20)


@pytest.mark.parametrize(
    ("chosen", "known", "words"),
    [
        ([1, 2, 3, 7], range(1, 9), "at steps 1 to 3 and 7"),
        ([4], range(1, 9), "at step 4"),
        ([5, 6, 7, 8], range(1, 9), "from step 5 on"),
        ([1, 2], range(1, 9), "at steps 1 to 2"),
        ([2, 4, 8], range(1, 9), "at steps 2, 4 and 8"),
        (list(range(1, 10, 2)), range(1, 11), "at 5 of 10 steps"),
        ([1, 2], [1, 2], "at every step"),
        ([1, 3], [1, 3, 4], "at steps 1 to 3"),
        ([1], [1], "at step 1"),
    ],
)
def test_steps_are_told_as_people_say_them(chosen, known, words):
    assert steps_in_words(chosen, list(known)) == words


def test_error_bars_are_found_once_for_forecasts_that_know_as_much(model, monkeypatch):
    data = record()
    same = Trajectories.from_arrays(
        np.random.default_rng(5).uniform(size=(4, 5, 2, data.sequences[0].mesh.num_points)),
        data.sequences[0].mesh.coords,
        data.clock.to_values(data.sequences[0].times[:5]),
    )
    found, found_anew = [], rolling.deviation
    for kept in (0, rolling.MOST_KEPT):
        calls = []

        def counted(*given, calls=calls):
            calls.append(given)
            return found_anew(*given)

        monkeypatch.setattr(rolling, "MOST_KEPT", kept)
        monkeypatch.setattr(rolling, "deviation", counted)
        found.append(json.dumps(model.skill(same).to_dict()))
        assert len(calls) == (1 if kept else 4)
    assert found[0] == found[1]
