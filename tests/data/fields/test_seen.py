"""Where anything was ever observed, whoever holds the data and wherever they are."""

import numpy as np
import pytest

from smore import Trajectories
from smore.data import stored
from smore.data.fields.seen import seen_points
from smore.data.sharing import shared_out
from smore.runtime.distribution import Team
from streamed import both, flow

pytestmark = pytest.mark.usefixtures("small_tiles")


def noise(hidden=()):
    """Two sequences, three times, two channels, five points; NaN at the indices `hidden`."""
    fields = np.random.default_rng(0).normal(size=(2, 3, 2, 5))
    for index in hidden:
        fields[index] = np.nan
    coords = np.random.default_rng(1).uniform(size=(5, 2))
    return Trajectories.from_arrays(fields, coords, np.arange(3.0), missing="mask")


def test_one_value_is_enough():
    assert seen_points(noise()).tolist() == [[True] * 5] * 2
    everywhere, once, channel = np.s_[..., 1], np.s_[:, 1:, :, 2], np.s_[..., 0, 3]
    assert seen_points(noise([everywhere, once, channel])).tolist() == [
        [True, False, True, False, True],
        [True, False, True, True, True],
    ]
    # In one sequence never, in the other always.
    assert seen_points(noise([np.s_[0, ..., 4]])).all()


def test_shares_of_a_team_are_parts_of_the_whole():
    data = noise([np.s_[..., 1], np.s_[..., 0, 3]])
    shares = [seen_points(shared_out(data, Team(rank, 2))) for rank in range(2)]
    np.testing.assert_array_equal(np.concatenate(shares, axis=1), seen_points(data))


def test_a_file_tells_what_memory_tells(tmp_path):
    wet = flow()
    land = (wet["x"] > 0.2) & (wet["y"] < 0.7)
    for each in both(wet.where(~land), tmp_path, missing="mask"):
        found = seen_points(stored(each))
        sea = ~land.transpose("y", "x").values.ravel()
        np.testing.assert_array_equal(found, np.tile(sea, (2, 1)))
    assert seen_points(stored(both(wet, tmp_path / "whole")[1])).all()
