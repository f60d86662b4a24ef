"""What a user says about how a file is to be read; everything else is found by the file itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from smore.data.space import GEOMETRIES, Geometry
from smore.data.trajectories import Missing
from smore.errors import DataError

Part = Literal["time", "sequence", "space"]
Join = Literal["time", "sequence", "channels"]
PARTS: tuple[str, ...] = get_args(Part)
# A value, or a range with both ends, each of which may be open.
Choice = str | float | tuple[str | float | None, str | float | None]


@dataclass(frozen=True)
class Like:
    """Names that a model has, which are taken where a file has them.

    Attributes:
        channels: its channels.
        coordinates: of a box, its coordinates, which may be the same at all points of a file.
    """

    channels: Sequence[str] = ()
    coordinates: Sequence[str] = ()


@dataclass(frozen=True)
class ReadAs:
    """What is asked for.

    Attributes:
        channels: the data variables to take, in this order; None for all that vary over time and
            space.
        missing: what a NaN in a field is: "refuse" or "mask".
        geometry: "box" or "sphere"; None for what the file says.
        coordinates: the variables that say where points are, in this order; None to find them.
        dims: dimension (or variable along it) -> "time", "sequence" or "space".
        select: dimension -> what to keep of it.
        join: how several files belong together; None to find out.
        group: of an HDF5 file; None for the root, or the only one that has data.
        like: what a model knows, where the user says nothing.
    """

    channels: Sequence[str] | None = None
    missing: Missing = "refuse"
    geometry: Geometry | None = None
    coordinates: Sequence[str] | None = None
    dims: Mapping[str, str] = field(default_factory=dict)
    select: Mapping[str, Choice] = field(default_factory=dict)
    join: Join | None = None
    group: str | None = None
    like: Like = Like()

    def __post_init__(self) -> None:
        for name, part in self.dims.items():
            if part not in PARTS:
                raise DataError(
                    f"a dimension is one of {', '.join(PARTS)}, got {part!r} for '{name}'; "
                    f"say, for instance, --dims {name}=time"
                )
        if self.geometry not in (None, *GEOMETRIES):
            raise DataError(
                f"geometry must be one of {', '.join(GEOMETRIES)}, got {self.geometry!r}"
            )
        if self.join not in (None, *get_args(Join)):
            raise DataError(
                f"files are joined along time or sequence, or as channels, got {self.join!r}"
            )
