"""Fields are scored as SMORE scores its own forecasts, and as loops over every value do."""

import dataclasses
import math

import numpy as np
import pytest

from smore.data import Trajectories
from smore.data.timeline import Timeline
from smore.errors import DataError
from smore.evaluation.fields import evaluate_fields
from smore.surrogate import advance, decode, infer
from waves import planted, trajectories

HORIZON = 3


def noisy(data, seed=0):
    """The same snapshots with errors that no model could explain."""
    random = np.random.default_rng(seed)
    fields = [each.fields + 0.1 * random.normal(size=each.fields.shape) for each in data]
    first = data.sequences[0]
    return Trajectories.from_arrays(
        fields, first.mesh.coords, first.times, channels=list(data.channels)
    )


def test_decoded_forecasts_of_smore_score_what_evaluate_says():
    model = planted(trajectories(8, num_times=4))
    surrogate, test = model.surrogate_, noisy(trajectories(5, num_times=7, seed=3))
    state = infer(surrogate, test, "posterior")
    mesh = test.sequences[0].mesh
    instants = Timeline.of(test).times[:, 1:].numpy()
    training = np.concatenate([sequence.fields for sequence in trajectories(8, num_times=4)])
    found = evaluate_fields(
        test,
        decode(surrogate, advance(surrogate, state, instants)[:, 1:], mesh),
        training_mean=training.mean(0),
        training_variance=surrogate.description.training_variance,
        horizon=surrogate.description.horizon,
    )
    for name, expected in dataclasses.asdict(model.evaluate(test)).items():
        if name.startswith("decoder_"):
            assert getattr(found, name) is None  # fields have no decoder
        else:
            assert getattr(found, name) == pytest.approx(expected, rel=1e-5), name


def ragged(masked):
    """Sequences of different lengths on the same points, with channels of different size.

    `masked` says how many of them have gaps.
    """
    random = np.random.default_rng(0)
    lengths = [5, 2, 4]
    fields = [random.normal(2, 1, size=(t, 2, 7)) * [[1.0], [300.0]] for t in lengths]
    for values in fields[:masked]:
        values[random.uniform(size=values.shape) < 0.3] = np.nan
    coords = random.uniform(size=(7, 2))
    times = [np.arange(float(t)) for t in lengths]
    return Trajectories.from_arrays(fields, [coords] * 3, times, missing="mask"), fields


def literal(fields, predict, steps, variance=(1.0, 1.0)):
    """Mean of (prediction - truth)² / variance over `steps`, one value at a time."""
    errors = [
        (predict(number, step)[channel, point] - truth) ** 2 / variance[channel]
        for number, values in enumerate(fields)
        for step in steps
        if step < len(values)
        for (channel, point), truth in np.ndenumerate(values[step])
    ]
    return np.nanmean(errors)


@pytest.mark.parametrize("masked", [0, 1, 3])
def test_every_number_is_a_mean_over_values(masked):
    data, fields = ragged(masked)
    random = np.random.default_rng(1)
    forecast = random.normal(2, 1, size=(3, 4, 2, 7))
    mean, variance = random.normal(2, 1, size=(2, 7)), (1.5, 7e4)
    found = evaluate_fields(
        data, forecast, training_mean=mean, training_variance=variance, horizon=HORIZON
    )

    def forecast_at(number, step):
        return forecast[number, step - 1]

    def mean_at(number, step):
        return mean

    def first_at(number, step):
        return fields[number][0]

    inside, outside, full = range(1, HORIZON), range(HORIZON, 5), range(1, 5)
    expected = {
        "in_horizon_mse": literal(fields, forecast_at, inside),
        "extrapolation_mse": literal(fields, forecast_at, outside),
        "full_mse": literal(fields, forecast_at, full),
        "in_horizon_nmse": literal(fields, forecast_at, inside, variance),
        "extrapolation_nmse": literal(fields, forecast_at, outside, variance),
        "full_nmse": literal(fields, forecast_at, full, variance),
        "climatology_in_horizon_mse": literal(fields, mean_at, inside),
        "climatology_extrapolation_mse": literal(fields, mean_at, outside),
        "climatology_mse": literal(fields, mean_at, full),
        "climatology_nmse": literal(fields, mean_at, full, variance),
        "persistence_mse": literal(fields, first_at, full),
        "persistence_nmse": literal(fields, first_at, full, variance),
    }
    for name, value in expected.items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-9), name
    for step in full:
        each = literal(fields, forecast_at, [step])
        assert found.per_step_mse[step - 1] == pytest.approx(each, rel=1e-9)
    for channel, name in enumerate(["u0", "u1"]):
        later = np.concatenate([values[1:, channel].ravel() for values in fields])
        ours = np.concatenate(
            [forecast[i, : len(values) - 1, channel].ravel() for i, values in enumerate(fields)]
        )
        relative = math.sqrt(np.nansum((ours - later) ** 2) / np.nansum(later**2))
        assert found.relative_l2[name] == pytest.approx(relative)


def test_a_perfect_forecast_has_no_error():
    data = trajectories(num_times=5)
    fields = np.stack([sequence.fields for sequence in data])
    found = evaluate_fields(
        data,
        fields[:, 1:],
        training_mean=fields.mean((0, 1)),
        training_variance=[1.0, 1.0],
        horizon=3,
    )
    assert found.full_mse == 0.0
    assert found.beats_references


def test_an_overflow_is_not_a_good_forecast():
    data = trajectories(num_times=4)
    forecast = np.full((6, 3, 2, 40), np.inf, dtype=np.float32)
    mean = np.zeros((2, 40))
    found = evaluate_fields(
        data, forecast, training_mean=mean, training_variance=[1.0, 1.0], horizon=2
    )
    assert found.full_mse == math.inf
    assert not found.beats_references


@pytest.mark.parametrize(
    ("shape", "mean_shape", "message"),
    [
        ((5, 3, 2, 40), (2, 40), "expected forecasts of 6 sequences, got 5"),
        ((6, 2, 2, 40), (2, 40), r"\(3, 2, 40\), got \(2, 2, 40\)"),
        ((6, 3, 2, 39), (2, 40), r"\(3, 2, 40\), got \(3, 2, 39\)"),
        ((6, 3, 2, 40), (2,), r"\(2, 40\), got \(2,\)"),
    ],
)
def test_what_does_not_belong_together_is_refused(shape, mean_shape, message):
    with pytest.raises(DataError, match=message):
        evaluate_fields(
            trajectories(num_times=4),
            np.zeros(shape),
            training_mean=np.zeros(mean_shape),
            training_variance=[1.0, 1.0],
            horizon=2,
        )
