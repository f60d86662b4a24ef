"""Fields in units of their own variation: (u - shift) / scale, channel by channel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from smore.data.fields.scratch_fields import StoredFields
from smore.data.sequence import Sequence
from smore.data.space import Channel
from smore.data.trajectories import Trajectories
from smore.errors import DataError
from smore.runtime import ALONE, StoredTuple, Team

# A spread this small beside the mean is round-off: the channel is constant.
_CONSTANT = 1e-12


class Moments(NamedTuple):
    """Mean and standard deviation (channels,) over all observed values."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    @property
    def varies(self) -> NDArray[np.bool_]:
        """(channels,) which channels are not constant."""
        return self.deviation > _CONSTANT * np.abs(self.mean)

    @property
    def scale(self) -> NDArray[np.float64]:
        """(channels,) the deviation; 1 of a constant channel, which has no other scale."""
        return np.where(self.varies, self.deviation, 1.0)


class Normalization(BaseModel):
    """An affine map per channel that gives a field of order one; its inverse gives it back.

    Attributes:
        shift: one per channel.
        scale: one per channel, positive.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    shift: StoredTuple[float]
    scale: StoredTuple[float]

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
        team: Team = ALONE,
    ) -> Self:
        """The normalisation of `trajectories`, over their observed values.

        Args:
            trajectories: the training data.
            kind: "standard" subtracts the mean and divides by the standard deviation; "scale"
                only divides, which keeps zero where it is; "none" does neither.
            team: the processes that hold the other points.
        """
        return cls.of(channel_moments(trajectories, team), kind)

    @classmethod
    def of(cls, moments: Moments, kind: Literal["standard", "scale", "none"]) -> Self:
        """The same for channels of known moments."""
        nothing = np.zeros(len(moments.mean))
        if kind == "none":
            return cls(shift=tuple(nothing), scale=tuple(nothing + 1))
        shift = moments.mean if kind == "standard" else nothing
        return cls(shift=tuple(shift.tolist()), scale=tuple(moments.scale.tolist()))

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


def require_variation(moments: Moments, channels: Iterable[Channel]) -> None:
    """Refuse data in which no channel ever changes, in time, in space or between sequences."""
    if moments.varies.any():
        return
    told = [
        f"'{channel.name}' are all {value:.7g}"
        for channel, value in zip(channels, moments.mean, strict=True)
    ]
    raise DataError(
        f"expected fields that change, but the values of {', those of '.join(told)}; a model of a "
        "constant needs no training: check that these are the data you meant"
    )


def channel_moments(trajectories: Trajectories, team: Team = ALONE) -> Moments:
    """Mean and standard deviation over all observed values, one sequence at a time."""
    total = np.zeros(trajectories.num_channels)
    count = np.zeros(trajectories.num_channels)
    for sequence in trajectories:
        more, number = _totals(sequence)
        total += more
        count += number
    team.add_up(torch.from_numpy(total), torch.from_numpy(count))  # in place
    count = np.maximum(count, 1)
    mean = total / count
    # A second pass about the mean: the difference of two large sums would lose the deviation.
    squares = np.zeros(trajectories.num_channels)
    for sequence in trajectories:
        squares += _squares(sequence, mean)
    team.add_up(torch.from_numpy(squares))
    return Moments(mean, np.sqrt(squares / count))


def _totals(sequence: Sequence) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Σ u and the number of values, (channels,)."""
    if isinstance(sequence.source, StoredFields):
        count, mean, _ = sequence.source.moments
        return (count * mean).sum(0), count.sum(0)
    total, count = np.zeros((2, sequence.num_channels))
    for fields, observed in sequence.parts():
        total += fields.sum(axis=(0, 2), dtype=np.float64)
        count += len(fields) * fields.shape[2] if observed is None else observed.sum(axis=(0, 2))
    return total, count


def _squares(sequence: Sequence, about: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ (u - about)², (channels,)."""
    if isinstance(sequence.source, StoredFields):
        count, mean, squares = sequence.source.moments
        return (squares + count * (mean - about) ** 2).sum(0)
    total = np.zeros(sequence.num_channels)
    for fields, observed in sequence.parts():
        anomaly = fields - about[:, None]
        if observed is not None:
            anomaly *= observed
        total += np.einsum("tcn,tcn->c", anomaly, anomaly)
    return total
