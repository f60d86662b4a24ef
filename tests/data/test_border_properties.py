"""The border, with whatever a user may bring: taken over number by number, or refused.

Nothing but DataError ever comes out of it, and nothing that went in is modified. What is taken over
is compared with literal loops over the numbers that went in.
"""

from __future__ import annotations

import tempfile
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from smore import SMORE
from smore.data import Channel, Clock, Space, Trajectories
from smore.data.reading._channels import candidates
from smore.data.reading._roles import role_of_name
from smore.data.reading.tables import read_observations
from smore.errors import DataError, OutsideDomainWarning
from waves import trajectories as waves

REAL = ["f2", "f4", "f8", "g", "i1", "i2", "i4", "i8", "u1", "u8", ">f4", ">f8", ">i2", ">i8"]
NOT_REAL = ["?", "c8", "c16", "O", "U5", "S5", "M8[s]", "m8[s]", "V8"]
SIZES = st.tuples(*(st.integers(1, 4) for _ in range(4)))
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6)

quick = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture(autouse=True)
def _quietly():
    """Numbers at the edge of floating point make numpy complain; that is not what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# What goes in


@st.composite
def numbers(draw: Any, shape: tuple[int, ...], dtypes: list[str]) -> np.ndarray:
    """An array of ordinary and extreme, but finite numbers."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    seed = draw(st.integers(0, 2**32 - 1))
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        native = dtype.newbyteorder("=")
        values = np.random.default_rng(seed).integers(low, high, shape, native, endpoint=True)
        return values.astype(dtype)
    values = np.random.default_rng(seed).normal(size=shape)
    if dtype.kind == "f":
        limits = np.finfo(np.float64 if dtype.char == "g" else dtype)
        extremes = [limits.max, limits.min, limits.smallest_subnormal, 0.0, -0.0]
        chosen = draw(st.lists(st.sampled_from(extremes), max_size=3))
        values.ravel()[: len(chosen)] = chosen[: values.size]
    return values.astype(dtype)


@st.composite
def stored(draw: Any, values: np.ndarray) -> np.ndarray:
    """The same values, in memory in one way or another."""
    how = draw(st.sampled_from(["plain", "fortran", "strided", "reversed", "memmap"]))
    if how == "fortran":
        values = np.asfortranarray(values)
    elif how == "strided":
        wide = np.zeros((*values.shape[:-1], 2 * values.shape[-1]), values.dtype)
        wide[..., ::2] = values
        values = wide[..., ::2]
    elif how == "reversed":
        values = values[::-1].copy()[::-1]
    elif how == "memmap" and not values.dtype.hasobject:
        with tempfile.NamedTemporaryFile() as file:
            mapped = np.memmap(file.name, values.dtype, "w+", shape=values.shape)
        mapped[...] = values
        values = mapped
    if draw(st.booleans()):
        values.flags.writeable = False
    return values


class Untouched:
    """Arrays as they are now; afterwards they must be the same, and as writable as before."""

    def __init__(self, *arrays: np.ndarray) -> None:
        self.arrays = arrays
        self.before = [(array.tobytes(), array.flags.writeable) for array in arrays]

    def check(self) -> None:
        after = [(array.tobytes(), array.flags.writeable) for array in self.arrays]
        assert after == self.before


def as_kept(value: Any, dtype: np.dtype) -> Any:
    """The number that must come out for one that went in."""
    single = dtype.kind == "f" and dtype.itemsize <= 4
    return np.float32(value) if single else np.float64(value)


def attempt(*arguments: Any, **options: Any) -> Trajectories | None:
    """Trajectories from arrays, or None if they were refused as data are."""
    try:
        return Trajectories.from_arrays(*arguments, **options)
    except DataError:
        return None


# Arrays


@quick
@given(data=st.data(), sizes=SIZES, dim=st.integers(2, 5))
def test_real_numbers_of_any_type_and_layout_are_taken_over_one_by_one(data, sizes, dim):
    _, num_times, num_channels, num_points = sizes
    fields = data.draw(numbers(sizes, REAL).flatmap(stored))
    coords = np.random.default_rng(0).normal(size=(num_points, dim))
    coords = data.draw(stored(coords.astype(data.draw(st.sampled_from(["f4", "f8", ">f8"])))))
    times = data.draw(stored(np.cumsum(np.ones(num_times, data.draw(st.sampled_from(REAL))))))
    names = data.draw(st.lists(NAMES, min_size=num_channels, max_size=num_channels, unique=True))
    untouched = Untouched(fields, coords, times)
    given = fields if data.draw(st.booleans()) else list(fields)
    made = Trajectories.from_arrays(given, coords, times, channels=names)
    untouched.check()
    assert [channel.name for channel in made.channels] == names
    for s, t, c, p in product(*map(range, sizes)):
        value = made.sequences[s].fields[t, c, p]
        expected = as_kept(fields[s, t, c, p], fields.dtype)
        assert value == expected
        assert value.dtype == expected.dtype
    for sequence in made:
        np.testing.assert_array_equal(sequence.times, [float(t) for t in times])
        for p, d in product(range(num_points), range(dim)):
            assert sequence.mesh.coords[p, d] == float(coords[p, d])


