"""POD + DMD against singular vectors and linear systems that are known."""

import numpy as np
import pytest

from smore.data import Trajectories
from smore.errors import DataError, SettingsError
from smore_paper.baselines.pod_dmd import POD, PODDMD

DIM, NUM_POINTS = 6, 15
COORDS = np.random.default_rng(9).uniform(size=(NUM_POINTS, 2))


def trajectories(fields, times=None, coords=COORDS):
    times = np.arange(float(len(fields[0]))) if times is None else times
    return Trajectories.from_arrays(fields, coords, times, channels=["u", "v"])


def turning():
    """(r, r) two damped rotations, a decay and a slow growth."""
    matrix = np.diag([0.0, 0.0, 0.0, 0.0, 0.8, 1.01])
    for at, (modulus, angle) in enumerate([(0.95, 0.4), (0.99, 1.1)]):
        cosine, sine = modulus * np.cos(angle), modulus * np.sin(angle)
        block = slice(2 * at, 2 * at + 2)
        matrix[block, block] = [[cosine, -sine], [sine, cosine]]
    return matrix


def linear_fields(num_sequences, num_times, seed=0):
    """u = offset + modes z with z ↦ turning() z, about no mean in particular."""
    fixed = np.random.default_rng(5)
    modes = fixed.normal(size=(2 * NUM_POINTS, DIM))
    modes[NUM_POINTS:] *= 100  # channels of very different size
    offset = fixed.normal(size=2 * NUM_POINTS)
    states = [1 + np.random.default_rng(seed).normal(size=(num_sequences, DIM))]
    for _ in range(num_times - 1):
        states.append(states[-1] @ turning().T)
    fields = offset + np.stack(states, axis=1) @ modes.T
    return fields.reshape(num_sequences, num_times, 2, NUM_POINTS)


def fitted(rank=DIM, num_sequences=12, num_times=4):
    return PODDMD(rank).fit(trajectories(linear_fields(num_sequences, num_times)), seed=0, epochs=1)


@pytest.mark.parametrize("rank", [DIM, DIM + 5])
def test_a_linear_system_is_recovered_from_many_short_sequences(rank):
    """Its eigenvalues; a pair across two sequences would spoil them.

    More modes than the system has are round-off and are left out.
    """
    found = np.linalg.eigvals(fitted(rank).step_[:-1])
    known = np.linalg.eigvals(turning())
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(known), rtol=0, atol=1e-8)


def test_forecasts_follow_the_system_far_beyond_the_training_window():
    truth = linear_fields(3, 20, seed=1)
    data = trajectories(truth)
    baseline = fitted()
    states = baseline.pod_.encode(truth[:, 0])
    for step in range(1, 20):
        states = states @ baseline.step_[:-1] + baseline.step_[-1]
        error = baseline.pod_.decode(states) - truth[:, step]
        assert np.abs(error / baseline.pod_.scale[:, None]).max() < 1e-8
    forecast = baseline.forecast(data, 19)
    assert forecast.dtype == np.float32
    np.testing.assert_allclose(forecast, truth[:, 1:].astype(np.float32), rtol=1e-5, atol=1e-4)


def test_only_the_first_snapshot_is_looked_at():
    truth = linear_fields(3, 5, seed=1)
    spoilt = truth.copy()
    spoilt[:, 1:] = 7.0
    baseline = fitted()
    np.testing.assert_array_equal(
        baseline.forecast(trajectories(truth), 4), baseline.forecast(trajectories(spoilt), 4)
    )


@pytest.mark.parametrize("num_sequences", [2, 20])  # fewer snapshots than values, and more
def test_modes_are_the_leading_singular_vectors_of_scaled_deviations(num_sequences):
    fields = np.random.default_rng(0).normal(3.0, 1.0, size=(num_sequences, 3, 2, NUM_POINTS))
    fields[:, :, 1] *= 40
    pod = POD.fit(trajectories(fields), 4)
    flat = fields.reshape(-1, 2, NUM_POINTS)
    centred = flat - flat.mean(0)
    scale = np.sqrt([np.mean(centred[:, channel] ** 2) for channel in range(2)])
    scaled = (centred / scale[:, None]).reshape(len(flat), -1)
    left, values, right = np.linalg.svd(scaled, full_matrices=False)
    states = pod.encode(flat)
    np.testing.assert_allclose(
        states @ states.T, (left[:, :4] * values[:4] ** 2) @ left[:, :4].T / (2 * NUM_POINTS)
    )
    projected = (left[:, :4] * values[:4] @ right[:4]).reshape(flat.shape)
    expected = flat.mean(0) + projected * scale[:, None]
    np.testing.assert_allclose(pod.decode(states), expected)


@pytest.mark.parametrize(
    ("dataset", "rank"), [("wave", 200), ("ns", 128), ("navier-stokes", 128), ("sw", 200)]
)
def test_the_state_is_as_long_as_that_of_smore_koopman(dataset, rank):
    assert PODDMD.for_dataset(dataset).rank == rank


def test_parameters_are_mean_modes_and_map():
    values = 2 * NUM_POINTS
    assert fitted().num_parameters == values + values * DIM + DIM * DIM + DIM


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda: trajectories(linear_fields(12, 4), np.array([0.0, 1, 2, 4])), "same time step"),
        (lambda: trajectories(linear_fields(12, 1)), "at least 2 snapshots"),
        (lambda: trajectories(linear_fields(2, 3)), "more sequences or a smaller rank"),
        (lambda: trajectories(np.ones((3, 4, 2, NUM_POINTS))), "all of these are equal"),
    ],
)
def test_data_that_a_map_cannot_be_learned_from_are_refused(spoil, message):
    with pytest.raises(DataError, match=message):
        PODDMD(DIM).fit(spoil(), seed=0, epochs=1)


def test_no_modes_at_all_are_refused():
    with pytest.raises(SettingsError, match="at least 1, got 0"):
        fitted(rank=0)


def test_incomplete_snapshots_are_refused():
    fields = linear_fields(12, 4)
    fields[3, 1, 0, 2] = np.nan
    times = np.arange(4.0)
    data = Trajectories.from_arrays(fields, COORDS, times, channels=["u", "v"], missing="mask")
    with pytest.raises(DataError, match="missing values in sequence 3"):
        PODDMD(DIM).fit(data, seed=0, epochs=1)


def test_other_points_are_refused():
    fields = linear_fields(12, 4)
    moved = trajectories(list(fields), [np.arange(4.0)] * 12, [COORDS] * 11 + [COORDS + 1])
    with pytest.raises(DataError, match="several sets"):
        PODDMD(DIM).fit(moved, seed=0, epochs=1)
    with pytest.raises(DataError, match="got others in sequence 0"):
        fitted().forecast(trajectories(fields, coords=COORDS + 1), 1)
