"""Trajectories: from files and arrays to what the engine works on, and back.

>>> trajectories = Trajectories.open("flow.nc")  # doctest: +SKIP
>>> trajectories.select_channels(["vorticity"]).save("vorticity.zarr")  # doctest: +SKIP
"""

from smore.data.block import Block
from smore.data.blocks import make_blocks
from smore.data.coordinates import BoxMap, CoordinateMap, SphereMap, fit_coordinate_map
from smore.data.mesh import Mesh
from smore.data.normalization import Normalization
from smore.data.sequence import Sequence
from smore.data.space import Channel, Clock, Geometry, Space
from smore.data.stored_block import AnyBlock, StoredBlock
from smore.data.storing import stored
from smore.data.trajectories import Missing, Trajectories
from smore.data.validation import require_snapshots

__all__ = [
    "AnyBlock",
    "Block",
    "BoxMap",
    "Channel",
    "Clock",
    "CoordinateMap",
    "Geometry",
    "Mesh",
    "Missing",
    "Normalization",
    "Sequence",
    "Space",
    "SphereMap",
    "StoredBlock",
    "Trajectories",
    "fit_coordinate_map",
    "make_blocks",
    "require_snapshots",
    "stored",
]
