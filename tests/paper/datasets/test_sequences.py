"""Cutting trajectories into sequences."""

import numpy as np
import xarray as xr

from smore_paper.datasets.sequences import cut


def test_pieces_keep_order_origin_and_attributes():
    trajectories = xr.Dataset(
        {"u": (("trajectory", "time", "x"), np.arange(36.0).reshape(2, 6, 3), {"units": "m"})},
        coords={
            "time": ("time", 30.0 + 0.5 * np.arange(6), {"units": "s"}),
            "x": [0.0, 0.1, 0.2],
            "trajectory": [4, 5],
            "width": ("trajectory", [0.25, 0.3]),
        },
        attrs={"title": "numbers"},
    )
    sequences = cut(trajectories, 3)
    assert sequences.u.dims == ("sequence", "time", "x")
    np.testing.assert_array_equal(sequences.u, np.arange(36.0).reshape(4, 3, 3))
    np.testing.assert_array_equal(sequences.time, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(sequences.trajectory, [4, 4, 5, 5])
    np.testing.assert_array_equal(sequences.width, [0.25, 0.25, 0.3, 0.3])
    np.testing.assert_array_equal(sequences.start_time, [30.0, 31.5, 30.0, 31.5])
    assert sequences.time.attrs["units"] == "s"
    assert sequences.u.attrs == {"units": "m"}
    assert sequences.attrs == {"title": "numbers"}
