"""Fields from a stream: exact where the model is, and what 4D says where it is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from smore.assimilation._filtering import StreamFilter
from smore.assimilation.assimilating import assimilate
from smore.assimilation.batch import solve_window
from smore.assimilation.kalman import Gaussian, Readings
from smore.assimilation.stream import Stream
from smore.errors import SettingsError, UnobservedWarning
from waves import STEP, codes, places, solution


def exactly(model, stream, **how):
    return assimilate(model.surrogate_, stream, noise=0.0, estimate=False, watch=False, **how)


def test_two_sensors_watched_long_enough_know_the_whole_field(exact, rows):
    """Far fewer values per time than latents; the flow brings the rest past the sensors."""
    times, coords, values, sensors = rows(12, 2)
    analysis = exactly(exact, Stream.of(times, coords, values, sensors, exact.surrogate_))
    found = analysis.fields(points=places())
    truth = solution(codes(1, 5), places(), STEP * np.arange(12))[0]
    errors = np.abs(found["u"].values[0] - truth[:, 0]).max(axis=1)
    assert errors[0] > 0.1
    assert errors[-1] < 1e-3
    deviations = found["u_std"].values[0].max(axis=1)
    assert deviations[-1] < 1e-2 * deviations[0]
    later = analysis.fields(STEP * np.arange(12, 15), places())
    ahead = solution(codes(1, 5), places(), STEP * np.arange(12, 15))[0]
    np.testing.assert_allclose(later["v"].values[0], ahead[:, 1], atol=1e-3)


def test_smoothed_fields_know_the_beginning_too(exact, rows):
    times, coords, values, sensors = rows(12, 2)
    stream = Stream.of(times, coords, values, sensors, exact.surrogate_)
    analysis = exactly(exact, stream, smooth=True)
    between = [0.0, 0.3 * STEP, 4.5 * STEP]  # on the stream's times and between them
    truth = solution(codes(1, 5), places(), between)[0]
    found = analysis.fields(between, places())
    np.testing.assert_allclose(found["u"].values[0], truth[:, 0], atol=2e-3)


def literal_window(model, stream):
    """The same stream as one 4D problem, with everything written out by the filter's own parts."""
    filter_ = StreamFilter(model.surrogate_, np.zeros(2))
    steps, belief = [], None
    for time, readings in stream.by_time():
        step = filter_.step(belief, time, readings)
        belief = step.belief
        steps.append(step)
    first = None
    window, transitions = [], []
    belief = None
    for step in steps:
        rows, values, arriving, white = filter_._seen(step.belief.time, step.readings)
        if belief is None:
            start = filter_._first(step.belief.time, Readings(rows, values, white))
            first = filter_._carried(start, start.model_time, arriving)[0]
            before = first
        else:
            before, transition = filter_._carried(belief, step.belief.model_time, arriving)
            transitions.append(transition)
        window.append(filter_._readings(before, rows, values, white, step.readings))
        belief = step.belief
    return solve_window(first.state, transitions, window)


def test_filter_and_smoother_of_a_stream_are_its_4d_solution(erring, rows):
    """With coloured errors, decoder errors, moving sensors, gaps and odd times in the state."""
    times, coords, values, sensors = rows(9, 4, step=0.37 * STEP, moving=True)
    random = np.random.default_rng(0)
    values[random.uniform(size=values.shape) < 0.3] = np.nan
    stream = Stream.of(times, coords, values, sensors, erring.surrogate_)
    window = literal_window(erring, stream)
    analysis = exactly(erring, stream, smooth=True)
    last = analysis.steps[-1].belief.state
    np.testing.assert_allclose(last.mean, window[-1].mean, atol=1e-8)
    np.testing.assert_allclose(last.covariance, window[-1].covariance, atol=1e-8)
    for found, wanted in zip(analysis.smoothed, window, strict=True):
        np.testing.assert_allclose(found.mean, wanted.mean, atol=1e-7)
        np.testing.assert_allclose(found.covariance, wanted.covariance, atol=1e-7)


