"""What the decoder misses where sensors are: a field in space and time, seen along any tracks."""

from __future__ import annotations

import numpy as np
import pytest

from smore.assimilation import _decoder_error
from smore.assimilation._decoder_error import DecoderError, Spots


def _spots(places, time, channels=None):
    count = len(places)
    own = np.zeros(count, np.intp) if channels is None else np.array(channels)
    return Spots(own, np.array(places), 0.1 + np.arange(count) % 3, np.full(count, time))


def _walked(error, num_times, seed=0):
    """Three sensors, two of them moving: spots of every time, and the map from all noise to them.

    Noise starts with that of the first spots, then of every step.
    """
    random = np.random.default_rng(seed)
    places = random.uniform(size=(3, 2)) * 0.2
    drift = np.array([[0.0, 0.0], [0.02, 0.01], [-0.015, 0.02]])
    spots, root = Spots.none(2), np.zeros((0, 0))
    found = []
    for number in range(num_times):
        time = 0.7 * error.step * number
        arriving = _spots(places + number * drift, time)
        spots, matrix, noise = error.carried(spots, time - 0.7 * error.step, time, arriving)
        root = np.concatenate([matrix @ root, noise], axis=1)
        found.append((spots, root))
    return found


def test_along_tracks_covariances_are_those_of_the_field(erring):
    """At every time, between all places that were ever visited."""
    error = DecoderError(erring.surrogate_)
    for spots, root in _walked(error, 6):
        np.testing.assert_allclose(root @ root.T, error.own(spots), rtol=1e-9, atol=1e-12)
    assert len(spots) == 1 + 2 * 6  # one stays, two leave a spot behind at every time


def test_places_left_behind_are_correlated_with_what_is_seen_later(erring):
    """memory^lag times the field's covariance, for a place of the first time."""
    error = DecoderError(erring.surrogate_)
    walked = _walked(error, 6)
    (first, start), (last, end) = walked[0], walked[-1]
    padded = np.pad(start, ((0, 0), (0, end.shape[1] - start.shape[1])))
    behind = last.find(first.places, first.channels)
    assert (behind >= 0).all()
    lag = 0.7 * 5
    expected = error.memory[0] ** lag * error.own(last)[:, behind]
    np.testing.assert_allclose((end @ padded.T), expected, rtol=1e-9, atol=1e-12)


def test_silent_places_are_few_and_the_latest(erring, monkeypatch):
    monkeypatch.setattr(_decoder_error, "MOST_SILENT", 4)
    error = DecoderError(erring.surrogate_)
    for number, (spots, root) in enumerate(_walked(error, 6)):
        assert len(spots) == 3 + min(2 * number, 4)
        np.testing.assert_allclose(root @ root.T, error.own(spots), rtol=1e-9, atol=1e-12)
    now = spots.heard.max()
    assert sorted(set(spots.heard)) == pytest.approx(
        [now - 1.4 * error.step, now - 0.7 * error.step, now]
    )


def test_two_sensors_at_one_place_see_the_same(erring):
    error = DecoderError(erring.surrogate_)
    twice = _spots([[0.1, 0.2], [0.1, 0.2], [0.1, 0.2]], 0.0, channels=[0, 0, 1])
    spots, _, _ = error.carried(Spots.none(2), -1.0, 0.0, twice)
    assert len(spots) == 2
    assert spots.find(twice.places, twice.channels).tolist() == [0, 0, 1]
    assert spots.find(np.array([[0.1, 0.3]]), np.array([0])).tolist() == [-1]
