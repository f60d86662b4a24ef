"""Methods beside each other: scores that are known, own classes, seeds, and what fails."""

import numpy as np
import pytest

from smore.comparison import Comparison, Fit, ModelScores, compare, model_names, whole_steps
from smore.data import Trajectories
from smore.errors import DataError, SettingsError

POINTS = np.random.default_rng(1).uniform(size=(12, 2))
MODES = np.random.default_rng(2).normal(size=(2, 12))


def turning(num_sequences, num_times, seed, step=0.3):
    """Two modes that rotate into each other about a mean of 5: a linear system."""
    phase = np.random.default_rng(seed).uniform(0, 2 * np.pi, (num_sequences, 1, 1))
    t = step * np.arange(num_times)[None, :, None]
    fields = 5 + np.cos(t + phase) * MODES[0] + np.sin(t + phase) * MODES[1]
    return Trajectories.from_arrays(
        fields[:, :, None], POINTS, t[0, :, 0], channels=["height"], coordinate_names=["x", "y"]
    )


TRAIN, TEST = turning(6, 12, 0), turning(3, 12, 1)


class Shifted:
    """The truth of `turning`, off by a constant that the seed decides."""

    made: list = []  # noqa: RUF012  (who was called with what)

    def __init__(self, seed, minutes):
        self.off = 0.1 * (1 + seed)
        self.made.append((seed, minutes))

    def fit(self, train):
        self.train = train

    def forecast(self, first, times):
        angle = times - first.times[0]
        a, b = np.linalg.lstsq(MODES.T, first.fields[0, 0] - 5, rcond=None)[0]
        turned = [a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)]
        return (5 + self.off + np.stack(turned, 1) @ MODES)[:, None]


def with_land(data, num_points=4):
    """The same where it is sea: values elsewhere are gaps at all times."""
    fields = np.stack([sequence.fields for sequence in data])
    fields[..., :num_points] = np.nan
    return Trajectories.from_arrays(
        fields, POINTS, data.sequences[0].times, channels=["height"], missing="mask"
    )


class Careless:
    def fit(self, train):
        pass

    def forecast(self, first, times):
        return first.fields


def errors(comparison):
    return {model.name: model.error for model in comparison.models}


def test_errors_are_mean_squares_over_the_training_variance():
    found = errors(compare(TRAIN, TEST, ["persistence", "climatology", "pod-dmd", Shifted]))
    truth = np.stack([sequence.fields for sequence in TEST])
    known = np.stack([sequence.fields for sequence in TRAIN])
    kept = np.square(truth[:, 1:] - truth[:, :1]).mean() / known.var()
    mean = np.square(truth[:, 1:] - known.mean((0, 1))).mean() / known.var()
    assert found["persistence"] == pytest.approx(kept)
    assert found["climatology"] == pytest.approx(mean)
    assert found["pod-dmd"] < 1e-20  # the system is linear
    assert found["Shifted"] == pytest.approx(0.01 / known.var())


def test_a_class_of_ones_own_is_told_seed_and_minutes_and_fitted_for_every_seed():
    Shifted.made.clear()
    found = compare(TRAIN, TEST, [Shifted, "persistence"], seeds=3, minutes=0.5)
    assert Shifted.made == [(0, 0.5), (1, 0.5), (2, 0.5)]
    own, persistence = found.models
    variance = np.stack([sequence.fields for sequence in TRAIN]).var()
    np.testing.assert_allclose(own.spread, [0.01 / variance, 0.09 / variance])
    assert own.error == pytest.approx(0.04 / variance)
    assert len(persistence.fits) == 1
    assert persistence.fits[0].seed is None


def test_one_record_is_forecast_from_several_snapshots():
    record = turning(1, 41, 3)
    found = compare(turning(1, 60, 2), record, ["persistence"], origins=4, horizon=10)
    assert (found.num_origins, found.leads) == (4, tuple(range(1, 11)))
    fields = record.sequences[0].fields
    stretches = [fields[start : start + 11] for start in (0, 10, 20, 30)]
    last = np.mean([np.square(each[-1] - each[0]).mean() for each in stretches])
    variance = turning(1, 60, 2).sequences[0].fields.var()
    assert found.models[0].by_lead[-1] == pytest.approx(last / variance)


def test_smore_learns_a_linear_system_as_well():
    found = errors(compare(TRAIN, TEST, ["smore", "persistence"]))
    assert found["smore"] < 1e-6 * found["persistence"]


def test_a_method_that_fails_says_why_and_the_others_are_scored():
    found = compare(TRAIN, TEST, [Careless, "persistence"])
    (told,) = found.failures()
    assert "(times, channels, points) = (11, 1, 12), got (1, 1, 12)" in told
    assert found.ranked[0].name == "persistence"
    assert found.table()[2][-1][:2] == ["Careless", "failed"]


def test_a_failure_in_ones_own_module_says_where():
    class Mistaken(Careless):
        def fit(self, train):
            raise KeyError("u")

    line = Mistaken.fit.__code__.co_firstlineno + 1
    (told,) = compare(TRAIN, TEST, [Mistaken]).failures()
    assert told == f"Mistaken: KeyError: 'u' (test_comparing.py:{line})"