def test_no_readings_leave_what_a_forecast_would_say(erring, rows):
    """Between readings covariances grow exactly as `forecast` has them, from the first state."""
    times, coords, values, sensors = rows(1, 5)
    stream = Stream.of(times, coords, values, sensors, erring.surrogate_)
    analysis = exactly(erring, stream)
    instants = STEP * np.array([1.0, 2.0, 6.0])
    ours = analysis.fields(instants, places())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = erring.forecast(analysis.state, instants, points=places())
    for name in ("u", "v", "u_std", "v_std"):
        np.testing.assert_allclose(ours[name].values, theirs[name].values, rtol=1e-4, atol=1e-6)


def test_readings_that_repeat_the_same_decoder_error_count_less(erring, rows):
    """Ten readings of one place within a millionth of a step: hardly more than one."""

    def left(num_times: int) -> float:
        times, coords, values, sensors = rows(num_times, 3, step=1e-7 * STEP)
        stream = Stream.of(times, coords, values, sensors, erring.surrogate_)
        return float(exactly(erring, stream).state.covariance.diagonal(dim1=1, dim2=2).sum())

    one, ten = left(1), left(10)
    assert 0.5 * one < ten <= one * (1 + 1e-6)


def test_noise_that_nobody_told_is_found(exact, rows):
    times, coords, values, sensors = rows(20, 12, noise=0.05, seed=1)
    stream = Stream.of(times, coords, values, sensors, exact.surrogate_)
    found = np.sqrt(assimilate(exact.surrogate_, stream).levels.instruments)
    scale = np.sqrt(np.array(exact.surrogate_.description.training_variance))
    assert (found > 0.5 * 0.05).all()
    assert (found < 2 * 0.05 * scale / scale.min()).all()


def test_a_broken_sensor_is_named_and_does_no_harm(erring, rows):
    times, coords, values, sensors = rows(10, 12, noise=0.02)
    broken = np.array(sensors) == "s3"
    wrong = values.copy()
    wrong[broken] += 1.5
    sound = Stream.of(times, coords, values, sensors, erring.surrogate_)
    stream = Stream.of(times, coords, wrong, sensors, erring.surrogate_)
    with pytest.warns(UnobservedWarning, match="'s3'"):
        analysis = erring.assimilate(stream, noise=0.02)
    assert analysis.broken == {"s3"}
    assert not analysis.innovations.taken.values[analysis.innovations.sensor.values == "s3"].any()
    without = assimilate(erring.surrogate_, sound.without({"s3"}), noise=0.02)
    np.testing.assert_allclose(analysis.state.mean, without.state.mean, atol=1e-8)


def test_a_sensor_that_is_repaired_comes_back(erring, rows):
    from smore.assimilation._levels import Levels
    from smore.assimilation._watching import Watch
    from smore.assimilation.assimilating import _filtered, stream_filter

    times, coords, values, sensors = rows(20, 12, noise=0.02)
    wrong = values.copy()
    wrong[(np.array(sensors) == "s3") & (times < 5 * STEP)] += 1.5
    stream = Stream.of(times, coords, wrong, sensors, erring.surrogate_)
    watch = Watch()
    levels = Levels.usual(erring.surrogate_, np.full(2, 0.02**2))
    steps = _filtered(stream_filter(erring.surrogate_, levels, watch), stream)
    assert watch.broken == {"s3"}
    assert watch.now_out == set()
    assert not steps[3].taken[steps[3].readings.sensors == 3].any()
    assert steps[-1].taken.all()


def test_states_far_out_are_told(exact, rows):
    times, coords, values, sensors = rows(12, 6)
    stream = Stream.of(times, coords, 50 * values, sensors, exact.surrogate_)
    analysis = exactly(exact, stream)
    assert any("leaves the range" in each for each in analysis.cautions())


def test_what_cannot_be_is_refused_before_any_work(exact, rows):
    stream = Stream.of(*rows(3, 2), exact.surrogate_)
    with pytest.raises(SettingsError, match="exact filter"):
        assimilate(exact.surrogate_, stream, members=20)
    with pytest.raises(SettingsError, match="leave out members"):
        assimilate(exact.surrogate_, stream, members=20, smooth=True)
    with pytest.raises(SettingsError, match="standard deviation"):
        assimilate(exact.surrogate_, stream, noise=-1.0)


