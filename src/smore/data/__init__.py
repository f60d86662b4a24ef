"""Trajectories: from files and arrays to what the engine works on, and back.

>>> trajectories = Trajectories.open("flow.nc")  # doctest: +SKIP
>>> trajectories.select_channels(["vorticity"]).save("vorticity.zarr")  # doctest: +SKIP
"""

from smore.data.alignment import align
from smore.data.blocks.block import Block, with_channel
from smore.data.blocks.making import make_blocks
from smore.data.blocks.scratch_block import DEFAULT_CHUNK, AnyBlock, StoredBlock
from smore.data.calendars import calendar_of
from smore.data.cells import Locator, Tessellation, alpha_cells, outline_of, simplices_of
from smore.data.coordinates import BoxMap, CoordinateMap, SphereMap, fit_coordinate_map
from smore.data.fields.column_store import ColumnStore
from smore.data.fields.file_fields import FileFields, file_fields
from smore.data.fields.fingerprint import fingerprint
from smore.data.fields.scratch_copy import stored
from smore.data.fields.scratch_fields import StoredFields
from smore.data.fields.seen import has_moving_gaps, seen_points
from smore.data.mesh import Mesh
from smore.data.normalization import Moments, Normalization, channel_moments, require_variation
from smore.data.pace import DAY, Pace, days_of_year
from smore.data.quadrature import scattered_mesh, tessellated_mesh
from smore.data.reading.files import (
    CSV_SUFFIX,
    NETCDF_SUFFIXES,
    ZARR_SUFFIX,
    fields_bytes,
    open_dataset,
    require_data_format,
    save_dataset,
)
from smore.data.reading.mesh_files import is_mesh_file
from smore.data.reading.mesh_files.converting import convert_mesh, placed
from smore.data.reading.places import ANGLE_NAMES
from smore.data.reading.tables import read_observations, read_points
from smore.data.reading.writing import numbered_fields
from smore.data.sequence import Sequence
from smore.data.sharing import shared_out
from smore.data.space import SPHERE_NAMES, Channel, Clock, Geometry, Space
from smore.data.timeline import Timeline, unify_steps
from smore.data.trajectories import Missing, Trajectories
from smore.data.validation import require_distinct, require_snapshots

__all__ = [
    "ANGLE_NAMES",
    "CSV_SUFFIX",
    "DAY",
    "DEFAULT_CHUNK",
    "NETCDF_SUFFIXES",
    "SPHERE_NAMES",
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
    "Locator",
    "Mesh",
    "Missing",
    "Moments",
    "Normalization",
    "Pace",
    "Sequence",
    "Space",
    "SphereMap",
    "StoredBlock",
    "StoredFields",
    "Tessellation",
    "Timeline",
    "Trajectories",
    "align",
    "alpha_cells",
    "calendar_of",
    "channel_moments",
    "convert_mesh",
    "days_of_year",
    "fields_bytes",
    "file_fields",
    "fingerprint",
    "fit_coordinate_map",
    "has_moving_gaps",
    "is_mesh_file",
    "make_blocks",
    "numbered_fields",
    "open_dataset",
    "outline_of",
    "placed",
    "read_observations",
    "read_points",
    "require_data_format",
    "require_distinct",
    "require_snapshots",
    "require_variation",
    "save_dataset",
    "scattered_mesh",
    "seen_points",
    "shared_out",
    "simplices_of",
    "stored",
    "tessellated_mesh",
    "unify_steps",
    "with_channel",
]
