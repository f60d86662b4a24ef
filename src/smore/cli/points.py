"""Points from a file, whatever else it holds."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data import CSV_SUFFIX, Mesh, Space, Trajectories, open_dataset, scattered_mesh
from smore.errors import DataError

# Stands for the channels of a file that has none.
PLACEHOLDER = "here"


def points_of(path: Path, space: Space) -> Mesh:
    """The points of a NetCDF, Zarr or CSV file, with the coordinates of `space`."""
    if path.suffix == CSV_SUFFIX:
        return scattered_mesh(read_points(path, space.names), space.geometry)
    dataset = open_dataset(path)  # no field is read
    if not dataset.data_vars or set(dataset.data_vars) <= set(space.names):
        dataset = dataset.set_coords(list(dataset.data_vars))
        dims = list(dict.fromkeys(dim for name in dataset.coords for dim in dataset[name].dims))
        shape = [dataset.sizes[dim] for dim in dims]
        dataset = dataset.assign({PLACEHOLDER: xr.Variable(dims, np.zeros(shape))})
    place = Trajectories.from_xarray(dataset, missing="mask")
    return place.order_coordinates(space.names).sequences[0].mesh


def read_points(path: Path, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Points (points, dim) from the columns `names` of a CSV file; other columns are ignored."""
    if not path.exists():
        raise DataError(f"there is no file {path}")
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        columns = table.fieldnames or []
        if not set(names) <= set(columns):
            raise DataError(
                f"{path} needs the columns {', '.join(names)}, separated by commas, has "
                f"{', '.join(columns) or 'none'}; name them in the first line"
            )
        points = [
            [_number(row[name], name, path, table.line_num) for name in names] for row in table
        ]
    if not points:
        raise DataError(f"{path} has no points, only a first line with names")
    return np.array(points)


def _number(text: str | None, name: str, path: Path, line: int) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"line {line} of {path}: '{name}' must be a finite number, is {text!r}")
    return value