def test_errors_by_lead_grow_as_they_were_seen():
    """A process in the state that reproduces variances by lead while nothing is observed."""
    from smore.assimilation._error_process import error_process
    from smore.dynamics import LeadError

    random = np.random.default_rng(0)
    leads = np.arange(9.0)
    for wanted in (0.3 * (1 - 0.6**leads), 0.1 * leads, 0.2 * (1 - 0.8**leads) + 0.02 * leads):
        factor = random.normal(size=(3, 3))
        error = LeadError(*map(torch.as_tensor, (factor, leads, wanted)))
        process = error_process(error, np.eye(3), 1.0, 1.0)
        state = Gaussian(np.zeros(process.size), process.start(np.zeros((3, 3))))
        matrix, noise = process.step(np.eye(3), 1.0)
        for lead in range(1, 9):
            state = Gaussian(state.mean, np.concatenate([matrix @ state.root, noise], axis=1))
            grown = np.trace(state.seen(process.reads).covariance) / np.trace(factor @ factor.T)
            assert grown == pytest.approx(wanted[lead], rel=0.12)


def test_errors_that_random_steps_explain_are_random_steps():
    """Damped waves, stirred: errors go where the flow takes them, in half a step half as far."""
    from smore.assimilation._error_process import WanderingError, error_process
    from smore.dynamics import LeadError

    turn = 0.95 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    factor, leads = 0.2 * np.eye(2), np.arange(13.0)
    grown = 0.7 * np.cumsum(np.append(0.0, 0.95 ** (2 * leads[:-1])))
    error = LeadError(*map(torch.as_tensor, (factor, leads, grown)))
    process = error_process(error, turn, 1.0, 1.0)
    assert isinstance(process, WanderingError)
    matrix, noise = process.step(turn, 0.5)
    np.testing.assert_array_equal(matrix, turn)
    np.testing.assert_allclose(noise @ noise.T, 0.5 * 0.7 * factor @ factor.T, rtol=1e-9)


def test_errors_of_steps_stay_as_large_as_they_are_where_the_flow_amplifies():
    """Chaos: moved on a hundred times, η would be e^18 times larger if it never forgot."""
    from smore.assimilation._error_process import error_process
    from smore.dynamics import StepError

    moving, factor = np.diag([1.2, 0.7]), np.diag([0.1, 0.3])
    process = error_process(StepError(torch.tensor(factor), 1.0, 1.0), moving, 1.0, 1.0)
    covariance = process.start(np.zeros((2, 2)))[2:] @ process.start(np.zeros((2, 2)))[2:].T
    matrix, noise = process.step(moving, 1.0)
    for _ in range(100):
        covariance = matrix[2:, 2:] @ covariance @ matrix[2:, 2:].T + (noise @ noise.T)[2:, 2:]
    assert covariance[0, 0] == pytest.approx((1 + 1.2**-2) * factor[0, 0] ** 2, rel=1e-6)
    calm, _ = process.step(np.diag([1.0, 0.7]), 1.0)
    np.testing.assert_array_equal(calm[2:, 2:], np.diag([1.0, 0.7]))


def test_sensors_that_stay_let_the_filter_settle_and_nothing_else_changes(erring, rows):
    """The same means and covariances, with dropouts and a spike after it has settled."""
    times, coords, values, sensors = rows(160, 6, noise=0.02)
    values[140 * 6 + 2] = np.nan
    stream = Stream.of(times, coords, values, sensors, erring.surrogate_)
    settling, never = (StreamFilter(erring.surrogate_, np.full(2, 4e-4)) for _ in range(2))
    never.settling.applies = lambda *_: False
    one = other = None
    settled = 0
    for time, readings in stream.by_time():
        before = one
        one = settling.step(one, time, readings).belief
        other = never.step(other, time, readings).belief
        settled += before is not None and one.state.root is before.state.root
        np.testing.assert_allclose(one.state.mean, other.state.mean, atol=1e-9)
        np.testing.assert_allclose(one.state.covariance, other.state.covariance, atol=1e-9)
    assert settled > 50
