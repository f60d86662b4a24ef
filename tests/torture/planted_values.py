"""One value that is no number, somewhere in the data: refused, and found where it was put."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from outcomes import Case, Outcome, judge, refusal

from smore import Trajectories
from smore.data.fields.scratch_copy import stored
from smore.errors import DataError

ASKED = "all refused with the right variable, sequence, time and point"
NAMES = ("u", "vorticity", "Wärme", "T_2m")


@dataclass(frozen=True)
class Planted:
    """Data with one wrong value, and where it is."""

    told: str
    open: Callable[[], Any]
    variable: str
    sequence: int
    time: int
    point: int

    @property
    def named(self) -> tuple[str, ...]:
        """What a message must say."""
        return (
            f"'{self.variable}'",
            f"in sequence {self.sequence} ",
            f"at time index {self.time} ",
            f"point {self.point} ",
        )


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Plant a value in `count` sets of data of all layouts, in memory and in files."""
    chance = np.random.default_rng(seed)
    ways = (_arrays, _ragged_arrays, _grid, _scattered, _ragged)
    cases = _cases(count, chance, ways, folder)
    return judge("planted values", ASKED, cases)


def _cases(
    count: int, chance: np.random.Generator, ways: tuple[Any, ...], folder: Path
) -> Iterator[Case]:
    for number in range(count):
        planted = ways[number % len(ways)](chance, folder / f"data-{number}")
        yield (
            f"{planted.told}, {planted.named}",
            partial(refusal, planted.open, DataError, *planted.named),
        )


def _value(chance: np.random.Generator) -> tuple[float, str]:
    """What to plant, and the treatment of missing values under which it is refused."""
    value = chance.choice([np.nan, np.inf, -np.inf])
    return float(value), "refuse" if np.isnan(value) else str(chance.choice(["refuse", "mask"]))


def _sizes(chance: np.random.Generator) -> tuple[int, int, int, int]:
    """Sequences, times, channels, points."""
    return tuple(int(n) for n in chance.integers((1, 1, 1, 3), (5, 7, 4, 40)))  # type: ignore[return-value]


def _where(chance: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(chance.integers(size)) for size in shape)


def _type(chance: np.random.Generator) -> str:
    return str(chance.choice(["f2", "f4", "f8", ">f4"]))


def _arrays(chance: np.random.Generator, _: Path) -> Planted:
    """One array for all sequences."""
    sizes = _sizes(chance)
    fields = chance.normal(size=sizes).astype(_type(chance))
    value, missing = _value(chance)
    where = s, t, c, p = _where(chance, sizes)
    fields[where] = value
    make = partial(
        Trajectories.from_arrays,
        fields,
        chance.normal(size=(sizes[3], int(chance.integers(1, 4)))),
        np.arange(float(sizes[1])),
        channels=NAMES[: sizes[2]],
        missing=missing,
    )
    return Planted(f"{value} in arrays", make, NAMES[c], s, t, p)


def _ragged_arrays(chance: np.random.Generator, _: Path) -> Planted:
    """Sequences of their own length on points of their own."""
    fields, coords, times = _several(chance)
    value, missing = _value(chance)
    s = int(chance.integers(len(fields)))
    where = t, c, p = _where(chance, fields[s].shape)
    fields[s][where] = value
    names = NAMES[: fields[0].shape[1]]
    make = partial(Trajectories.from_arrays, fields, coords, times, channels=names, missing=missing)
    return Planted(f"{value} in ragged arrays", make, names[c], s, t, p)


def _several(chance: np.random.Generator) -> tuple[list[np.ndarray], ...]:
    num_sequences, _, num_channels, _ = _sizes(chance)
    shapes = [
        (int(chance.integers(1, 6)), num_channels, int(chance.integers(3, 9)))
        for _ in range(num_sequences)
    ]
    fields = [chance.normal(size=shape) for shape in shapes]
    coords = [chance.normal(size=(shape[2], 2)) for shape in shapes]
    return fields, coords, [np.arange(float(shape[0])) + 2.0 for shape in shapes]


