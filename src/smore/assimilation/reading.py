"""From whatever the user has to a stream."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import xarray as xr

from smore.assimilation.stream import Stream
from smore.data import (
    CSV_SUFFIX,
    StreamTable,
    Trajectories,
    open_dataset,
    read_stream_dataset,
    read_stream_table,
)
from smore.errors import DataError
from smore.surrogate import Surrogate

Observations = Stream | Trajectories | xr.Dataset | str | os.PathLike[str]


def read_stream(data: Observations, surrogate: Surrogate) -> Stream:
    """A checked stream in the channels, coordinates and clock of a model.

    Args:
        data: a CSV file (`time`, coordinates, channels, and if need be `sensor`), a NetCDF or Zarr
            file or a Dataset (CF points, time series and trajectories, or fields), trajectories
            with one sequence, or a stream.
        surrogate: the model.

    Raises:
        DataError: they cannot be used as they are; the message says why.
    """
    if isinstance(data, Stream):
        return data
    if isinstance(data, Trajectories):
        return Stream.of(*_rows(surrogate.aligned(data)), surrogate)
    description = surrogate.description
    known = (description.space, description.channels, description.clock)
    if isinstance(data, xr.Dataset):
        return Stream.of(*read_stream_dataset(data, *known), surrogate)
    if not isinstance(data, str | os.PathLike):
        raise DataError(
            "expected a stream as a file name, an xarray Dataset, Trajectories or a Stream, got "
            f"{type(data).__name__}"
        )
    if Path(data).suffix == CSV_SUFFIX:
        return Stream.of(*read_stream_table(data, *known), surrogate)
    with open_dataset(data) as dataset:
        return Stream.of(*read_stream_dataset(dataset, *known), surrogate)


def _rows(observations: Trajectories) -> StreamTable:
    """A row for every snapshot and point of the one sequence."""
    if len(observations) != 1:
        raise DataError(
            f"a stream is of one sequence, got {len(observations)}; assimilate them one by one "
            "(trajectories.select([0]))"
        )
    (sequence,) = observations.sequences
    fields = sequence.fields.astype(np.float64)
    if sequence.observed is not None:
        fields = np.where(sequence.observed, fields, np.nan)
    times, points = sequence.num_snapshots, sequence.mesh.num_points
    return StreamTable(
        np.repeat(sequence.times, points),
        np.tile(sequence.mesh.coords, (times, 1)),
        fields.transpose(0, 2, 1).reshape(times * points, -1),
        None,
    )
