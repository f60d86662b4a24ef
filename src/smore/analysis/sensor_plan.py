"""A plan of sensors for a trained model: where they stand, what they promise, what to fill in."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.analysis._watching import flows, repetition
from smore.data import ANGLE_NAMES, SPHERE_NAMES, Mesh, Space, require_distinct
from smore.errors import DataError, SettingsError
from smore.inference import Candidates, Placement, one_row_each, place_sensors
from smore.surrogate import Surrogate, noise_of

FloatArray = NDArray[np.float64]
Region = Callable[[FloatArray], NDArray[np.bool_]]

# Shares closer to 1 than this are not told apart.
FINEST_SHARE = 1e-6


@dataclass(frozen=True, eq=False)
class SensorPlan:
    """Sensors in the user's terms, the most informative first.

    Errors are mean squares over all candidates and channels, in normalised units, of the field
    that the decoder can represent. Points at which it has never seen a value do not count.

    Args:
        coords: (count, dim) where they stand, in the user's units.
        names: of the coordinates.
        channels: names of what every sensor measures.
        variance: (channels of the model,) of a measured value about the decoder, normalised
            units; inf where nothing is measured.
        placement: points as indices into the candidates, and what they promise.
        random_coords: (count, dim) as many sensors at random, to be shown beside these.
        dated: whether measurements need a date beside them.
    """

    coords: FloatArray
    names: tuple[str, ...]
    channels: tuple[str, ...]
    variance: Tensor
    placement: Placement
    random_coords: FloatArray
    dated: bool = False

    @property
    def explained(self) -> float:
        """Share of the field's variance that these sensors are expected to explain."""
        return 1 - self.placement.expected_error / self.placement.prior_error

    @property
    def random_explained(self) -> float:
        """The same of as many random sensors, on average."""
        return 1 - self.placement.random_error / self.placement.prior_error

    @property
    def gain(self) -> float:
        """How many times smaller the mean squared error is than with random sensors."""
        return self.placement.random_error / self.placement.expected_error

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and names, for JSON."""
        placement = self.placement
        return {
            "points": [dict(zip(self.names, row, strict=True)) for row in self.coords.tolist()],
            "channels": list(self.channels),
            "observability": placement.observability,
            "explained": self.explained,
            "random_explained": self.random_explained,
            "expected_rmse": math.sqrt(placement.expected_error),
            "expected_error": placement.expected_error,
            "random_error": placement.random_error,
            "best_random_error": placement.best_random_error,
            "prior_error": placement.prior_error,
            "gain": self.gain,
        }

    def write_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table to be filled in: a row per sensor, an empty column per channel.

        Raises:
            DataError: see `require_blank_table`.
        """
        path = Path(path)
        require_blank_table(path, self.names)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            columns = [*(["time"] if self.dated else []), *self.channels]
            writer.writerow([*self.names, *columns])
            blank = [""] * len(columns)
            writer.writerows([*row, *blank] for row in self.coords.tolist())


def told_share(value: float) -> str:
    """A share in per cent, with as many nines as it has."""
    missing = 1 - value
    if missing < FINEST_SHARE:
        return f"more than {1 - FINEST_SHARE:.4%}"
    return f"{value:.{max(0, math.ceil(-math.log10(100 * missing)))}%}"


def require_blank_table(path: Path, names: Sequence[str]) -> None:
    """Refuse to write a plan with coordinates `names` over measurements that were filled in."""
    if path.suffix != ".csv":
        raise DataError(f"expected the name of a table to end in .csv, got {path}")
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        filled_in = any(
            value and column not in names
            for row in csv.DictReader(file)
            for column, value in row.items()
        )
    if filled_in:
        raise DataError(
            f"{path} holds values already, which a new plan would overwrite; choose another file "
            "name, or remove it"
        )


