"""Everything about a trained model that is not a tensor, as it is stored in its file."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from smore.data import Channel, Clock, CoordinateMap, Normalization, Pace, Space, Tessellation
from smore.runtime import StoredTuple
from smore.settings import Settings

MOST_STAGES = 5_000
# An evaluation stage that overflowed is part of a model's history: infinity has to be written.
STORED = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class TrainingRecord(BaseModel):
    """What the model was trained on and how that went.

    Times are the data's; files of version 0.1 have none. Of a history with very many stages an even
    choice is kept: it has to fit into a model file.
    """

    model_config = STORED

    num_sequences: int
    num_snapshots: int
    num_points: int
    selection: str
    selected_epoch: int
    epochs_run: int
    seconds: float
    history: StoredTuple[tuple[int, float]]
    findings: dict[str, float] = {}
    first_time: float | None = None
    last_time: float | None = None

    @field_validator("history")
    @classmethod
    def _moderate(cls, history: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
        every = max(1, math.ceil(len(history) / MOST_STAGES))
        return history[::every]


class CellLayout(BaseModel):
    """How many cells of the training mesh are stored beside its points; see `Tessellation`."""

    model_config = STORED

    num_nodes: int = Field(ge=1)
    num_cells: int = Field(ge=1)
    num_corners: int = Field(ge=1)
    on_cells: bool

    @classmethod
    def of(cls, cells: Tessellation | None) -> Self | None:
        """Of some cells, if there are any."""
        if cells is None:
            return None
        return cls(
            num_nodes=len(cells.nodes),
            num_cells=cells.num_cells,
            num_corners=len(cells.corners),
            on_cells=cells.on_cells,
        )


class MeshLayout(BaseModel):
    """How the stored points of the training mesh form an array.

    Attributes:
        dims, shape, coordinate_dims: as in `Mesh`.
        has_unseen: whether a channel was never observed at some of the points; which ones is stored
            beside them.
        cells: of an unstructured mesh, where they are known.
    """

    model_config = STORED

    dims: StoredTuple[str]
    shape: StoredTuple[int]
    coordinate_dims: StoredTuple[StoredTuple[str]]
    has_unseen: bool = False
    cells: CellLayout | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.cells is not None:
            points = self.cells.num_cells if self.cells.on_cells else self.cells.num_nodes
            if points != math.prod(self.shape):
                raise ValueError(f"cells with {points} points in a mesh of {self.shape}")
        if len(self.dims) != len(self.shape) or min(self.shape, default=0) < 1:
            raise ValueError(f"expected a size for each of {self.dims}, got {self.shape}")
        for names in (self.dims, *self.coordinate_dims):
            if len(set(names)) != len(names) or not set(names) <= set(self.dims):
                raise ValueError(f"expected different ones of {self.dims}, got {names}")
        return self

    @property
    def num_points(self) -> int:
        return math.prod(self.shape)


class ReferenceLayout(BaseModel):
    """Which references are stored beside the training mesh.

    Attributes:
        monthly: whether there is a mean of every calendar month.
        rank: of the plain DMD; 0 where there is none.
    """

    model_config = STORED

    monthly: bool = False
    rank: int = Field(default=0, ge=0)


class Description(BaseModel):
    """The meaning of a model's inputs and outputs.

    Attributes:
        settings: with every choice made.
        channels, space, clock: names and units of the training data.
        normalization, coordinate_map: from the user's units to the network's, and back.
        time_step: median step of the training data, in the data's units.
        pace: from the data's times to model time.
        horizon: snapshots in the longest training rollout.
        residual_variance: per channel, mean squared decoder residual, normalised units.
        noise_variance: per channel, scatter of training data about the decoder, as fits see it.
        noise_growth: per channel, how many times larger it is in trajectories that were left out.
        training_variance: per channel, variance over the training data, the data's units.
        latent_radius: largest distance of a training latent from their mean.
        mesh: layout of the training mesh if all sequences shared one.
        references: what forecasts are compared with, if the model keeps any; it needs a mesh.
    """

    model_config = STORED

    settings: Settings
    channels: StoredTuple[Channel]
    space: Space
    clock: Clock
    normalization: Normalization
    coordinate_map: CoordinateMap
    time_step: float = Field(gt=0, allow_inf_nan=False)
    pace: Pace
    horizon: int
    residual_variance: StoredTuple[float]
    noise_variance: StoredTuple[float]
    noise_growth: StoredTuple[float]
    training_variance: StoredTuple[float]
    latent_radius: float
    training: TrainingRecord
    mesh: MeshLayout | None
    references: ReferenceLayout | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_before_calendars(cls, told: Any) -> Any:
        """Files of version 0.1 know one unit of model time."""
        match told:
            case {"settings": {"time_scale": scale}} if "pace" not in told:
                return told | {"pace": {"scale": scale}}
        return told

    @property
    def step(self) -> float:
        """Median step of the training data, model time."""
        return self.time_step / self.pace.scale

    def model_times(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Model times of the data's."""
        return self.pace(times, self.clock)

    def following(self, start: float, count: int) -> NDArray[np.floating]:
        """The `count` times, in the data's units, that follow `start` by training steps."""
        return self.pace.later(start, self.step * np.arange(1, count + 1), self.clock)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        per_channel = {
            "normalization": self.normalization.shift,
            "residual_variance": self.residual_variance,
            "noise_variance": self.noise_variance,
            "noise_growth": self.noise_growth,
            "training_variance": self.training_variance,
        }
        for name, values in per_channel.items():
            if len(values) != len(self.channels):
                raise ValueError(f"{len(values)} numbers of {name}, {len(self.channels)} channels")
        place = self.coordinate_map
        if place.kind != self.space.geometry or (
            place.kind == "box" and place.decoder_dim != self.space.dim
        ):
            raise ValueError(f"a coordinate map of {place} in a space of {self.space}")
        if self.mesh is not None and len(self.mesh.coordinate_dims) != self.space.dim:
            raise ValueError(f"a mesh of {self.mesh.coordinate_dims} in {self.space}")
        if self.references is not None and self.mesh is None:
            raise ValueError("references without a mesh")
        return self

    @model_validator(mode="after")
    def _every_choice_made(self) -> Self:
        needed = ["latent_dim", "time_scale"]
        needed += [] if self.settings.decoder == "gridded" else ["hidden_dim"]
        needed += {"lrlq": ["rank"], "mlp": ["dynamics_hidden_dim"]}.get(self.settings.dynamics, [])
        for name in needed:
            if getattr(self.settings, name) is None:
                raise ValueError(f"the setting {name} was not chosen")
        return self
