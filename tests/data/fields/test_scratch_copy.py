"""Lazy trajectories are the same trajectories: metadata at once, values in one pass."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from smore import Trajectories
from smore.data import stored
from smore.data.fields.file_fields import FileFields, grouped, pieces
from smore.data.fields.fingerprint import fingerprint
from smore.data.fields.scratch_fields import StoredFields
from smore.data.normalization import channel_moments
from smore.errors import DataError
from streamed import CHUNKS, both, flow, write

pytestmark = pytest.mark.usefixtures("small_tiles")


def unreadable(trajectories: Trajectories) -> Trajectories:
    """The same, but whoever looks at a value fails."""

    def fail(block: np.ndarray) -> np.ndarray:
        raise AssertionError("a value was read")

    def spoilt(sequence):
        array = sequence.source.array
        source = replace(
            sequence.source, array=array.map_blocks(fail, dtype=array.dtype, meta=array._meta)
        )
        return replace(sequence, source=source)

    return replace(trajectories, sequences=tuple(map(spoilt, trajectories)))


@pytest.mark.parametrize("chunks", [*CHUNKS, "netcdf"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_stored_trajectories_are_those_in_memory(chunks, dtype, tmp_path, assert_same):
    memory, lazy = both(flow(dtype), tmp_path, chunks)
    assert lazy.is_lazy
    assert not memory.is_lazy
    assert_same(lazy.load(), memory)
    copy = stored(lazy)
    assert all(isinstance(sequence.source, StoredFields) for sequence in copy)
    if dtype == "f4":
        assert_same(copy.load(), memory)
    assert fingerprint(copy) == fingerprint(memory) == fingerprint(lazy)
    for ours, theirs in zip(channel_moments(copy), channel_moments(memory), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert stored(copy) is copy
    assert stored(memory) is memory


def test_double_precision_is_kept_where_it_matters(tmp_path):
    """A pressure of 100000 that varies by 1 has three digits left in float32."""
    data = flow("f8")
    memory, lazy = both(data.assign(u0=1e5 + data["u0"]), tmp_path)
    for ours, theirs in zip(stored(lazy), memory, strict=True):
        np.testing.assert_allclose(ours.fields, theirs.fields, rtol=0, atol=3e-7)


def test_selections_read_nothing_and_commute_with_storing(tmp_path, assert_same):
    memory, lazy = both(flow(), tmp_path, "odd")
    chosen = np.arange(126) % 5 == 0
    for select in (
        lambda data: data.select([2, 0]),
        lambda data: data.leading(3),
        lambda data: data.cut(4),
        lambda data: data.select_channels(["u1"]),
        lambda data: data.split(0.5, 0)[1],
        lambda data: data.order_coordinates(["y", "x"]),
    ):
        opaque = select(unreadable(lazy))
        assert all(isinstance(sequence.source, FileFields) for sequence in opaque)
        assert_same(stored(select(lazy)).load(), select(memory))
        assert_same(select(stored(lazy)).load(), select(memory))
    for points in (chosen, np.arange(20, 90), np.array([5, 3, 100])):
        unreadable(lazy).at_points(points)
        assert_same(stored(lazy.at_points(points)).load(), memory.at_points(points))
        assert_same(stored(lazy).at_points(points), memory.at_points(points))


def test_dask_variables_stay_lazy_and_others_join_them(grid, assert_same):
    lazy = Trajectories.from_xarray([grid.chunk(time=1), grid])
    assert all(isinstance(sequence.source, FileFields) for sequence in lazy)
    assert_same(stored(lazy).load(), Trajectories.from_xarray([grid, grid]))


@pytest.mark.parametrize("chunks", ["snapshots", "points"])
def test_a_value_that_is_not_finite_is_named_as_in_the_file(chunks, tmp_path):
    data = flow()
    data["u1"][3, 4, 2, 5] = np.nan
    lazy = Trajectories.open(write(data, tmp_path, chunks), lazy=True)
    message = (
        r"'u1' must be a finite value, is nan in sequence 3 at time index 4 \(time = 2.0\), "
        r"point 33 \[y index 2, x index 5\] \(x = -0.230769, y = 0.25\); .*missing='mask'"
    )
    with pytest.raises(DataError, match=message):
        stored(lazy)
    with pytest.raises(DataError, match=message):
        stored(lazy.select([3, 1]).cut(3))
    with pytest.raises(DataError, match="sequence 3 is nan at time index 4, channel 1, point 33"):
        lazy.load()
    stored(lazy.leading(4))
    stored(lazy.select([0, 1, 2]))


@pytest.mark.parametrize("missing", ["refuse", "mask"])
def test_infinity_is_always_refused(missing, tmp_path):
    data = flow()
    data["u0"][1, 2, 0, 0] = np.inf
    path = write(data, tmp_path)
    with pytest.raises(
        DataError, match="'u0' must be a finite value, is inf in sequence 1 at time index 2"
    ):
        stored(Trajectories.open(path, lazy=True, missing=missing))


@pytest.mark.parametrize("missing", ["refuse", "mask"])
def test_a_fill_value_that_no_attribute_declares_is_refused(missing, tmp_path):
    data = flow()
    data["u0"][1, 2, 0, 0] = 1e20
    path = write(data, tmp_path)
    lazy = Trajectories.open(path, lazy=True, missing=missing)
    with pytest.raises(DataError, match=r"'u0' .* sequence 1 at time index 2 .* 'no value'"):
        stored(lazy)
    with pytest.raises(DataError, match=r"sequence 1 is 1e[+]20 at time index 2, .* 'no value'"):
        lazy.load()


@pytest.mark.parametrize("chunks", CHUNKS)
def test_land_is_left_out(chunks, tmp_path, assert_same):
    data = flow()
    land = (data["x"] > 0.2) & (data["y"] < 0.7)
    memory, lazy = both(data.where(~land), tmp_path, chunks, missing="mask")
    copy = stored(lazy)
    assert_same(copy.load(), memory)
    assert [s.num_values for s in copy] == [s.num_values for s in memory]
    assert [s.num_values for s in lazy] == [s.num_values for s in memory]
    assert fingerprint(copy) == fingerprint(memory) == fingerprint(lazy)
    for ours, theirs in zip(channel_moments(copy), channel_moments(memory), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize(
    "where", [{"time": 3, "y": 1}, {"y": slice(4, 6), "time": slice(1, None)}, {"time": 0, "x": 2}]
)
def test_gaps_of_single_snapshots_are_refused(where, tmp_path):
    data = flow()
    data["u1"][where] = np.nan
    _, lazy = both(data, tmp_path, missing="mask")
    with pytest.raises(DataError, match=r"'u1' differs from the first snapshot .* into memory"):
        stored(lazy)


def test_values_on_land_are_refused(tmp_path):
    data = flow()
    for name in data.data_vars:
        data[name][:, :, 3] = np.nan
    data["u1"][2, 4, 3, 7] = 1.0
    _, lazy = both(data, tmp_path, missing="mask")
    with pytest.raises(DataError, match=r"'u1' differs .* in sequence 2 at time index 4"):
        stored(lazy)


def test_sequences_on_different_points_are_refused(scattered):
    moved = scattered.assign_coords(x=scattered["x"] + 1)
    lazy = Trajectories.from_xarray([scattered.chunk(), moved.chunk()])
    with pytest.raises(DataError, match="2 different meshes; read the data into memory"):
        stored(lazy)


def test_lazy_trajectories_are_written_as_they_are(tmp_path, assert_same):
    memory, lazy = both(flow(), tmp_path, "odd")
    dataset = unreadable(lazy).to_xarray()
    assert dataset["u0"].chunks is not None
    lazy.save(tmp_path / "copy.nc")
    lazy.save(tmp_path / "copy.zarr")
    for name in ("copy.nc", "copy.zarr"):
        assert_same(Trajectories.open(tmp_path / name), memory)


def test_a_changed_value_changes_its_entry_of_the_fingerprint(tmp_path):
    data = flow()
    before = fingerprint(Trajectories.from_xarray(data))
    for name, changed in {
        "channels": data.rename(u0="w").assign_attrs(channel_names=["w", "u1"]),
        "times": data.assign_coords(time=data["time"] * 2),
        "points": data.assign_coords(x=data["x"] * 2),
        "values": data.assign(u0=data["u0"].where(data["u0"] != data["u0"].max(), 0.0)),
        "snapshots": data.isel(sequence=slice(3)),
    }.items():
        after = fingerprint(Trajectories.from_xarray(changed))
        differ = {entry for entry in before if before[entry] != after[entry]}
        assert name in differ
        if name != "snapshots":
            assert differ == {name}


@pytest.mark.parametrize("chunks", [((4, 4, 2), (10, 10)), ((1,) * 10, (20,)), ((10,), (3,) * 6)])
@pytest.mark.parametrize("budget", [1, 100, 300, 10**6])
def test_pieces_are_whole_chunks_that_cover_everything_once(chunks, budget, monkeypatch):
    monkeypatch.setattr("smore.data.fields.file_fields.PIECE_BYTES", budget)
    rows = da.zeros((10, sum(chunks[1])), chunks=chunks, dtype="f4")
    seen = np.zeros(rows.shape, dtype=int)
    for few, some in pieces(rows):
        seen[few, some] += 1
        for part, lengths in ((few, chunks[0]), (some, chunks[1])):
            assert {part.start, part.stop} <= {0, *np.cumsum(lengths)}
    assert (seen == 1).all()


def test_groups_are_as_large_as_they_may_be():
    assert list(grouped([3, 3, 3, 9, 1], 6)) == [
        slice(0, 6),
        slice(6, 9),
        slice(9, 18),
        slice(18, 19),
    ]
