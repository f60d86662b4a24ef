"""Trajectories: from files and arrays to what the engine works on, and back.

>>> trajectories = Trajectories.open("flow.nc")  # doctest: +SKIP
>>> trajectories.select_channels(["vorticity"]).save("vorticity.zarr")  # doctest: +SKIP
"""

from smore.data.alignment import align
from smore.data.blocks.block import Block, with_channel
from smore.data.blocks.making import make_blocks
from smore.data.blocks.scratch_block import DEFAULT_CHUNK, AnyBlock, StoredBlock
from smore.data.calendars import calendar_of
from smore.data.cells import (
    Locator,
    Tessellation,
    alpha_cells,
    boundary_of,
    outline_of,
    simplices_of,
)
from smore.data.coordinates import BoxMap, CoordinateMap, SphereMap, fit_coordinate_map
from smore.data.durations import time_unit, told_steps
from smore.data.fields.column_store import ColumnStore
from smore.data.fields.file_fields import FileFields, file_fields
from smore.data.fields.fingerprint import fingerprint
from smore.data.fields.scratch_copy import stored
from smore.data.fields.scratch_fields import StoredFields
from smore.data.fields.seen import has_moving_gaps, seen_points
from smore.data.mesh import Mesh
from smore.data.normalization import Moments, Normalization, channel_moments, require_variation
from smore.data.pace import DAY, Pace, dates_of_months, days_of_year, month_numbers
from smore.data.quadrature import scattered_mesh, tessellated_mesh
from smore.data.reading.array_files import read_array_file, real_parts
from smore.data.reading.assembling import dataset_of, with_coordinate
from smore.data.reading.field_tables import read_field_table
from smore.data.reading.files import (
    ARRAY_SUFFIXES,
    CSV_SUFFIX,
    NETCDF_SUFFIXES,
    ZARR_SUFFIX,
    open_dataset,
    require_data_format,
    save_dataset,
)
from smore.data.reading.mesh_files import WRITTEN_MESH_SUFFIXES, is_mesh_file
from smore.data.reading.mesh_files.converting import convert_mesh, placed
from smore.data.reading.opening import all_fields_bytes
from smore.data.reading.places import ANGLE_NAMES
from smore.data.reading.record import Reading, shown
from smore.data.reading.request import Like
from smore.data.reading.stream_datasets import read_stream_dataset
from smore.data.reading.stream_tables import StreamTable, read_stream_table
from smore.data.reading.tables import read_observations, read_points
from smore.data.reading.writing import numbered_fields
from smore.data.sequence import Sequence
from smore.data.sharing import shared_out
from smore.data.space import SPHERE_NAMES, Channel, Clock, Geometry, Space
from smore.data.timeline import Timeline, unify_steps
from smore.data.trajectories import Missing, Trajectories
from smore.data.units import conversion
from smore.data.validation import require_distinct, require_snapshots

__all__ = [
    "ANGLE_NAMES",
    "ARRAY_SUFFIXES",
    "CSV_SUFFIX",
    "DAY",
    "DEFAULT_CHUNK",
    "NETCDF_SUFFIXES",
    "SPHERE_NAMES",
    "WRITTEN_MESH_SUFFIXES",
    "ZARR_SUFFIX",
    "AnyBlock",
    "Block",
    "BoxMap",
    "Channel",
    "Clock",
    "ColumnStore",
    "CoordinateMap",
    "FileFields",
    "Geometry",
    "Like",
    "Locator",
    "Mesh",
    "Missing",
    "Moments",
    "Normalization",
    "Pace",
    "Reading",
    "Sequence",
    "Space",
    "SphereMap",
    "StoredBlock",
    "StoredFields",
    "StreamTable",
    "Tessellation",
    "Timeline",
    "Trajectories",
    "align",
    "all_fields_bytes",
    "alpha_cells",
    "boundary_of",
    "calendar_of",
    "channel_moments",
    "conversion",
    "convert_mesh",
    "dataset_of",
    "dates_of_months",
    "days_of_year",
    "file_fields",
    "fingerprint",
    "fit_coordinate_map",
    "has_moving_gaps",
    "is_mesh_file",
    "make_blocks",
    "month_numbers",
    "numbered_fields",
    "open_dataset",
    "outline_of",
    "placed",
    "read_array_file",
    "read_field_table",
    "read_observations",
    "read_points",
    "read_stream_dataset",
    "read_stream_table",
    "real_parts",
    "require_data_format",
    "require_distinct",
    "require_snapshots",
    "require_variation",
    "save_dataset",
    "scattered_mesh",
    "seen_points",
    "shared_out",
    "shown",
    "simplices_of",
    "stored",
    "tessellated_mesh",
    "time_unit",
    "told_steps",
    "unify_steps",
    "with_channel",
    "with_coordinate",
]
