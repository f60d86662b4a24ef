"""Lazy trajectories are the same trajectories: metadata at once, values in one pass."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
import xarray as xr

from smore import Trajectories
from smore.data import stored
from smore.data.fields.file_fields import FileFields, file_fields, slabs
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
        file = sequence.source.file
        variables = tuple(
            xr.Variable(each.dims, da.zeros(each.shape).map_blocks(fail, meta=np.empty(0)))
            for each in file.variables
        )
        source = replace(sequence.source, file=replace(file, variables=variables))
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


LAYOUTS = {
    "contiguous": (("sequence", "time", "y", "x"), None),
    "points first": (("y", "x", "time", "sequence"), None),
    "chunks": (("sequence", "time", "y", "x"), {"sequence": 2, "time": 3, "y": 2, "x": 14}),
    "one chunk": (("time", "y", "sequence", "x"), {"sequence": 4, "time": 6, "y": 9, "x": 14}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("budget", [1, 3000, 20_000, 10**6])
def test_slabs_are_all_values_once(layout, budget, monkeypatch):
    monkeypatch.setattr("smore.data.fields.file_fields.PIECE_BYTES", budget)
    dims, chunks = LAYOUTS[layout]
    names, shape = ("sequence", "time", "y", "x"), (4, 6, 9, 14)
    values = np.random.default_rng(0).normal(size=(2, *shape))
    variables = [xr.Variable(names, each).transpose(*dims) for each in values]
    for each in variables:
        each.encoding["preferred_chunks"] = chunks
    sources = file_fields(variables, names, shape, np.dtype("f8"))
    index = np.array([3, 4, 5, 60, 100])
    for chosen in (
        sources,
        [source.snapshots(slice(1, 5)).channels([1]) for source in sources[1:]],
        [source.points(index) for source in sources],
        [source.points(index[::-1]) for source in sources],
        [sources[2], sources[0], sources[1].snapshots(slice(2))],
    ):
        expected = [source.load()[0] for source in chosen]
        found = [np.full(each.shape, np.nan) for each in expected]
        for slab in slabs(chosen):
            members = zip(found[slab.sources], slab.values, strict=True)
            for target, part in members:
                assert np.isnan(target[slab.times, :, slab.points]).all()
                target[slab.times, :, slab.points] = part
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def sizes(dims, chunks, budget, monkeypatch, lengths=(4, 6, 9)):
    monkeypatch.setattr("smore.data.fields.file_fields.PIECE_BYTES", budget)
    shape = {"sequence": 4, "time": 6, "y": 9, "x": 14}
    variable = xr.Variable(dims, np.zeros([shape[name] for name in dims]))
    variable.encoding["preferred_chunks"] = chunks
    file = file_fields([variable], tuple(shape), tuple(shape.values()), np.dtype("f8"))[0].file
    return file.slab(lengths, 1)


def test_slabs_are_what_lies_side_by_side(monkeypatch):
    """A row has 14 values of 8 bytes."""
    files = {name: LAYOUTS[name] for name in LAYOUTS}
    row = 8 * 14
    assert sizes(*files["contiguous"], 9 * row, monkeypatch) == (1, 1, 9)
    assert sizes(*files["contiguous"], 4 * 9 * row, monkeypatch) == (1, 4, 9)
    assert sizes(*files["contiguous"], 2 * 6 * 9 * row, monkeypatch) == (2, 6, 9)
    assert sizes(*files["points first"], 4 * 6 * 2 * row, monkeypatch) == (4, 6, 2)
    assert sizes(*files["chunks"], 2 * 3 * 2 * row, monkeypatch) == (2, 3, 2)
    assert sizes(*files["chunks"], 2 * 3 * 5 * row, monkeypatch) == (2, 3, 4)
    assert sizes(*files["chunks"], 10**9, monkeypatch) == (4, 6, 9)
    assert sizes(*files["one chunk"], 6 * 9 * row, monkeypatch) == (1, 6, 9)
    assert sizes(*files["contiguous"], 1, monkeypatch) == (1, 1, 1)
