"""Cutting, choosing and splitting never lose or change a value."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from smore.data import Mesh, Trajectories
from smore.errors import DataError


def counting(num_sequences: int = 3, num_times: int = 7) -> Trajectories:
    shape = (num_sequences, num_times, 2, 4)
    return Trajectories.from_arrays(
        np.arange(float(np.prod(shape))).reshape(shape),
        np.random.default_rng(0).uniform(size=(4, 2)),
        np.arange(num_times) * 0.5,
        channels=["u", "v"],
    )


@given(num_times=st.integers(2, 12), length=st.integers(2, 13))
def test_cut_keeps_every_snapshot_but_a_lone_last_one(num_times: int, length: int) -> None:
    whole = counting(2, num_times)
    pieces = whole.cut(length)
    kept = num_times - (num_times % length == 1)
    for group, sequence in enumerate(whole):
        mine = [piece for piece, of in zip(pieces, pieces.groups, strict=True) if of == group]
        assert all(2 <= piece.num_snapshots <= length for piece in mine)
        np.testing.assert_array_equal(
            np.concatenate([p.times for p in mine]), sequence.times[:kept]
        )
        np.testing.assert_array_equal(
            np.concatenate([p.fields for p in mine]), sequence.fields[:kept]
        )
    assert len({id(piece.mesh) for piece in pieces}) == 1


def test_a_sequence_by_its_number(ragged: Trajectories) -> None:
    assert [ragged[number] for number in range(len(ragged))] == list(ragged)
    assert ragged[-1] is ragged.sequences[-1]
    with pytest.raises(IndexError):
        ragged[len(ragged)]


def test_leading_snapshots_are_views(ragged: Trajectories) -> None:
    leading = ragged.leading(3)
    assert [sequence.num_snapshots for sequence in leading] == [2, 3, 3]
    for part, whole in zip(leading, ragged, strict=True):
        assert np.shares_memory(part.fields, whole.fields)


@given(
    groups=st.lists(st.integers(0, 5), min_size=1, max_size=12),
    fraction=st.floats(0.01, 0.99),
    seed=st.integers(0, 100),
)
def test_split_keeps_trajectories_together(groups: list[int], fraction: float, seed: int) -> None:
    dataset = xr.Dataset(
        {"u": (("sequence", "time", "x"), np.arange(len(groups) * 4.0).reshape(-1, 2, 2))},
        coords={"time": [0.0, 1.0], "x": [0.0, 1.0], "trajectory": ("sequence", groups)},
    )
    trajectories = Trajectories.from_xarray(dataset)
    rest, held_out = trajectories.split(fraction, seed)
    if len(set(groups)) == 1:
        assert rest is trajectories
        assert held_out is None
        return
    assert held_out is not None
    assert not set(rest.groups) & set(held_out.groups)
    assert sorted(rest.groups + held_out.groups) == sorted(groups)
    expected = np.clip(round(fraction * len(set(groups))), 1, len(set(groups)) - 1)
    assert len(set(held_out.groups)) == expected
    again = trajectories.split(fraction, seed)[1]
    assert again is not None
    assert again.groups == held_out.groups


def test_channels_by_name() -> None:
    trajectories = counting()
    assert trajectories.select_channels(["u", "v"]) is trajectories
    swapped = trajectories.select_channels(["v", "u"])
    assert [channel.name for channel in swapped.channels] == ["v", "u"]
    for one, other in zip(swapped, trajectories, strict=True):
        np.testing.assert_array_equal(one.fields, other.fields[:, ::-1])
    with pytest.raises(DataError, match="channels out of u, v, got w"):
        trajectories.select_channels(["w"])


def test_coordinates_by_name(grid: xr.Dataset) -> None:
    trajectories = Trajectories.from_xarray(grid)
    swapped = trajectories.order_coordinates(["y", "x"])
    assert swapped.space.names == ("y", "x")
    for one, other in zip(swapped, trajectories, strict=True):
        np.testing.assert_array_equal(one.mesh.coords, other.mesh.coords[:, ::-1])
    xr.testing.assert_equal(swapped.to_xarray(), trajectories.to_xarray())
    for names in (["x", "z"], ["x"], ["x", "x"]):
        with pytest.raises(DataError, match="expected coordinates"):
            trajectories.order_coordinates(names)


def test_points_of_all_sequences_and_of_each(grid: xr.Dataset) -> None:
    trajectories = Trajectories.from_xarray(grid)
    same = trajectories.at_points([2, 11])
    assert same.sequences[0].mesh is same.sequences[1].mesh
    mask = np.zeros(15, bool)
    mask[[2, 11]] = True
    each = trajectories.at_points([np.array([2, 11]), np.flatnonzero(~mask)])
    assert each.sequences[0].mesh is not each.sequences[1].mesh
    for part, index in [(same, [2, 11]), (trajectories.at_points(mask), [2, 11]), (each, [2, 11])]:
        sequence, whole = part.sequences[0], trajectories.sequences[0]
        np.testing.assert_array_equal(sequence.fields, whole.fields[..., index])
        np.testing.assert_array_equal(sequence.mesh.coords, whole.mesh.coords[index])
        np.testing.assert_array_equal(sequence.mesh.weights, whole.mesh.weights[index])
    with pytest.raises(DataError, match="for each of 2 sequences, got 3"):
        trajectories.at_points([[0], [1], [2]])


def test_a_mask_follows_its_values() -> None:
    fields = np.arange(24.0).reshape(1, 3, 2, 4)
    fields[0, 1, 1, 2] = np.nan
    masked = Trajectories.from_arrays(fields, np.eye(4), [0, 1, 2], missing="mask")
    for part, where in [
        (masked.cut(2), [1, 1, 2]),
        (masked.select_channels(["u1"]), [1, 0, 2]),
        (masked.at_points([3, 2]), [1, 1, 1]),
        (masked.leading(2), [1, 1, 2]),
    ]:
        observed = part.sequences[0].observed
        assert observed is not None
        assert np.argwhere(~observed).tolist() == [where]


def test_equal_points_are_one_mesh(ragged: Trajectories) -> None:
    meshes = [sequence.mesh for sequence in ragged]
    assert meshes[1] is meshes[2]
    assert meshes[0] is not meshes[1]


def test_arrays_are_viewed_and_never_written() -> None:
    fields = np.random.default_rng(0).normal(size=(2, 3, 1, 4)).astype("f4")
    coords, times = np.eye(4)[:, :2].copy(), np.arange(3.0)
    for array in (fields, coords, times):
        array.flags.writeable = False
    trajectories = Trajectories.from_arrays(fields, coords, times)
    assert all(np.shares_memory(sequence.fields, fields) for sequence in trajectories)
    sequence = trajectories.sequences[0]
    for array in (sequence.fields, sequence.times, sequence.mesh.coords, sequence.mesh.weights):
        assert not array.flags.writeable


def test_the_user_may_still_write_to_what_was_passed() -> None:
    fields, coords, times = np.ones((1, 2, 1, 3)), np.eye(3), np.arange(2.0)
    sequence = Trajectories.from_arrays(fields, coords, times).sequences[0]
    coords[:] = 7.0
    times[:] = 7.0
    np.testing.assert_array_equal(sequence.mesh.coords, np.eye(3))
    np.testing.assert_array_equal(sequence.times, [0.0, 1.0])


def test_axes_of_a_grid_are_the_coordinates_the_user_gave(grid: xr.Dataset) -> None:
    mesh = Trajectories.from_xarray(grid.transpose("x", ...)).sequences[0].mesh
    assert mesh.separable
    np.testing.assert_array_equal(mesh.axes[0], grid["x"])
    np.testing.assert_array_equal(mesh.axes[1], grid["y"])
    assert not mesh.subset([1, 2]).separable
    assert isinstance(mesh.subset([1, 2]), Mesh)


@pytest.mark.parametrize(
    "ask",
    [
        lambda t: t.leading(0),
        lambda t: t.cut(1),
        lambda t: t.leading(1).cut(2),
        lambda t: t.select([]),
        lambda t: t.split(0.0, 0),
        lambda t: t.split(1.0, 0),
        lambda t: t.at_points([]),
        lambda t: t.select_channels([]),
    ],
)
def test_nothing_left_is_refused(ask) -> None:
    with pytest.raises(DataError):
        ask(counting())
