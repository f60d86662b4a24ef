"""Fields in units of their own variation: (u - shift) / scale, channel by channel."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from smore.data.trajectories import Trajectories

# A spread this small beside the mean is round-off: the channel is constant.
_CONSTANT = 1e-12


class Normalization(BaseModel):
    """An affine map per channel that gives a field of order one; its inverse gives it back.

    Attributes:
        shift: one per channel.
        scale: one per channel, positive.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    shift: tuple[float, ...]
    scale: tuple[float, ...]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len(self.shift) != len(self.scale) or not all(scale > 0 for scale in self.scale):
            raise ValueError("expected one shift and one positive scale per channel")
        return self

    @classmethod
    def fit(
        cls,
        trajectories: Trajectories,
        kind: Literal["standard", "scale", "none"] = "standard",
    ) -> Self:
        """The normalisation of `trajectories`, over their observed values.

        Args:
            trajectories: the training data.
            kind: "standard" subtracts the mean and divides by the standard deviation; "scale"
                only divides, which keeps zero where it is; "none" does neither.
        """
        nothing = np.zeros(trajectories.num_channels)
        if kind == "none":
            return cls(shift=tuple(nothing), scale=tuple(nothing + 1))
        mean, deviation = channel_moments(trajectories)
        scale = np.where(deviation > _CONSTANT * np.abs(mean), deviation, 1.0)
        shift = mean if kind == "standard" else nothing
        return cls(shift=tuple(shift.tolist()), scale=tuple(scale.tolist()))

    @property
    def shift_array(self) -> NDArray[np.float64]:
        """(channels,) float64."""
        return np.array(self.shift)

    @property
    def scale_array(self) -> NDArray[np.float64]:
        """(channels,) float64."""
        return np.array(self.scale)

    def apply(self, fields: NDArray[np.floating]) -> NDArray[np.floating]:
        """Fields (..., channels, points) in the user's units -> a new array of order one."""
        shift, scale = self._columns(fields)
        return (fields - shift) / scale

    def undo(self, fields: NDArray[np.floating]) -> NDArray[np.floating]:
        """Fields (..., channels, points) of order one -> a new array in the user's units."""
        shift, scale = self._columns(fields)
        return fields * scale + shift

    def _columns(self, fields: NDArray[np.floating]) -> tuple[NDArray, NDArray]:
        # In the precision of the fields: a float64 scale would double their memory.
        return (
            self.shift_array.astype(fields.dtype)[:, None],
            self.scale_array.astype(fields.dtype)[:, None],
        )


def channel_moments(
    trajectories: Trajectories,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation (channels,) over all observed values, one sequence at a time."""
    total = np.zeros(trajectories.num_channels)
    count = np.zeros(trajectories.num_channels)
    for sequence in trajectories:
        total += sequence.fields.sum(axis=(0, 2), dtype=np.float64)
        if sequence.observed is None:
            count += sequence.num_snapshots * sequence.mesh.num_points
        else:
            count += sequence.observed.sum(axis=(0, 2))
    count = np.maximum(count, 1)
    mean = total / count

    # A second pass about the mean: the difference of two large sums would lose the deviation.
    squares = np.zeros(trajectories.num_channels)
    for sequence in trajectories:
        anomaly = sequence.fields - mean[:, None]
        if sequence.observed is not None:
            anomaly *= sequence.observed
        squares += np.einsum("tcn,tcn->c", anomaly, anomaly)
    return mean, np.sqrt(squares / count)