def test_a_forecast_that_is_no_number_is_infinitely_wrong():
    class Nothing(Careless):
        def forecast(self, first, times):
            return np.full((len(times), 1, 12), np.nan)

    assert errors(compare(TRAIN, TEST, [Nothing]))["Nothing"] == np.inf


def test_gaps_are_not_scored():
    fields = TEST.sequences[0].fields.copy()[None]
    fields[0, 3, 0, :6] = np.nan
    gaps = Trajectories.from_arrays(
        fields, POINTS, TEST.sequences[0].times, channels=["height"], missing="mask"
    )
    found = errors(compare(TRAIN, gaps, [Shifted], horizon=11))
    variance = np.stack([sequence.fields for sequence in TRAIN]).var()
    assert found["Shifted"] == pytest.approx(0.01 / variance)


@pytest.mark.parametrize("model", ["pod-dmd", "opinf"])
def test_land_is_left_out(model):
    """Errors are those of the sea alone."""
    (found,) = compare(with_land(TRAIN), with_land(TEST), [model]).models
    sea = [data.at_points(np.arange(4, 12)) for data in (TRAIN, TEST)]
    (expected,) = compare(*sea, [model]).models
    assert found.error == pytest.approx(expected.error, rel=1e-6, abs=1e-20)
    assert found.error < 1e-3


def test_gaps_that_move_are_refused_with_what_to_do():
    fields = np.stack([sequence.fields for sequence in TRAIN])
    fields[2, 3, 0, :5] = np.nan
    moving = Trajectories.from_arrays(
        fields, POINTS, TRAIN.sequences[0].times, channels=["height"], missing="mask"
    )
    found = compare(moving, TEST, ["pod-dmd", "persistence"])
    (told,) = found.failures()
    assert "got 5 points where they come and go; fill them, leave these points out, or" in told
    (told,) = compare(TRAIN, with_land(TEST), ["pod-dmd"]).failures()
    assert "gaps where the training data have them" in told


def test_names_that_are_none_are_answered_with_those_that_are():
    with pytest.raises(SettingsError, match="pod-dmd, persistence, climatology, smore-linear"):
        compare(TRAIN, TEST, ["smoor"])
    with pytest.raises(SettingsError, match="cannot be imported"):
        compare(TRAIN, TEST, ["no_such_module:Model"])
    with pytest.raises(SettingsError, match="has no forecast"):
        compare(TRAIN, TEST, [type("Half", (), {"fit": lambda self, train: None})])
    with pytest.raises(SettingsError, match="got 0 models"):
        compare(TRAIN, TEST, [])
    assert {"smore", "pod-dmd", "smore-lrlq"} <= set(model_names())


def test_test_data_of_other_channels_are_refused():
    other = Trajectories.from_arrays(
        TEST.sequences[0].fields[None], POINTS, TEST.sequences[0].times, channels=["depth"]
    )
    with pytest.raises(DataError, match="lack the channels height"):
        compare(TRAIN, other, ["persistence"])


def test_maps_over_a_step_refuse_other_steps():
    first = TEST.sequences[0].snapshots(slice(1))
    assert whole_steps(first, 0.3 * np.array([1.0, 4.0]), TRAIN).tolist() == [1, 4]
    with pytest.raises(DataError, match=r"whole training steps of 0\.3"):
        whole_steps(first, np.array([0.2]), TRAIN)
    (told,) = compare(TRAIN, turning(2, 5, 1, step=0.2), ["pod-dmd"]).failures()
    assert "resample the test data" in told


def scored(name, *values):
    return ModelScores(name, tuple(Fit(0, value, (value,), 1.0, 1.0) for value in values))


def test_the_verdict_knows_what_seeds_make():
    def verdict(*models):
        return Comparison(5, (1,), models).verdict()

    assert verdict(scored("a", 1.0), scored("b", 4.0)) == "a is best: 0.25 times the error of b"
    assert verdict(scored("a", 1.0, 2.0, 5.0), scored("b", 4.0)).endswith("what seeds make")
    assert verdict(ModelScores("b", failure="no")) == "no model made a forecast"


def test_the_verdict_knows_who_is_alike_and_who_ran():
    def verdict(*models):
        return Comparison(5, (1,), models).verdict()

    failed = ModelScores("c", failure="no")
    assert verdict(scored("a", 0.98), scored("b", 1.0)) == "a and b are alike"
    assert "a is best: 0.97 times" in verdict(scored("a", 0.97), scored("b", 1.0))
    assert verdict(scored("a", 0.0), scored("b", 0.0)) == "a and b are alike"
    told = verdict(scored("a", 1.0), scored("b", 4.0), failed)
    assert told == "a is best of those that ran: 0.25 times the error of b"
    told = verdict(scored("a", 0.99), scored("b", 1.0), failed)
    assert told == "a and b are alike, the best of those that ran"
    told = verdict(scored("a", 1.0), failed)
    assert told == "a is the only one that forecast, of those that ran"


def test_the_figure_shows_every_model_and_the_spread_of_seeds():
    figure = compare(TRAIN, TEST, [Shifted, "persistence", Careless], seeds=2).figure()
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines] == ["Shifted, 2 seeds", "persistence"]
    assert len(axes.collections) == 1
    assert axes.get_yscale() == "log"


def test_a_notebook_shows_a_table_of_escaped_text():
    found = Comparison(1, (1,), (ModelScores("<b>", failure="<script>"), scored("a", 1.0)))
    shown = found._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