@quick
@given(data=st.data(), sizes=SIZES, dtype=st.sampled_from(NOT_REAL))
def test_what_are_no_real_numbers_is_refused(data, sizes, dtype):
    _, num_times, _, num_points = sizes
    good = {
        "fields": np.zeros(sizes),
        "coords": np.random.default_rng(0).normal(size=(num_points, 2)),
        "times": np.arange(float(num_times)),
        "weights": np.ones(num_points),
    }
    name = data.draw(st.sampled_from(list(good)))
    if name == "times" and dtype in ("M8[s]", "m8[s]"):
        return
    bad = np.ones(good[name].shape, "i8").astype(dtype)
    untouched = Untouched(bad)
    assert attempt(**(good | {name: bad})) is None
    untouched.check()


@quick
@given(
    data=st.data(),
    sizes=SIZES,
    dtype=st.sampled_from(["f2", "f4", "f8", ">f4"]),
    value=st.sampled_from([np.nan, np.inf, -np.inf]),
    missing=st.sampled_from(["refuse", "mask"]),
)
def test_a_value_that_is_missing_or_infinite_is_masked_or_refused(
    data, sizes, dtype, value, missing
):
    fields = np.random.default_rng(0).normal(size=sizes).astype(dtype)
    where = tuple(data.draw(st.integers(0, size - 1)) for size in sizes)
    fields[where] = value
    fields = data.draw(stored(fields))
    coords = np.random.default_rng(1).normal(size=(sizes[3], 2))
    untouched = Untouched(fields, coords)
    alone = sizes[1] * sizes[2] * sizes[3] == 1
    made = attempt(fields, coords, np.arange(float(sizes[1])), missing=missing)
    untouched.check()
    if missing == "refuse" or np.isinf(value) or alone:
        assert made is None
        return
    for s, t, c, p in product(*map(range, sizes)):
        sequence = made.sequences[s]
        observed = sequence.observed is None or bool(sequence.observed[t, c, p])
        assert observed == ((s, t, c, p) != where)
        assert sequence.fields[t, c, p] == (fields[s, t, c, p] if observed else 0)


@quick
@given(data=st.data(), dtype=st.sampled_from(["f4", "f8", "i4"]))
def test_what_is_behind_a_mask_is_not_taken_for_data(data, dtype):
    shape = (2, 3, 2, 4)
    mask = np.zeros(shape, bool)
    mask[tuple(data.draw(st.integers(0, size - 1)) for size in shape)] = True
    values = np.random.default_rng(0).integers(1, 9, shape).astype(dtype)
    fields = np.ma.array(values, mask=mask)
    coords = np.random.default_rng(1).normal(size=(4, 2))
    assert attempt(fields, coords, np.arange(3.0)) is None
    made = attempt(fields, coords, np.arange(3.0), missing="mask")
    hidden, shown = np.argwhere(mask)[0], made.sequences
    assert not shown[hidden[0]].observed[tuple(hidden[1:])]
    assert shown[hidden[0]].fields[tuple(hidden[1:])] == 0
    np.testing.assert_array_equal(fields.data, values)


@quick
@given(
    shape=st.lists(st.integers(0, 3), max_size=5),
    coords_shape=st.lists(st.integers(0, 3), max_size=3),
    times_shape=st.lists(st.integers(0, 3), max_size=2),
)
def test_shapes_that_do_not_belong_together_are_refused(shape, coords_shape, times_shape):
    fields, coords = np.ones(shape), np.random.default_rng(0).normal(size=coords_shape)
    times = np.cumsum(np.ones(times_shape), axis=-1) if times_shape else np.array(0.0)
    untouched = Untouched(fields, coords, times)
    made = attempt(fields, coords, times)
    untouched.check()
    if made is None:
        return
    assert len(shape) in (3, 4)
    assert min(*shape, *coords_shape, *times_shape) > 0
    for sequence in made:
        assert sequence.fields.shape == tuple(shape[-3:])
        assert sequence.mesh.coords.shape == tuple(coords_shape[-2:])
        assert sequence.times.shape == (times_shape[-1],)