def _grid(chance: np.random.Generator, path: Path) -> Planted:
    """A grid whose variables have their dimensions in any order."""
    num_sequences, num_times, num_channels, _ = _sizes(chance)
    axes = ["x", "y", "z"][: chance.integers(1, 4)]
    sizes = {"sequence": num_sequences, "time": num_times}
    sizes |= {axis: int(chance.integers(2, 5)) for axis in axes}
    coords = {axis: np.arange(sizes[axis]) / 2 for axis in axes} | {
        "time": np.arange(float(num_times))
    }
    orders = [chance.permutation(list(sizes)).tolist() for _ in range(num_channels)]
    dataset = xr.Dataset(
        {
            name: (order, chance.normal(size=[sizes[dim] for dim in order]).astype(_type(chance)))
            for name, order in zip(NAMES, orders, strict=False)
        },
        coords,
    )
    # Points are numbered in the order of the first variable's dimensions.
    space = [dim for dim in orders[0] if dim in axes]
    return _planted(dataset, space, chance, path, "a grid")


def _scattered(chance: np.random.Generator, path: Path) -> Planted:
    sizes = _sizes(chance)
    dims = ("sequence", "time", "point")
    shape = (sizes[0], sizes[1], sizes[3])
    dataset = xr.Dataset(
        {name: (dims, chance.normal(size=shape)) for name in NAMES[: sizes[2]]},
        {
            "time": np.datetime64("2000-01-01", "ns")
            + np.arange(sizes[1]) * np.timedelta64(1, "D"),
            "x": ("point", chance.normal(size=sizes[3])),
            "y": ("point", chance.normal(size=sizes[3])),
        },
    )
    return _planted(dataset, ["point"], chance, path, "scattered points")


def _ragged(chance: np.random.Generator, path: Path) -> Planted:
    """Shorter sequences, padded with NaN that is no fault."""
    fields, coords, times = _several(chance)
    names = NAMES[: fields[0].shape[1]]
    dataset = Trajectories.from_arrays(fields, coords, times, channels=names).to_xarray()
    s = int(chance.integers(len(fields)))
    t, c, p = _where(chance, fields[s].shape)
    value, missing = _value(chance)
    dataset[names[c]].values[s, t, p] = value
    return Planted(
        f"{value} in ragged sequences",
        _opened(dataset, missing, path, str(chance.choice(["memory", "netcdf", "zarr"]))),
        names[c],
        s,
        t,
        p,
    )


def _planted(
    dataset: xr.Dataset, space: list[str], chance: np.random.Generator, path: Path, told: str
) -> Planted:
    """The dataset with one value planted at a random place."""
    name = str(chance.choice(list(dataset.data_vars)))
    index = {str(dim): int(chance.integers(size)) for dim, size in dataset[name].sizes.items()}
    value, missing = _value(chance)
    dataset[name].values[tuple(index[str(dim)] for dim in dataset[name].dims)] = value
    shape = [dataset.sizes[dim] for dim in space]
    point = int(np.ravel_multi_index([index[dim] for dim in space], shape))
    return Planted(
        f"{value} in {told}",
        _opened(dataset, missing, path, str(chance.choice(["memory", "netcdf", "zarr", "lazy"]))),
        name,
        index["sequence"],
        index["time"],
        point,
    )


def _opened(dataset: xr.Dataset, missing: str, path: Path, way: str) -> Callable[[], Any]:
    """Trajectories from the dataset, by way of a file or not."""
    # Files need not keep the order of variables, and points are numbered as in the first one.
    options = {"missing": missing, "channels": list(dataset.data_vars)}
    if way == "memory":
        return partial(Trajectories.from_xarray, dataset, **options)
    file = path.with_suffix(".zarr" if way == "zarr" else ".nc")
    _write(dataset, file)
    if way == "lazy":
        return lambda: stored(Trajectories.open(file, lazy=True, **options))
    return partial(Trajectories.open, file, **options)


def _write(dataset: xr.Dataset, file: Path) -> None:
    # Files have neither half precision nor, in HDF5 as xarray writes it, another byte order.
    plain = dataset.map(lambda each: each.astype(np.promote_types(each.dtype, np.float32)))
    if file.suffix == ".nc":
        plain.to_netcdf(file, engine="h5netcdf")
    else:
        plain.to_zarr(file, consolidated=False)
