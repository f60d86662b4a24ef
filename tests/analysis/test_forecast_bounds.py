"""Theorem 3 on trajectories: the bound holds for the forecasts it is about."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import smore.model
from smore import SMORE, Trajectories
from smore.analysis import forecast_bounds
from smore.analysis._sparse_bound import error_bound_curve, limiting_error
from smore.analysis.forecast_bounds import (
    forecast_bound,
    ideal_latents,
    l2_norms,
    residual_norms,
    state_error,
)
from smore.errors import DataError
from smore.inference import normal_equations
from smore.inference.observability import observabilities
from smore.inference.point_fits import least_squares
from smore.surrogate import decode
from waves import planted, trajectories

DATA = trajectories(num_sequences=6, num_times=10, num_points=60)


@pytest.fixture(scope="module", autouse=True)
def once():
    """Constants of one decoder on one mesh are found once: they are the same every time."""
    found = {}

    def decoder_constants(surrogate, mesh):
        key = (id(surrogate), id(mesh))
        if key not in found:
            found[key] = (
                original(surrogate, mesh),
                surrogate,
                mesh,
            )  # kept, so that ids stay theirs
        return found[key][0]

    with pytest.MonkeyPatch.context() as patch:
        original = smore.model.decoder_constants
        patch.setattr(smore.model, "decoder_constants", decoder_constants)
        yield


@pytest.fixture(scope="module")
def fitted():
    sizes = {"latent_dim": 8, "hidden_dim": 32, "num_hidden": 0, "frequency_scale": 32.0}
    training = trajectories(num_sequences=30, num_times=8, num_points=400, seed=3)
    return SMORE(dynamics="koopman", decoder_steps=300, **sizes).fit(training, progress=False)


@pytest.mark.parametrize("method", ["posterior", "least-squares"])
@pytest.mark.parametrize("sensors", [60, 20])
def test_measured_errors_stay_below_the_bound(fitted, method, sensors):
    seen = DATA.leading(1).at_points(np.arange(sensors))
    found = fitted.forecast_bound(DATA, observations=seen, method=method)
    assert found.observability > 0
    assert (found.measured <= found.bound).all()
    assert found.measured[0] > 0
    assert len(found.bound) == 10


def old_sparse_error(surrogate, observations, states):
    """What was taken for e_sparse before: twice the smallest residual at the sensors, and a gap."""
    blocks = surrogate.blocks(surrogate.aligned(observations))
    (equations,) = normal_equations(surrogate.decoder, blocks)
    smallest = equations.squared_residual(least_squares(equations)).sum(1).sqrt()
    found = equations.squared_residual(states).sum(1).sqrt()
    seen = float(observabilities(surrogate.decoder, blocks).min())
    return float(((2 * smallest + (found - smallest).clamp(min=0)) / seen).max())


@pytest.mark.parametrize("method", ["posterior", "least-squares", "adam"])
def test_few_sensors_anywhere_keep_their_bound_and_broke_the_old_one(fitted, method, monkeypatch):
    """p = 8 latents; masks of p to 3 p sensors. The ideal state is not the one that fits best."""
    inferred = []

    def infer(*arguments):
        inferred.append(original(*arguments))
        return inferred[-1]

    original = forecast_bounds.infer
    monkeypatch.setattr(forecast_bounds, "infer", infer)
    rng, surrogate = np.random.default_rng(1), fitted.surrogate_
    ideal = ideal_latents(surrogate, surrogate.aligned(DATA))[::10]
    constants, broken = fitted.decoder_constants(DATA.sequences[0].mesh), 0
    for number in range(17):
        count = 8 + number
        seen = DATA.leading(1).at_points(rng.choice(60, count, replace=False))
        found = forecast_bound(surrogate, DATA, seen, method, constants)
        assert (found.measured <= found.bound).all()
        states = inferred[-1].mean
        distance = float((states - ideal).flatten(1).norm(dim=1).max())
        assert distance <= found.sparse_error
        broken += distance > old_sparse_error(surrogate, seen, states)
    # What a prior holds back shows as a gap, which hid the fault.
    assert broken > 0 or method == "posterior"


def test_noise_is_part_of_the_residuals(fitted):
    rng = np.random.default_rng(2)
    seen = DATA.leading(1).at_points(np.arange(0, 60, 3))
    values = np.stack([each.fields for each in seen])
    noisy = Trajectories.from_arrays(
        values + 10 * rng.normal(size=values.shape),
        seen.sequences[0].mesh.coords,
        seen.sequences[0].times,
        channels=seen.channels,
    )
    clean = fitted.forecast_bound(DATA, observations=seen, method="least-squares")
    found = fitted.forecast_bound(DATA, observations=noisy, method="least-squares")
    assert found.ideal_residual > 3 * clean.ideal_residual
    assert (found.measured <= found.bound).all()


def test_fewer_sensors_than_latents_bound_nothing(fitted):
    seen = DATA.leading(1).at_points(np.arange(5))
    found = fitted.forecast_bound(DATA, observations=seen)
    assert found.observability == 0
    assert np.isinf(found.bound).all()
    assert np.isfinite(found.measured).all()


@pytest.mark.parametrize("time_scale", [None, 3.7])
def test_an_exact_model_has_next_to_no_error_and_a_bound_to_match(time_scale):
    found = planted(DATA, time_scale=time_scale).forecast_bound(DATA)
    assert found.measured.max() < 1e-3
    assert (found.measured <= found.bound).all()
    assert found.bound.max() < 1.0
    assert "6 sequences" in found.recursion.sample


def test_the_bound_needs_the_ideal_residual_and_not_the_smallest_one(fitted):
    """As many sensors as latents fit everything, and know nothing by it."""
    seen = DATA.leading(1).at_points(np.arange(7, 15))
    found = fitted.forecast_bound(DATA, observations=seen, method="least-squares")
    assert found.fit_residual < 1e-4 * found.ideal_residual
    expected = (found.fit_residual + found.ideal_residual) / found.observability
    assert found.sparse_error <= expected * (1 + 1e-12)


@pytest.mark.parametrize("points", [2**12, 7])
def test_residuals_are_those_of_decoded_values(points, monkeypatch):
    """Of a decoder with an offset, and however many points are taken at once."""
    monkeypatch.setattr("smore.analysis.forecast_bounds.POINTS_AT_ONCE", points)
    model = planted(DATA)
    surrogate, rng = model.surrogate_, np.random.default_rng(5)
    with torch.no_grad():
        for bias in surrogate.decoder.biases:
            bias.copy_(torch.as_tensor(rng.normal(size=bias.shape)))
    states = torch.as_tensor(rng.normal(size=(6, 2, surrogate.decoder.latent_dim)))
    first = DATA.leading(1)
    found = residual_norms(surrogate.decoder.double(), surrogate.blocks(first), states)
    mesh = DATA.sequences[0].mesh
    for number, sequence in enumerate(first):
        decoded = decode(surrogate, states[number], mesh)
        for channel in range(2):
            misses = decoded[channel] - sequence.fields[0, channel]
            assert float(found[number, channel]) == pytest.approx(np.linalg.norm(misses), rel=1e-5)


def test_values_that_were_not_observed_count_neither_in_residuals_nor_in_errors(fitted):
    fields = np.stack([each.fields for each in DATA])
    fields[:, :, :, 50:] = np.nan
    times, coords = DATA.sequences[0].times, DATA.sequences[0].mesh.coords
    gappy = Trajectories.from_arrays(fields, coords, times, channels=DATA.channels, missing="mask")
    found = fitted.forecast_bound(gappy, missing="mask")
    assert np.isfinite(found.measured).all()
    assert (found.measured <= found.bound).all()
    fewer = fitted.forecast_bound(DATA, observations=DATA.leading(1).at_points(np.arange(50)))
    assert found.fit_residual == pytest.approx(fewer.fit_residual, rel=1e-6)


def test_without_the_truth_the_error_of_the_state_is_an_estimate(fitted):
    seen = DATA.leading(1).at_points(np.arange(30))
    found = fitted.state_error(seen)
    assert found.estimated
    variance = fitted.surrogate_.expected_noise
    assert found.ideal_residual == pytest.approx(float((30 * variance).sum().sqrt()))
    known = fitted.forecast_bound(DATA, observations=seen)
    assert found.fit_residual == pytest.approx(known.fit_residual)
    assert found.observability == known.observability
    assert found.bound == pytest.approx(
        (found.fit_residual + found.ideal_residual) / found.observability, rel=0.5
    )


def test_growth_is_proved_for_linear_dynamics_alone(fitted):
    assert fitted.forecast_bound(DATA).proved
    sizes = {"rank": 2, "latent_dim": 4, "hidden_dim": 16}
    model = SMORE(dynamics="lrlq", decoder_steps=20, dynamics_steps=10, **sizes)
    found = model.fit(DATA, progress=False).forecast_bound(DATA)
    assert not found.proved
    assert not found.to_dict()["proved"]


def test_l2_norms_are_weighted_sums_over_points_and_channels():
    mesh = DATA.sequences[0].mesh
    fields = np.random.default_rng(0).normal(size=(3, 2, 60))
    for number, field in enumerate(fields):
        total = sum(
            weight * value**2
            for channel in field
            for weight, value in zip(mesh.weights, channel, strict=True)
        )
        assert l2_norms(fields, mesh)[number] == pytest.approx(total**0.5)


def test_sequences_of_different_lengths_are_refused(fitted):
    ragged = [DATA.select([0]), DATA.select([1]).leading(4)]
    joined = ragged[0].__class__(
        sequences=(*ragged[0].sequences, *ragged[1].sequences),
        channels=DATA.channels,
        space=DATA.space,
        clock=DATA.clock,
        groups=(0, 1),
    )
    with pytest.raises(DataError, match="one length"):
        fitted.forecast_bound(joined)


def test_sequences_on_different_points_are_refused(fitted):
    halves = [DATA.select([0]).at_points(np.arange(30)), DATA.select([1]).at_points(np.arange(25))]
    joined = replace(DATA, sequences=tuple(each.sequences[0] for each in halves), groups=(0, 1))
    with pytest.raises(DataError, match="one mesh"):
        fitted.forecast_bound(joined)


def test_the_bound_is_the_curve_of_its_constants_with_room_for_rounding(fitted):
    found = fitted.forecast_bound(DATA)
    constants = (found.sparse_error, found.decoder_error, found.lipschitz)
    curve = error_bound_curve(found.recursion, *constants, 9)
    np.testing.assert_allclose(found.bound / curve - 1, 1e-12, rtol=1e-2)
    assert found.limit == limiting_error(found.recursion, *constants[1:])


def test_rounding_of_decoded_fields_is_part_of_the_decoder_error(fitted, monkeypatch):
    """Four roundings per latent of the largest field; here with three digits."""
    surrogate = fitted.surrogate_
    ideal = ideal_latents(surrogate, surrogate.aligned(DATA))
    mesh = DATA.sequences[0].mesh
    fields = np.stack([decode(surrogate, each, mesh) for each in ideal])
    largest = l2_norms(fields, mesh).max()
    errors = l2_norms(fields - np.concatenate([each.fields for each in DATA]), mesh)
    monkeypatch.setattr("smore.analysis.forecast_bounds.EPSILON", 1e-3)
    found = fitted.forecast_bound(DATA)
    assert found.decoder_error == pytest.approx(errors.max() + 4 * 8 * 1e-3 * largest, rel=1e-5)


def test_points_taken_at_once_make_no_difference(fitted, monkeypatch):
    whole = fitted.forecast_bound(DATA)
    monkeypatch.setattr("smore.analysis.forecast_bounds.POINTS_AT_ONCE", 7)
    parts = fitted.forecast_bound(DATA)
    np.testing.assert_allclose(parts.measured, whole.measured, rtol=1e-9)
    np.testing.assert_allclose(parts.bound, whole.bound, rtol=1e-9)


def test_values_that_are_missing_are_not_expected_to_be_missed(fitted):
    """Without the truth: of 30 values of one channel 10 are not there, of the other all are."""
    fields = np.stack([each.fields for each in DATA.leading(1).at_points(np.arange(30))])
    fields[0, :, 0, 5:15] = np.nan
    times, coords = DATA.sequences[0].times[:1], DATA.sequences[0].mesh.coords[:30]
    gappy = Trajectories.from_arrays(fields, coords, times, channels=DATA.channels, missing="mask")
    variance = fitted.surrogate_.expected_noise
    states = fitted.infer(gappy).mean
    found = state_error(fitted.surrogate_, gappy.select([0]), states[:1], None)
    counts = torch.tensor([20.0, 30.0], dtype=torch.float64)
    assert found.ideal_residual == pytest.approx(float((counts * variance).sum().sqrt()))
    others = state_error(fitted.surrogate_, gappy, states, None)
    assert others.ideal_residual == pytest.approx(float((30 * variance).sum().sqrt()))


def test_a_bound_is_told_with_everything_it_rests_on(fitted):
    found = fitted.forecast_bound(DATA)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["bound"] == found.bound.tolist()
    assert told["measured"] == found.measured.tolist()
    assert told["recursion"]["a"] == found.recursion.a
    assert told["proved"] is True
    assert told["lipschitz"] == found.lipschitz
    assert set(told) == {*vars(found), "proved"}