@quick
@given(
    kind=st.sampled_from("mM"),
    unit=st.sampled_from([("D", 86_400 * 10**9), ("h", 3600 * 10**9), ("s", 10**9), ("ns", 1)]),
    start=st.integers(-(2**62), 2**62),
    count=st.integers(1, 4),
)
def test_dates_and_durations_are_seconds_or_refused(kind, unit, start, count):
    """Counted in Python's integers, which do not overflow."""
    name, nanoseconds = unit
    times = [start + 10**6 * number for number in range(count)]
    made = attempt(np.zeros((count, 1, 3)), np.eye(3), np.array(times).astype(f"{kind}8[{name}]"))
    microseconds = [time * nanoseconds // 1000 for time in times]
    reference = microseconds[0] if kind == "M" else 0
    seconds = [(each - reference) / 10**6 for each in microseconds]
    possible = max(map(abs, microseconds)) < 2**63 and len(set(seconds)) == count
    assert (made is not None) == possible
    if made is not None:
        np.testing.assert_allclose(made.sequences[0].times, seconds, rtol=1e-15)


@pytest.mark.parametrize(
    "junk",
    [None, 3.0, "text", {"a": 1}, {1, 2}, [[1, 2], [3]], [], [[]], object()],
    ids=lambda junk: type(junk).__name__,  # an object's text is another in every process
)
@pytest.mark.parametrize("name", ["fields", "coords", "times", "weights"])
def test_what_is_no_array_is_refused(name, junk):
    if name == "weights" and junk is None:
        return
    good = {"fields": np.zeros((2, 3, 1, 4)), "coords": np.eye(4), "times": np.arange(3.0)}
    assert attempt(**(good | {name: junk})) is None


# Datasets


@st.composite
def datasets(draw: Any) -> tuple[xr.Dataset, tuple[str, ...], list[str]]:
    """A grid, its dimensions and channels; dimensions come in another order in every channel."""
    axes = draw(st.lists(NAMES, min_size=1, max_size=2, unique_by=str.casefold))
    channels = draw(st.lists(NAMES, min_size=1, max_size=2, unique_by=str.casefold))
    used = {name.casefold() for name in (*axes, *channels)}
    if len(used) < len(axes) + len(channels) or any(map(_means_something, (*axes, *channels))):
        axes, channels = ["ξ", "日本"][: len(axes)], ["Wärme", "π·2"][: len(channels)]
    sizes = {dim: draw(st.integers(1, 3)) for dim in ("sequence", "time", *axes)}
    variables = {}
    for name in channels:
        order = draw(st.permutations(list(sizes)))
        shape = tuple(sizes[dim] for dim in order)
        variables[name] = (order, draw(numbers(shape, [d for d in REAL if d != "g"])))
    coords = {axis: np.arange(sizes[axis]) * 0.5 for axis in axes}
    coords["time"] = np.arange(float(sizes["time"]))
    return xr.Dataset(variables, coords), tuple(axes), channels


def _means_something(name: str) -> bool:
    """Whether a name alone makes a variable a place, a time, a weight or a bound."""
    alone = xr.Dataset({name: (("a", "b"), np.zeros((2, 2)))})
    along = xr.Dataset({"v": (("a", name), np.zeros((2, 2)))})
    why_not = {**candidates(alone), **candidates(along)}
    return role_of_name(name) is not None or any(why_not.values())


@quick
@given(datasets())
def test_a_dataset_is_read_by_names_whatever_the_order_of_its_dimensions(drawn):
    dataset, axes, channels = drawn
    before = dataset.copy(deep=True)
    made = Trajectories.from_xarray(dataset)
    xr.testing.assert_identical(dataset, before)
    assert [channel.name for channel in made.channels] == channels
    first = dataset[channels[0]].dims
    order = [dim for dim in first if dim in axes]
    shape = tuple(dataset.sizes[dim] for dim in order)
    for (s, sequence), t in product(enumerate(made), range(dataset.sizes["time"])):
        for (c, name), p in product(enumerate(channels), range(sequence.mesh.num_points)):
            index = dict(zip(order, np.unravel_index(p, shape), strict=True))
            value = dataset[name].isel(sequence=s, time=t, **index).values
            assert sequence.fields[t, c, p] == np.float64(value)
            for column, axis in enumerate(made.space.names):
                assert sequence.mesh.coords[p, column] == dataset[axis].values[index[axis]]


@quick
@given(datasets(), st.sampled_from([*NOT_REAL, "nan", "inf"]), st.data())
def test_a_dataset_that_cannot_be_used_is_refused(drawn, what, data):
    dataset, axes, channels = drawn
    name = data.draw(st.sampled_from([*axes, *channels]))
    values = dataset[name].values.astype(np.float64)
    if what in ("nan", "inf"):
        values.ravel()[data.draw(st.integers(0, values.size - 1))] = float(what)
        if len(axes) == 1 and name in axes and np.isnan(values[-1]):
            return  # the padding of a shorter sequence
    else:
        values = np.ones(values.shape, "i8").astype(what)
    changed = dataset.assign({name: (dataset[name].dims, values)})
    before = changed.copy(deep=True)
    with pytest.raises(DataError):
        Trajectories.from_xarray(changed)
    xr.testing.assert_identical(changed, before)


@pytest.mark.parametrize(
    "junk", [None, 3, [1], [None], xr.DataArray(np.zeros((2, 3)), dims=("time", "x")), xr.Dataset()]
)
def test_what_is_no_dataset_is_refused(junk):
    with pytest.raises(DataError):
        Trajectories.from_xarray(junk)


@pytest.mark.parametrize(
    ("extra", "accepted"),
    [
        ({"trajectory": 3}, True),
        ({"trajectory": ("sequence", np.array(["a", 1], object))}, True),
        ({"time": (("sequence", "time"), np.full((2, 3), np.nan))}, False),
        ({"area": ("x", np.full(4, "a"))}, False),
        ({"area": ("x", np.ones(4, object))}, False),
    ],
)
def test_odd_coordinates(extra, accepted):
    dataset = xr.Dataset(
        {"u": (("sequence", "time", "x"), np.zeros((2, 3, 4)))},
        {"time": np.arange(3.0), "x": np.arange(4.0)},
    )
    if "time" in extra:
        dataset = dataset.drop_vars("time")
    dataset = dataset.assign_coords(extra)
    if not accepted:
        with pytest.raises(DataError):
            Trajectories.from_xarray(dataset)
    else:
        assert len(Trajectories.from_xarray(dataset).groups) == 2


@pytest.fixture(scope="module")
def netcdf():
    """A file with compressed chunks, which tell when they are damaged."""
    dataset = xr.Dataset(
        {"u": (("time", "x"), np.random.default_rng(0).normal(size=(20, 30)))},
        {"time": np.arange(20.0), "x": np.arange(30.0)},
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Daten.nc"
        dataset.to_netcdf(path, engine="h5netcdf", encoding={"u": {"zlib": True}})
        return path.read_bytes()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of h5netcdf
@quick
@given(flips=st.lists(st.integers(0, 2**31), min_size=1, max_size=3), lazy=st.booleans())
def test_a_damaged_file_is_read_or_refused_with_its_name(flips, lazy, netcdf):
    changed = bytearray(netcdf)
    for bit in flips:
        changed[bit // 8 % len(changed)] ^= 1 << bit % 8
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "Daten.nc"
        path.write_bytes(changed)
        refusal = path.name
        try:
            Trajectories.open(path, lazy=lazy)
        except DataError as error:
            refusal = str(error)
        assert path.name in refusal or "must" in refusal or "expected" in refusal


# Tables

SPACE, CLOCK = Space(names=("x", "y"), units=("", "")), Clock()
CHANNELS = (Channel(name="Wärme"), Channel(name="日本"))
CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "NA", "nan", "inf", "-inf", "1e999", "1,5", "text", "0x10", "5e-324"]),
)


