"""`smore data convert`: arrays, tables and bare grids as NetCDF, mesh files as other kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
import xarray as xr

from smore.cli.options import GeometryOption, MissingOption
from smore.cli.output import Json, console, print_json
from smore.cli.reading import say_reading, with_reading
from smore.cli.times import parse_steps
from smore.data import (
    ARRAY_SUFFIXES,
    CSV_SUFFIX,
    WRITTEN_MESH_SUFFIXES,
    Trajectories,
    convert_mesh,
    dataset_of,
    is_mesh_file,
    open_dataset,
    read_array_file,
    read_field_table,
    real_parts,
    require_data_format,
    with_coordinate,
)
from smore.errors import DataError, SettingsError


@with_reading
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help=".npy, .npz, .mat, .h5, .csv, NetCDF or Zarr; VTU, VTP, PVD, VTK, XDMF, Gmsh, or "
            "an OpenFOAM case.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="NetCDF or Zarr file to write; of a mesh with cells also .pvd, .vtu or .xdmf.",
        ),
    ],
    axes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Names of the axes of arrays: time,y,x or sequence,time,channel,point.",
        ),
    ] = None,
    coord: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="A coordinate: x=0:1 (equally spaced, both ends), x=0,1,4, time=2001-01:1M (date "
            "and step), or the name of an array in the file: 'x(point)=xs'; may repeat.",
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=UNIT", help="Units of a channel or coordinate."),
    ] = None,
    missing: MissingOption = "mask",
    geometry: GeometryOption = None,
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
) -> None:
    """Make NetCDF or Zarr of arrays and tables, with names for their axes and places for their
    points, or another kind of a mesh file.

    Nothing is unpickled. Complex values become two channels. A mesh file is written with all its
    fields and cells, a snapshot at a time; with options it is read as they say.
    """
    require_data_format(output)
    if output == source:
        raise SettingsError(f"{output} would be written over itself; choose another name")
    how = dict(reading or {})
    told = bool(how or axes or coord or units or geometry)
    if not told and _is_mesh(source, output):
        _convert_mesh(source, output, as_json)
        return
    arrays: dict[str, np.ndarray] = {}
    if source.suffix.casefold() == CSV_SUFFIX:
        dataset = read_field_table(source, how.pop("channels", None))
    elif axes is not None or source.suffix.casefold() in ARRAY_SUFFIXES:
        arrays = real_parts(read_array_file(source))
        if axes is None:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:6])
            raise SettingsError(
                f"name the axes of the arrays in {source} with --axes time,y,x; it has {shapes}"
            )
        names = [axis.strip() for axis in axes.split(",")]
        dataset = dataset_of(arrays, names, how.pop("channels", None))
    else:
        dataset = open_dataset(source, how.pop("group", None))
    for text in coord or []:
        dataset = _with(dataset, text, arrays)
    for text in units or []:
        name, _, unit = (part.strip() for part in text.partition("="))
        if name not in dataset.variables:
            raise DataError(f"--units: there is no variable '{name}'")
        dataset[name].attrs["units"] = unit
    dataset.attrs = {}
    made = Trajectories.from_xarray(dataset, missing=missing, geometry=geometry, **how)
    say_reading(made)
    made.save(output)
    if as_json:
        print_json({"output": str(output), "channels": [channel.name for channel in made.channels]})
        return
    console.print(f"{output}: {made!r}", markup=False, soft_wrap=True)


def _is_mesh(source: Path, output: Path) -> bool:
    """Whether files are those of meshes; NetCDF may hold one, and does if a mesh is asked for."""
    asked = output.suffix.casefold() in WRITTEN_MESH_SUFFIXES
    return is_mesh_file(source) or (asked and source.suffix.casefold() not in ARRAY_SUFFIXES)


def _convert_mesh(source: Path, output: Path, as_json: bool) -> None:
    dataset = convert_mesh(source, output)
    names = [str(name) for name in dataset.data_vars]
    left_out = [str(name) for name in dataset.attrs.get("left_out", [])]
    if as_json:
        print_json({"output": str(output), "channels": names, "left_out": left_out})
        return
    console.print(f"{output}: {', '.join(names)}", markup=False, soft_wrap=True)
    if left_out:
        told = f"left out, since they are no fields: {', '.join(left_out)}"
        console.print(told, markup=False, soft_wrap=True)


def _with(dataset: xr.Dataset, text: str, arrays: dict[str, np.ndarray]) -> xr.Dataset:
    target, equals, told = (part.strip() for part in text.partition("="))
    if not (target and equals and told):
        raise SettingsError(f"--coord takes NAME=VALUES, such as x=0:1, got {text!r}")
    if told in arrays:
        return with_coordinate(dataset, target, arrays[told])
    name = target.partition("(")[0].strip()
    if name not in dataset.sizes and "(" not in target:
        raise DataError(
            f"--coord {text}: there is no axis '{name}'; there are "
            f"{', '.join(map(str, dataset.sizes))}"
        )
    size = dataset.sizes.get(name) or dataset.sizes.get(
        target.partition("(")[2].rstrip(")").strip(), 0
    )
    return with_coordinate(dataset, target, _spaced(told, size, text))


def _spaced(told: str, size: int, text: str) -> np.ndarray:
    try:
        if "," in told:
            return np.array([float(part) for part in told.split(",")])
        first, colon, last = told.partition(":")
        if not colon:
            return np.array([float(told)])
        if "-" in first[1:] and "e-" not in first.casefold():
            return parse_steps(first.strip(), last.strip(), size)
        return np.linspace(float(first), float(last), size)
    except ValueError as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(
            f"--coord {text}: expected FIRST:LAST, numbers separated by commas, DATE:STEP or the "
            "name of an "
            "array in the file"
        ) from None