def plan_sensors(
    surrogate: Surrogate,
    count: int,
    *,
    candidates: Mesh,
    allowed: NDArray[np.bool_] | None = None,
    channels: Sequence[str] | None = None,
    noise: Sequence[float] | None = None,
    history: int = 1,
    seed: int = 0,
) -> SensorPlan:
    """The `count` candidates from which a trained model knows its field best; see `place_sensors`.

    Args:
        surrogate: the trained model.
        count: number of sensors.
        candidates: where the field is wanted; any points, on the training mesh or not.
        allowed: (candidates,) where a sensor may stand; None for everywhere. In any case the model
            has to have seen there what the sensor measures, as far as that is known.
        channels: what every sensor measures; by default all channels.
        noise: standard deviation of the instrument for each of `channels`, in the data's units,
            beside the scatter of the data about the decoder; by default none.
        history: snapshots over which sensors are watched; errors are means over them.
        seed: of the random placements compared with.

    Raises:
        DataError: candidates of another space, or nowhere to stand.
        SettingsError: a channel the model does not know, noise that is not a size, or more
            sensors than places for them.
    """
    description = surrogate.description
    _check_places(candidates, allowed, description.space)
    surrogate.warn_outside([candidates])
    known = tuple(channel.name for channel in description.channels)
    observed = known if channels is None else tuple(channels)
    if history < 1:
        raise SettingsError(
            f"sensors are watched for at least 1 snapshot, got a history of {history}"
        )
    variance = _value_variance(surrogate, known, observed, noise, history)
    seen = surrogate.seen_on(candidates)
    if seen is not None:
        allowed = _seen_places(seen[variance.isfinite().numpy()], allowed, observed)
    placement = place_sensors(
        _modes(surrogate, candidates.coords),
        surrogate.prior,
        variance,
        count,
        allowed=None if allowed is None else torch.as_tensor(allowed),
        wanted=None if seen is None else torch.as_tensor(seen.any(axis=0)),
        flows=None if history == 1 else flows(surrogate, history),
        generator=torch.Generator().manual_seed(seed),
    )
    if placement.prior_error == 0:
        raise DataError(
            "the model's training states are all the same: its field is known without sensors; "
            "train it on data that vary"
        )
    places = candidates.coords if allowed is None else candidates.coords[allowed]
    return SensorPlan(
        coords=candidates.coords[placement.points.numpy()],
        names=description.space.names,
        channels=observed,
        variance=variance,
        placement=placement,
        random_coords=np.random.default_rng(seed).choice(places, count, replace=False),
        dated=description.clock.kind == "datetime",
    )


def field_deviation(
    surrogate: Surrogate, sensors: FloatArray, variance: Tensor, channel: str, coords: FloatArray
) -> FloatArray:
    """Standard deviation (points,) of one channel's field given sensors, in the data's units.

    Args:
        surrogate: the trained model.
        sensors: (count, dim) where they stand.
        variance: of their values, as in `SensorPlan`.
        channel: the name of the channel.
        coords: (points, dim) where the field is wanted.
    """
    description = surrogate.description
    number = [each.name for each in description.channels].index(channel)
    rows, root = one_row_each(_modes(surrogate, sensors), surrogate.prior, len(variance))
    known, _ = Candidates(rows, variance.rsqrt()).learn(root, range(len(sensors)))
    wanted, _ = one_row_each(_modes(surrogate, coords), surrogate.prior, len(variance))
    deviation = (wanted @ known[number]).norm(dim=1)
    return description.normalization.scale[number] * deviation.numpy()


def parse_region(text: str, space: Space) -> Region:
    """What 'x=0.2:0.8,y=:0.5' says: which of some points (points, dim) lie in all these ranges.

    Ends belong to the range and may be left open. On a sphere a range of longitudes runs
    eastwards, so that 350:10 is 20 degrees wide; it needs both ends.

    Raises:
        SettingsError: an unknown coordinate, an end that is not a number, or an empty range.
    """
    ranges = [_parse_range(part, space) for part in text.split(",")]
    return lambda coords: np.all([inside(coords) for inside in ranges], axis=0)


def _parse_range(text: str, space: Space) -> Region:
    name, _, ends = (part.strip() for part in text.partition("="))
    column = _column(name, space)
    if column is None:
        raise SettingsError(
            f"expected ranges of the coordinates {', '.join(space.names)}, such as "
            f"{space.names[0]}=0.2:0.8, separated by commas, got {text!r}"
        )
    try:
        low, high = (float(end) if end.strip() else None for end in ends.split(":"))
    except ValueError:
        raise SettingsError(
            f"expected a range LOW:HIGH of numbers for '{name}', either of which may be left "
            f"out, got {ends!r}"
        ) from None
    if space.geometry == "sphere" and column == 1:
        return _eastwards(name, low, high)
    lower, upper = -np.inf if low is None else low, np.inf if high is None else high
    if not lower <= upper:
        raise SettingsError(f"expected LOW <= HIGH for '{name}', got {ends}: nothing lies in it")
    return lambda coords: (lower <= coords[:, column]) & (coords[:, column] <= upper)