def read(text: str | bytes, name: str = "Fühler 日本.csv") -> Trajectories | None:
    """Observations from a file of that content, or None if they were refused with its name."""
    content = text if isinstance(text, bytes) else text.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        refusal = name
        try:
            return read_observations(path, space=SPACE, channels=CHANNELS, clock=CLOCK)
        except DataError as error:
            refusal = str(error)
            return None
        finally:
            assert name in refusal
            assert path.read_bytes() == content


def number(cell: str) -> float | None:
    """What a cell must be read as: a finite number, NaN if blank, None if it cannot be read."""
    if cell.lower() in ("", "na", "nan"):
        return np.nan
    try:
        return float(cell) if np.isfinite(float(cell)) else None
    except ValueError:
        return None


def is_fill(values: list[float]) -> bool:
    """Whether one of them is what files write for "no value"."""
    with np.errstate(over="ignore"):
        marks = [np.float32(1e20), np.float32(9.969209968386869e36)]
        return any(np.float32(abs(value)) in marks for value in values)


@quick
@given(
    rows=st.lists(st.tuples(*(CELLS for _ in range(4))), min_size=1, max_size=4),
    separator=st.sampled_from([";", "\t"]),
    ending=st.sampled_from(["\n", "\r\n"]),
    order=st.permutations(range(4)),
)
@example(  # an area that no number can hold
    rows=[("0.0", "2e175", "0.0", "0.0"), ("6e132", "0.0", "0.0", "0.0")],
    separator=";",
    ending="\n",
    order=[0, 1, 2, 3],
)
@example(  # fill values whose sum is 0
    rows=[("0.0", "1.0", "1e20", "-1e20"), ("1.0", "0.0", "0.0", "0.0")],
    separator=";",
    ending="\n",
    order=[0, 1, 2, 3],
)
@example(
    rows=[("0.0", "1.0", "99999999999999999999", "0.0"), ("1.0", "0.0", "0.0", "2e20")],
    separator=";",
    ending="\n",
    order=[0, 1, 2, 3],
)
def test_a_table_is_read_cell_by_cell_or_refused(rows, separator, ending, order):
    titles = ["x", "y", "Wärme", "日本"]
    table = [titles, *rows]
    lines = [separator.join(row[column] for column in order) for row in table]
    made = read(ending.join(lines))
    expected = [[number(cell) for cell in row] for row in rows]
    unusable = any(
        None in row or np.isnan(row[:2]).any() or is_fill(row[2:]) for row in expected
    ) or all(np.isnan(row[2:]).all() for row in expected)
    if made is None:
        places = np.array([row[:2] for row in expected if None not in row], float)
        # Points so far apart, or so close, that the area between them is no number.
        with np.errstate(all="ignore"):
            extent = np.ptp(places, axis=0) if len(places) else np.ones(2)
            area = float(np.prod(extent[extent > 0])) / max(len(places), 1)
        assert unusable or not np.isfinite(area) or area == 0
        return
    assert not unusable
    sequence = made.sequences[0]
    for p, row in enumerate(expected):
        np.testing.assert_array_equal(sequence.mesh.coords[p], row[:2])
        for c in range(2):
            observed = sequence.observed is None or sequence.observed[0, c, p]
            assert observed == (not np.isnan(row[2 + c]))
            assert sequence.fields[0, c, p] == (row[2 + c] if observed else 0)


