"""Everything about a trained model that is not a tensor, as it is stored in its file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from smore.data import Channel, Clock, CoordinateMap, Normalization, Space
from smore.settings import Settings

# An evaluation stage that overflowed is part of a model's history: infinity has to be written.
STORED = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class TrainingRecord(BaseModel):
    """What the model was trained on and how that went."""

    model_config = STORED

    num_sequences: int
    num_snapshots: int
    num_points: int
    selection: str
    selected_epoch: int
    epochs_run: int
    seconds: float
    history: tuple[tuple[int, float], ...]
    findings: dict[str, float] = {}


class MeshLayout(BaseModel):
    """How the stored points of the training mesh form an array."""

    model_config = STORED

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coordinate_dims: tuple[tuple[str, ...], ...]


class Description(BaseModel):
    """The meaning of a model's inputs and outputs.

    Attributes:
        settings: with every choice made.
        channels, space, clock: names and units of the training data.
        normalization, coordinate_map: from the user's units to the network's, and back.
        time_step: median step of the training data, in the data's units.
        horizon: snapshots in the longest training rollout.
        residual_variance: per channel, mean squared decoder residual, normalised units.
        noise_variance: per channel, scatter of training data about the decoder, as fits see it.
        noise_growth: per channel, how many times larger it is in trajectories that were left out.
        training_variance: per channel, variance over the training data, the data's units.
        latent_radius: largest distance of a training latent from their mean.
        mesh: layout of the training mesh if all sequences shared one.
    """

    model_config = STORED

    settings: Settings
    channels: tuple[Channel, ...]
    space: Space
    clock: Clock
    normalization: Normalization
    coordinate_map: CoordinateMap
    time_step: float
    horizon: int
    residual_variance: tuple[float, ...]
    noise_variance: tuple[float, ...]
    noise_growth: tuple[float, ...]
    training_variance: tuple[float, ...]
    latent_radius: float
    training: TrainingRecord
    mesh: MeshLayout | None
