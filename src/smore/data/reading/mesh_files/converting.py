"""From one mesh file to another, or to a dataset with its cells."""

from __future__ import annotations

from os import PathLike

import numpy as np
import xarray as xr

from smore.data.reading.datasets import read_datasets
from smore.data.reading.files import open_dataset, save_dataset
from smore.data.reading.request import ReadAs
from smore.data.reading.ugrid import LEFT_OUT, topology_of
from smore.data.trajectories import Trajectories
from smore.errors import DataError

TIME = "time"
# Stands for the channels of a file that has none.
PLACEHOLDER = "here"


def convert_mesh(source: str | PathLike[str], target: str | PathLike[str]) -> xr.Dataset:
    """Write what `source` holds to `target`, with its cells: NetCDF, Zarr, .pvd, .vtu or .xdmf.

    Fields are read and written a snapshot at a time.

    Returns:
        What was written; its fields are still in `source`.

    Raises:
        DataError: there is no mesh in `source`, or either file cannot be used.
    """
    dataset = open_dataset(source)
    if topology_of(dataset) is None:
        raise DataError(f"expected a mesh with cells in {source}, there is none")
    if not dataset.data_vars:
        raise DataError(f"there is a mesh in {source}, and no field on it")
    named = {name: dataset[name].chunk({TIME: 1}) for name in dataset.data_vars}
    written = dataset.assign(named)
    written.attrs.pop(LEFT_OUT, None)  # that is said of the source
    save_dataset(written, target)
    return dataset


def placed(path: str | PathLike[str]) -> Trajectories:
    """The points of a mesh file with their cells, as trajectories whose fields are not read."""
    dataset = open_dataset(path)
    if not dataset.data_vars:
        zeros = np.broadcast_to(np.float32(0), (dataset.sizes[TIME], dataset.sizes["node"]))
        dataset = dataset.assign({PLACEHOLDER: xr.Variable((TIME, "node"), zeros)})
    return read_datasets([dataset], ReadAs(missing="mask"), lazy=True)