@quick
@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode()))
def test_any_bytes_are_read_or_refused(content):
    read(content)
    read("x,y,Wärme\n".encode() + content)


# What a model takes


@pytest.fixture(scope="module")
def model():
    sizes = {"latent_dim": 2, "hidden_dim": 4, "num_hidden": 1}
    return SMORE(**sizes, recipe="paper", epochs=1, fit_steps=1).fit(waves(3, 3), progress=False)


@quick
@given(data=st.data(), dtype=st.sampled_from([*REAL, *NOT_REAL]))
def test_observations_are_aligned_or_refused(data, dtype, model):
    names = data.draw(st.lists(st.sampled_from(["u", "v", "Wärme"]), min_size=1, unique=True))
    axes = data.draw(st.permutations(["x", "y"])) if data.draw(st.booleans()) else ["x", "η"]
    values = np.ones((1, 3), "i8").astype(dtype)
    dataset = xr.Dataset(
        dict.fromkeys(names, (("time", "point"), values)),
        {"time": [0.0]} | {axis: ("point", np.array([0.1, 0.2, n])) for n, axis in enumerate(axes)},
    )
    before = dataset.copy(deep=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideDomainWarning)
        try:
            made = model.observations(dataset)
        except DataError:
            assert dtype in NOT_REAL or "Wärme" in names or "η" in axes
            return
        finally:
            xr.testing.assert_identical(dataset, before)
    assert dtype in REAL
    sequence = made.sequences[0]
    for c, name in enumerate(["u", "v"]):
        for p in range(3):
            observed = sequence.observed is None or sequence.observed[0, c, p]
            assert observed == (name in names)
            assert sequence.fields[0, c, p] == float(observed)
    for column, axis in enumerate(["x", "y"]):
        np.testing.assert_array_equal(sequence.mesh.coords[:, column], dataset[axis].values)


@pytest.mark.parametrize("junk", [None, 3, np.zeros((3, 2)), {}, b"file.nc", "", "nothing.csv"])
def test_a_model_refuses_what_are_no_observations(junk, model):
    with pytest.raises(DataError):
        model.observations(junk)