def _column(name: str, space: Space) -> int | None:
    """Which coordinate is meant; on a sphere lat and lon will do."""
    if name in space.names:
        return space.names.index(name)
    if space.geometry == "sphere":
        for column, angle in enumerate(SPHERE_NAMES):
            if name in ANGLE_NAMES[angle]:
                return column
    return None


def _eastwards(name: str, west: float | None, east: float | None) -> Region:
    if west is None or east is None or not np.isfinite([west, east]).all():
        raise SettingsError(
            f"expected both ends of a range of '{name}', WEST:EAST: on a circle neither can be "
            "left open"
        )
    width = 360.0 if east - west >= 360.0 else (east - west) % 360.0
    return lambda coords: (coords[:, 1] - west) % 360.0 <= width


def _check_places(candidates: Mesh, allowed: NDArray[np.bool_] | None, space: Space) -> None:
    if candidates.dim != space.dim:
        raise DataError(
            f"expected candidates with the coordinates {', '.join(space.names)}, got points with "
            f"{candidates.dim} coordinates"
        )
    if allowed is None:
        return
    if allowed.dtype != np.bool_ or allowed.shape != (candidates.num_points,):
        raise DataError(
            f"expected allowed to be true or false for each of {candidates.num_points} "
            f"candidates, got {allowed.dtype} values of shape {allowed.shape}"
        )
    if not allowed.any():
        lower, upper = candidates.coords.min(axis=0), candidates.coords.max(axis=0)
        extent = ", ".join(
            f"{name} from {low:g} to {high:g}"
            for name, low, high in zip(space.names, lower, upper, strict=True)
        )
        raise DataError(
            f"a sensor is allowed at none of the {candidates.num_points} candidates, which have "
            f"{extent}; allow a larger region"
        )


def _seen_places(
    seen: NDArray[np.bool_], allowed: NDArray[np.bool_] | None, channels: Sequence[str]
) -> NDArray[np.bool_]:
    """The candidates among those allowed at which all channels that are measured were seen.

    Elsewhere nothing has taught the model what a value would mean.

    Args:
        seen: (channels that are measured, candidates).
        allowed: (candidates,), None for all.
        channels: the names of those that are measured.
    """
    places = np.logical_and.reduce(seen if allowed is None else [*seen, allowed])
    if not places.any():
        raise DataError(
            f"the training data have {' and '.join(channels)} at none of the candidates where a "
            "sensor is allowed; allow others, or measure fewer channels"
        )
    return places


def _value_variance(
    surrogate: Surrogate,
    known: tuple[str, ...],
    observed: tuple[str, ...],
    noise: Sequence[float] | None,
    history: int,
) -> Tensor:
    """(channels,) variance of a measured value about the decoder, inf where none is measured."""
    if not observed or not set(observed) <= set(known):
        raise SettingsError(
            f"expected channels out of {', '.join(known)}, got {', '.join(observed) or 'none'}"
        )
    require_distinct(observed, "channel")
    deviations = [0.0] * len(observed) if noise is None else list(noise)
    if len(deviations) != len(observed):
        raise SettingsError(
            f"expected as noise a standard deviation for each of {', '.join(observed)}, got "
            f"{deviations}"
        )
    instruments = noise_of(surrogate, dict(zip(observed, deviations, strict=True)))
    assert instruments is not None
    measured = torch.tensor([name in observed for name in known])
    missed = surrogate.expected_noise * (repetition(surrogate, history) if history > 1 else 1.0)
    return (missed + instruments).where(measured, torch.inf)


@torch.no_grad()
def _modes(surrogate: Surrogate, coords: FloatArray) -> Tensor:
    """J₀ (points, p) at points in the user's units, of a joint decoder (channels, points, r)."""
    places = torch.as_tensor(surrogate.description.coordinate_map(coords))
    places = places.to(next(surrogate.decoder.parameters()))
    size = surrogate.description.settings.chunk_size or len(places)
    channels = surrogate.decoder.num_outputs
    parts = [
        torch.stack([basis.modes for basis in surrogate.decoder.channel_bases(part, channels)])
        for part in places.split(size)
    ]
    modes = torch.cat(parts, dim=1).to("cpu", torch.float64)
    return modes if surrogate.decoder.joint else modes[0]
