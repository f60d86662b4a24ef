"""Points from a file, whatever else it holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from smore.cli.output import say
from smore.data import (
    CSV_SUFFIX,
    Mesh,
    Space,
    Trajectories,
    is_mesh_file,
    open_dataset,
    placed,
    read_points,
    scattered_mesh,
)

# Fields at no more points than this make no map.
FEW_POINTS = 100

# Stands for the channels of a file that has none.
PLACEHOLDER = "here"


def points_of(path: Path, space: Space) -> Mesh:
    """The points of a NetCDF, Zarr, CSV or mesh file, with the coordinates of `space`."""
    if is_mesh_file(path):
        return placed(path).order_coordinates(space.names).sequences[0].mesh
    if path.suffix == CSV_SUFFIX:
        return scattered_mesh(read_points(path, space), space.geometry)
    dataset = open_dataset(path)  # no field is read
    if not dataset.data_vars or set(dataset.data_vars) <= set(space.names):
        dataset = dataset.set_coords(list(dataset.data_vars))
        dims = list(dict.fromkeys(dim for name in dataset.coords for dim in dataset[name].dims))
        shape = [dataset.sizes[dim] for dim in dims]
        dataset = dataset.assign({PLACEHOLDER: xr.Variable(dims, np.zeros(shape))})
    place = Trajectories.from_xarray(dataset, missing="mask")
    return place.order_coordinates(space.names).sequences[0].mesh


def say_few_points(mesh: Mesh) -> None:
    """Tell who did not ask for points that a training mesh of stations makes no map."""
    if mesh.num_points <= FEW_POINTS:
        say(
            f"note: fields are at the {mesh.num_points} points of the training mesh; for a map: "
            "--points grid.csv"
        )
