"""Normalised fields have mean 0 and deviation 1, and come back as they were."""

import numpy as np
import pytest
from pydantic import ValidationError

from smore.data import Normalization, Trajectories
from smore.data.normalization import channel_moments, require_variation
from smore.errors import DataError


def trajectories(missing: bool = False, dtype: str = "f8") -> Trajectories:
    rng = np.random.default_rng(0)
    scale = np.array([1e-6, 1.0, 300.0])[:, None]
    fields = [
        (1e5 * scale + scale * rng.normal(size=(times, 3, points))).astype(dtype)
        for times, points in [(5, 40), (3, 60), (2, 10)]
    ]
    if missing:
        for values in fields:
            values[rng.uniform(size=values.shape) < 0.4] = np.nan
    coords = [rng.uniform(size=(values.shape[2], 2)) for values in fields]
    times = [np.arange(float(len(values))) for values in fields]
    return Trajectories.from_arrays(fields, coords, times, missing="mask")


def observed_values(data: Trajectories, normalization: Normalization, channel: int) -> np.ndarray:
    parts = []
    for sequence in data:
        values = normalization.apply(sequence.fields)[:, channel]
        mask = True if sequence.observed is None else sequence.observed[:, channel]
        parts.append(values[np.broadcast_to(mask, values.shape)])
    return np.concatenate(parts)


@pytest.mark.parametrize("missing", [False, True])
def test_standard(missing: bool) -> None:
    data = trajectories(missing)
    normalization = Normalization.fit(data)
    for channel in range(3):
        values = observed_values(data, normalization, channel)
        assert values.mean() == pytest.approx(0.0, abs=1e-9)
        assert values.std() == pytest.approx(1.0, rel=1e-9)


def test_scale_keeps_zero_in_its_place() -> None:
    data = trajectories()
    normalization = Normalization.fit(data, "scale")
    assert normalization.shift == (0.0, 0.0, 0.0)
    assert normalization.scale == Normalization.fit(data, "standard").scale


def test_none_is_the_identity() -> None:
    data = trajectories()
    fields = data.sequences[0].fields
    np.testing.assert_array_equal(Normalization.fit(data, "none").apply(fields), fields)


@pytest.mark.parametrize(("dtype", "tolerance"), [("f4", 1e-6), ("f8", 1e-14)])
def test_undo_after_apply(dtype: str, tolerance: float) -> None:
    data = trajectories(dtype=dtype)
    normalization = Normalization.fit(data)
    for sequence in data:
        fields = normalization.apply(sequence.fields)
        assert fields.dtype == dtype
        np.testing.assert_allclose(normalization.undo(fields), sequence.fields, rtol=tolerance)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e8])
def test_a_constant_channel_is_not_blown_up(value: float) -> None:
    fields = np.full((2, 3, 1, 50), value, "f4")
    data = Trajectories.from_arrays(
        fields, np.random.default_rng(0).uniform(size=(50, 2)), [0, 1, 2]
    )
    normalization = Normalization.fit(data)
    assert normalization.scale == (1.0,)
    np.testing.assert_allclose(normalization.apply(fields), 0.0, atol=1e-6)


def test_json() -> None:
    normalization = Normalization.fit(trajectories())
    assert Normalization.model_validate_json(normalization.model_dump_json()) == normalization
    with pytest.raises(ValidationError):
        Normalization(shift=(0.0,), scale=(0.0,))


def constants(*values: float) -> np.ndarray:
    """Fields (sequences, times, channels, points) that never change."""
    return np.ones((2, 3, 1, 4)) * np.array(values)[:, None]


def test_data_that_never_change_are_refused_by_name() -> None:
    def require(fields: np.ndarray) -> None:
        coords = np.random.default_rng(0).uniform(size=(4, 2))
        names = ["u", "v"][: fields.shape[2]]
        given = Trajectories.from_arrays(fields, coords, np.arange(3.0), channels=names)
        require_variation(channel_moments(given), given.channels)

    with pytest.raises(DataError, match=r"the values of 'u' are all 3; a model of a constant"):
        require(constants(3.0))
    told = r"'u' are all 0\.3, those of 'v' are all -200000;"
    with pytest.raises(DataError, match=told):
        require(constants(0.3, -2e5).astype("f4"))
    with pytest.raises(DataError, match="'u' are all 1"):
        require(constants(1.0) + 1e-15 * np.arange(4))  # round-off
    for where in [(1,), (slice(None), 2), (0, 0, 1, 0)]:
        fields = constants(3.0, 0.0)
        fields[where] += 1e-6
        require(fields)
