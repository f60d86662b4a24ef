"""Cases of other libraries: the data are what they say, and a learned model filters them well."""

from __future__ import annotations

import numpy as np
import pytest

from smore.errors import SettingsError
from smore_paper.benches.assimilation.comparators import double_gyre
from smore_paper.benches.assimilation.comparators.dapper_cases import Case, learned_filter
from smore_paper.benches.assimilation.comparators.environment import PROGRAMS, run_comparator
from smore_paper.benches.assimilation.comparators.shred import compared


def test_the_double_gyre_has_no_sources_and_no_flow_through_walls():
    u, v = double_gyre.velocity(0.3, 2.0).reshape(2, -1, *double_gyre.SHAPE)
    # f maps [0, 2] onto itself, so that sin(π f) vanishes at both ends.
    assert np.abs(u[:, [0, -1]]).max() < 1e-12
    assert np.abs(v[:, :, [0, -1]]).max() < 1e-12
    across = np.gradient(u, double_gyre.X, axis=1, edge_order=2)
    along = np.gradient(v, double_gyre.Y, axis=2, edge_order=2)
    assert np.abs(across + along).max() < 0.02 * np.abs(across).max()


def test_flows_are_the_same_for_everybody():
    one, other = double_gyre.make_flows(4), double_gyre.make_flows(4)
    np.testing.assert_array_equal(one.measured, other.measured)
    noise = one.measured - one.u[:, :, one.sensors]
    assert noise.std() == pytest.approx(double_gyre.NOISE, rel=0.02)
    assert len(one.u) == double_gyre.NUM_TRAJECTORIES


def test_without_its_environment_a_comparator_says_how_to_create_it(tmp_path):
    with pytest.raises(SettingsError, match="make comparators"):
        run_comparator(tmp_path, "dapper", "raanes2015", 0, 10, 10)


def test_what_a_program_says_when_it_fails_is_told(tmp_path, monkeypatch):
    python = tmp_path / "dapper" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 'ValueError: no such case' >&2\nexit 1\n")
    python.chmod(0o755)
    assert "dapper" in PROGRAMS
    with pytest.raises(SettingsError, match="no such case"):
        run_comparator(tmp_path, "dapper", "nonsense")


def _advected(seed: int, points: int = 60, waves: int = 3, damping: float = 0.97) -> dict:
    """A small `raanes2015`: waves on a circle, damped and stirred, and its exact Kalman filter."""
    random = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(points) / points
    modes = np.concatenate([[np.sin(k * angle), np.cos(k * angle)] for k in range(1, waves + 1)])
    root = 0.05 * modes.T
    matrix, noise = damping * np.roll(np.eye(points), 1, axis=0), root @ root.T
    observed = np.floor(np.linspace(0, points, 5, endpoint=False)).astype(int)
    rows = np.eye(points)[observed]

    def moved(state):
        return matrix @ state + root @ random.normal(size=root.shape[1])

    state, record = np.zeros(points), []
    for _ in range(3200):
        state = moved(state)
        record.append(state)
    mean, covariance = np.zeros(points), np.cov(np.array(record[200:]).T)
    truth, seen, errors = [], [], []
    for _ in range(200):
        state, mean = moved(state), matrix @ mean
        covariance = matrix @ covariance @ matrix.T + noise
        reading = rows @ state + 0.1 * random.normal(size=len(rows))
        gain = covariance @ rows.T @ np.linalg.inv(rows @ covariance @ rows.T + 0.01 * np.eye(5))
        mean = mean + gain @ (reading - rows @ mean)
        covariance = covariance - gain @ rows @ covariance
        truth.append(state)
        seen.append(reading)
        errors.append(np.sqrt(np.square(mean - state).mean()))
    return {
        "record": np.array(record[200:]),
        "truth": np.array(truth),
        "seen": np.array(seen),
        "times": np.arange(1.0, 201.0),
        "scored": np.arange(200) >= 20.0,
        "step": np.array(1.0),
        "variance": np.array(0.01),
        "rmse_kalman": np.array(np.mean(errors[20:])),
        "rmse_enkf": np.array(1.0),
        "rmse_climatology": np.array(np.array(truth).std()),
    }


@pytest.mark.parametrize("dynamics", ["linear", "koopman"])
def test_damping_and_noise_that_were_learned_filter_nearly_as_well_as_the_true_ones(dynamics):
    case = Case(5, 3000, 30, 200, {"latent_dim": 6, "dynamics": dynamics})
    found = learned_filter("raanes2015", case, 0, _advected(0))
    assert found.ratio < 1.1
    assert found.stated == pytest.approx(found.rmse, rel=0.15)
    assert found.rmse < 0.5 * found.climatology_rmse


def test_flows_are_found_from_three_sensors(monkeypatch):
    """Shorter, with fewer trajectories: far better than the mean flow."""
    monkeypatch.setattr(double_gyre, "NUM_TRAJECTORIES", 30)
    flows = double_gyre.make_flows(0)
    mean = np.broadcast_to(flows.u[-3:].mean((0, 1)), flows.u[-3:].shape)
    theirs = {"u": mean, "v": 0 * mean, "seconds": np.array(1.0), "epochs": np.array(1.0)}
    found = compared(0, flows, theirs)
    assert found.ratio < 0.2
