"""Headers changed at random, and an oracle that still knows what every variable is.

A change renames, drops, doubles, permutes or swaps; the oracle follows every variable and
dimension by what
it is (its meaning), not by what the header says. A reading is right if what it took for a time, a
run, a place
and a channel is one, in the right order, with every value at its place.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

import layouts
import numpy as np
import xarray as xr

from smore.data import Trajectories
from smore.errors import DataError

# What variables and dimensions of the layouts below are; what is not named here is a field or of
# no use.
_GRID = {"lat": "latitude", "lon": "longitude", "latitude": "latitude", "longitude": "longitude"}
BASES: dict[str, tuple] = {
    "cf": (layouts.cf, _GRID | {"time": "time"}),
    "era5": (layouts.era5, _GRID | {"time": "time"}),
    "era5 static": (layouts.era5_static, _GRID | {"time": "time"}),
    "era5 levels": (
        lambda: layouts.era5_new(3),
        _GRID | {"valid_time": "time", "pressure_level": "z"},
    ),
    "cmip": (layouts.cmip, _GRID | {"time": "time"}),
    "cmip ocean": (layouts.cmip_ocean, _GRID | {"time": "time", "j": "index", "i": "index"}),
    "members": (layouts.ensemble, _GRID | {"time": "time", "ens": "sequence"}),
    "wrf": (
        layouts.wrf,
        {
            "XLAT": "latitude",
            "XLONG": "longitude",
            "XTIME": "time",
            "Times": "time",
            "Time": "time",
        },
    ),
    "nemo": (
        lambda: layouts.nemo(2),
        {"nav_lat": "latitude", "nav_lon": "longitude", "time_counter": "time", "deptht": "z"},
    ),
    "roms": (
        layouts.roms,
        {
            "lat_rho": "latitude",
            "lon_rho": "longitude",
            "lat_u": "latitude",
            "lon_u": "longitude",
            "ocean_time": "time",
        },
    ),
    "pop": (
        layouts.pop,
        {
            "TLAT": "latitude",
            "TLONG": "longitude",
            "ULAT": "other latitude",
            "ULONG": "other longitude",
            "time": "time",
        },
    ),
    "mom": (
        layouts.mom,
        {
            "geolat_t": "latitude",
            "geolon_t": "longitude",
            "yt_ocean": "latitude",
            "xt_ocean": "longitude",
            "Time": "time",
            "average_DT": "",
        },
    ),
    "hycom": (
        layouts.hycom,
        {
            "Latitude": "latitude",
            "Longitude": "longitude",
            "MT": "time",
            "Date": "time",
            "Y": "index",
            "X": "index",
        },
    ),
    "rotated": (layouts.rotated, _GRID | {"time": "time", "rlat": "y", "rlon": "x"}),
    "projected": (
        lambda: layouts.projected("lambert_conformal_conic", True),
        _GRID | {"time": "time", "y": "y", "x": "x"},
    ),
    "stations": (layouts.stations, _GRID | {"time": "time", "alt": "z"}),
    "cfd": (layouts.cfd, {"x": "x", "y": "y", "time": "time"}),
    "cfd 3d": (layouts.cfd_3d, {"x": "x", "y": "y", "z": "z", "time": "time"}),
    "scattered": (layouts.scattered, {"x": "x", "y": "y", "z": "z", "t": "time"}),
    "runs": (layouts.runs, {"x": "x", "time": "time", "run": "sequence"}),
}
PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "calendar")
NEUTRAL = ("q7", "foo", "Feld", "v_1", "größe")
_HINTS = ("units", "standard_name", "axis", "coordinates", "bounds", "positive", "cartesian_axis")


@dataclass(frozen=True)
class Mutant:
    """A dataset with a changed header.

    Attributes:
        dataset: as it is written.
        meanings: what each variable and dimension is.
        story: what was done, one word after the other.
        base: the layout it came from.
    """

    dataset: xr.Dataset
    meanings: dict[str, str]
    story: tuple[str, ...]
    base: str


def mutant(chance: random.Random) -> Mutant:
    """A layout with one to four changes."""
    base = chance.choice(sorted(BASES))
    make, meanings = BASES[base]
    made = Mutant(make(), dict(meanings), (), base)
    changes = (
        _rename,
        _drop_attribute,
        _swap_attribute,
        _drop_variable,
        _double,
        _transpose,
        _spoil,
        _swap_names,
        _new_dimension,
        _bare,
    )
    for _ in range(chance.randint(1, 4)):
        change = chance.choice(changes)
        made = change(made, chance)
    return made


def _told(mutant: Mutant, story: str, dataset: xr.Dataset, **meanings: str) -> Mutant:
    return replace(
        mutant, dataset=dataset, story=(*mutant.story, story), meanings=mutant.meanings | meanings
    )


def _rename(mutant: Mutant, chance: random.Random) -> Mutant:
    """A variable or dimension, and both where they have one name, half of the time."""
    names = sorted({*map(str, mutant.dataset.variables), *map(str, mutant.dataset.dims)})
    old, new = chance.choice(names), chance.choice(NEUTRAL)
    if new in names:
        return mutant
    both = chance.random() < 0.5
    dataset = mutant.dataset
    if old in dataset.dims and (both or old not in dataset.variables):
        dataset = (
            dataset.swap_dims({}).rename({old: new}) if both else dataset.rename_dims({old: new})
        )
    elif old in dataset.dims:
        dataset = dataset.rename_vars({old: new})
    else:
        dataset = dataset.rename({old: new})
    return _told(mutant, f"rename {old} -> {new}", dataset, **{new: mutant.meanings.get(old, "")})


def _swap_names(mutant: Mutant, chance: random.Random) -> Mutant:
    names = sorted(map(str, mutant.dataset.variables))
    one, other = chance.sample(names, 2)
    first, second = mutant.dataset.variables[one], mutant.dataset.variables[other]
    if one in mutant.dataset.dims or other in mutant.dataset.dims or first.dims != second.dims:
        return mutant
    if any("swap" in done and (one in done or other in done) for done in mutant.story):
        return mutant
    dataset = mutant.dataset.rename({one: "__"}).rename({other: one}).rename({"__": other})
    meaning = {one: mutant.meanings.get(other, ""), other: mutant.meanings.get(one, "")}
    return _told(mutant, f"swap names of {one} and {other}", dataset, **meaning)


def _drop_attribute(mutant: Mutant, chance: random.Random) -> Mutant:
    pairs = [
        (str(n), k)
        for n, v in mutant.dataset.variables.items()
        for k in v.attrs
        if k not in PACKING
    ]
    if not pairs:
        return mutant
    name, key = chance.choice(sorted(pairs))
    dataset = mutant.dataset.copy()
    del dataset[name].attrs[key]
    return _told(mutant, f"drop {name}:{key}", dataset)


def _bare(mutant: Mutant, chance: random.Random) -> Mutant:
    """All attributes of a variable gone, but those that say how it is packed."""
    name = chance.choice(sorted(map(str, mutant.dataset.variables)))
    dataset = mutant.dataset.copy()
    kept = {key: value for key, value in dataset[name].attrs.items() if key in PACKING}
    dataset[name].attrs = kept
    return _told(mutant, f"drop attributes of {name}", dataset)


def _swap_attribute(mutant: Mutant, chance: random.Random) -> Mutant:
    names = sorted(map(str, mutant.dataset.variables))
    telling = [name for name in names if mutant.meanings.get(name)]
    # Half of the time between variables that matter, and what matters most.
    one, other = chance.sample(telling if len(telling) > 1 and chance.random() < 0.7 else names, 2)
    key = chance.choice((*_HINTS, "units", "standard_name", "units", "standard_name"))
    if any("swap" in done and (one in done or other in done) for done in mutant.story):
        return mutant  # a header that was swapped twice may be a right one, of other variables
    dataset = mutant.dataset.copy()
    first, second = dataset[one].attrs, dataset[other].attrs
    values = first.pop(key, None), second.pop(key, None)
    for attrs, value in ((first, values[1]), (second, values[0])):
        if value is not None:
            attrs[key] = value
    return _told(mutant, f"swap {key} of {one} and {other}", dataset)


def _spoil(mutant: Mutant, chance: random.Random) -> Mutant:
    name = chance.choice(sorted(map(str, mutant.dataset.variables)))
    dataset = mutant.dataset.copy()
    value = chance.choice(
        ["", "\x1b[31mred\n", "m" * 3000, 3, "[bold]", "degrees", "1", "latitude time"]
    )
    key = chance.choice(_HINTS)
    dataset[name].attrs[key] = value
    return _told(mutant, f"set {name}:{key} = {str(value)[:10]!r}", dataset)


def _drop_variable(mutant: Mutant, chance: random.Random) -> Mutant:
    name = chance.choice(sorted(map(str, mutant.dataset.variables)))
    return _told(mutant, f"drop {name}", mutant.dataset.drop_vars(name))


def _double(mutant: Mutant, chance: random.Random) -> Mutant:
    name = chance.choice(sorted(map(str, mutant.dataset.variables)))
    variable = mutant.dataset.variables[name]
    copy, meaning = f"{name}_2", mutant.meanings.get(name, "")
    values = variable.values.copy()
    if chance.random() < 0.5 and values.dtype.kind in "fi":
        values, meaning = values + 1, f"other {meaning}" if meaning else ""
    dataset = mutant.dataset.assign({copy: (variable.dims, values, variable.attrs)})
    return _told(mutant, f"double {name}", dataset, **{copy: meaning})


def _transpose(mutant: Mutant, chance: random.Random) -> Mutant:
    order = list(mutant.dataset.dims)
    chance.shuffle(order)
    name = chance.choice(sorted(map(str, mutant.dataset.variables)))
    dims = [dim for dim in order if dim in mutant.dataset[name].dims]
    variable = mutant.dataset.variables[name].transpose(*dims)
    return _told(mutant, f"transpose {name}", mutant.dataset.assign({name: variable}))


def _new_dimension(mutant: Mutant, chance: random.Random) -> Mutant:
    fields = [
        str(n)
        for n, v in mutant.dataset.data_vars.items()
        if v.ndim >= 2 and not mutant.meanings.get(str(n))
    ]
    size = chance.choice([1, 2])
    if not fields or "extra" in mutant.dataset.dims:
        return mutant
    wider = {
        name: mutant.dataset[name]
        .variable.set_dims({"extra": size, **mutant.dataset[name].sizes})
        .copy(deep=True)
        for name in fields
    }
    for variable in wider.values():
        if size == 2:
            variable.values = variable.values.copy()
            variable[{"extra": 1}] = variable[{"extra": 1}].values + 1
    return _told(mutant, f"new dimension of {size}", mutant.dataset.assign(wider), extra="unknown")


def fault(mutant: Mutant, path: Path | None) -> str | None:
    """What is wrong about the reading of a mutant; None if it is right or refused in one line.

    Args:
        mutant: the dataset.
        path: where to write it; None to decode it in memory, which is several times faster.
    """
    try:
        made = _read(mutant, path)
        dims = {
            each.part: each.name for each in made.reading.taken if each.part in ("time", "sequence")
        }
    except UnwritableError:
        return None
    except DataError as error:
        text = str(error)
        clean = all(character.isprintable() for character in text)
        return (
            None
            if clean and len(text) < 1500
            else f"refused in {len(text)} characters: {text[:200]!r}"
        )
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    fields = [
        n
        for n, v in mutant.dataset.data_vars.items()
        if v.ndim > 1 and not mutant.meanings.get(str(n))
    ]
    # Of a file without any field nothing can be known.
    return _wrong(mutant, made, dims) if fields else None


class UnwritableError(Exception):
    """No file like that can be made."""


def _read(mutant: Mutant, path: Path | None) -> Trajectories:
    if path is None:
        try:
            dataset = xr.decode_cf(mutant.dataset)
        except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
            raise UnwritableError from error
        return Trajectories.from_xarray(dataset, missing="mask")
    try:
        mutant.dataset.to_netcdf(path, engine="h5netcdf")
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise UnwritableError from error
    return Trajectories.open(path, missing="mask")


def _wrong(mutant: Mutant, made: Trajectories, dims: dict[str, str]) -> str | None:
    dataset, meaning = mutant.dataset, mutant.meanings
    names = [channel.name for channel in made.channels]
    over = [str(dim) for dim in dataset[names[0]].dims if dataset.sizes[dim] > 1]
    for part in ("time", "sequence"):
        if part in dims and _dimension_meaning(mutant, dims[part]) != part:
            return f"'{dims[part]}' taken for a {part}"
    for name in names:
        if meaning.get(name):
            return f"'{name}', a {meaning[name]}, taken for a channel"
    space = [dim for dim in over if dim not in dims.values()]
    for dim in space:
        if _dimension_meaning(mutant, dim) in ("time", "sequence", "unknown"):
            return f"'{dim}', {_dimension_meaning(mutant, dim)}, taken for space"
    coords = list(made.space.names)
    if not set(coords) <= set(map(str, dataset.variables)):
        meaning = meaning | {"latitude": "latitude", "longitude": "longitude"}
    if made.space.geometry == "sphere":
        if [meaning.get(name, "").removeprefix("other ") for name in coords] != [
            "latitude",
            "longitude",
        ]:
            return f"{coords} taken for latitude and longitude"
    elif {"latitude", "longitude"} <= {meaning.get(name) for name in coords} and _says_angles(
        mutant, coords
    ):
        return f"{coords} taken for a box"
    for name in coords:
        if meaning.get(name, "").removeprefix("other ") not in (
            "latitude",
            "longitude",
            "x",
            "y",
            "z",
            "index",
        ):
            return f"'{name}' taken for a coordinate"
    return _mistimed(mutant, made, dims) or _misplaced(mutant, made, dims, space)


def _mistimed(mutant: Mutant, made: Trajectories, dims: dict[str, str]) -> str | None:
    """Whether times are neither those of the layout nor numbers whose units the header has lost."""
    if "time" not in dims:
        return None
    times = made.sequences[0].times
    told = [str(value).replace(" ", "T") for value in made.clock.to_values(times)]
    for wanted in (layouts.DAYS, layouts.HOURS):
        if made.clock.kind == "datetime" and all(map(str.startswith, told, wanted)):
            return None
    raw = {
        name: variable.values
        for name, variable in mutant.dataset.variables.items()
        if mutant.meanings.get(str(name), "") in ("time", "other time") and variable.ndim == 1
    }
    if made.clock.kind == "number":
        same = any(
            values.dtype.kind in "fi" and np.array_equal(values, times) for values in raw.values()
        )
        return None if same else f"times are {told}"
    others = [name for name in raw if mutant.meanings[str(name)] == "other time"]
    return None if others else f"times are {told}"


def _dimension_meaning(mutant: Mutant, dim: str) -> str:
    """What a dimension is: known by itself, or by the variables along it."""
    if mutant.meanings.get(dim):
        return mutant.meanings[dim].removeprefix("other ")
    along = {
        mutant.meanings.get(str(name), "").removeprefix("other ")
        for name, variable in mutant.dataset.variables.items()
        if variable.dims == (dim,)
    } - {""}
    return along.pop() if len(along) == 1 else ""


def _says_angles(mutant: Mutant, coords: list[str]) -> bool:
    """Whether the header still says of both that they are angles."""

    def says(name: str) -> bool:
        attrs = mutant.dataset[name].attrs
        units = str(attrs.get("units", ""))
        return (
            "lat" in name.casefold()
            or "lon" in name.casefold()
            or units.startswith("degree")
            or "itude" in str(attrs.get("standard_name"))
        )

    return all(says(name) for name in coords)


def _misplaced(
    mutant: Mutant, made: Trajectories, dims: dict[str, str], space: list[str]
) -> str | None:
    """Whether some value is not where and when the variables say."""
    dataset = mutant.dataset
    order = [dims.get("sequence"), dims.get("time"), *space]
    for c, channel in enumerate(made.channels):
        variable = dataset[channel.name]
        values = variable.values.astype(float)
        values = values * variable.attrs.get("scale_factor", 1.0) + variable.attrs.get(
            "add_offset", 0.0
        )
        here = [str(dim) for dim in variable.dims]
        kept = [dim for dim in order if dim in here]
        array = (
            xr.DataArray(values, dims=here)
            .isel({d: 0 for d in here if d not in kept})
            .transpose(*kept)
        )
        shape = (len(made), made.sequences[0].num_snapshots, -1)
        expected = array.values.reshape(shape)
        for s, sequence in enumerate(made):
            if not np.allclose(sequence.fields[:, c], expected[s], rtol=1e-4, equal_nan=True):
                return f"values of '{channel.name}' are not where they were"
    for column, name in enumerate(made.space.names):
        if name not in dataset.variables:  # computed from the rotated pole
            _, true = layouts.turned_places(layouts.rotated())[name]
            true = true if dataset.sizes[space[0]] == len(true) else true.T
            if not np.allclose(made.sequences[0].mesh.coords[:, column], true.ravel(), atol=1e-3):
                return f"'{name}' is not computed rightly"
            continue
        variable = dataset[name]
        array = variable.isel(
            {d: 0 for d in variable.dims if d in dims.values() or dataset.sizes[d] == 1}, drop=True
        )
        sizes = {dim: dataset.sizes[dim] for dim in space}
        wide = array.expand_dims({d: n for d, n in sizes.items() if d not in array.dims}).transpose(
            *space
        )
        found = made.sequences[0].mesh.coords[:, column]
        if not np.allclose(found, wide.values.ravel(), atol=1e-3) and "rad" not in str(
            variable.attrs.get("units")
        ):
            return f"'{name}' is not where it was"
    return None
