"""A tracker in one file: temporary, synced, renamed, like a model; and of one model only."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from smore.assimilation._decoder_error import Spots
from smore.assimilation._filtering import Belief
from smore.assimilation._first_guess import FirstGuess
from smore.assimilation._levels import Levels
from smore.assimilation._watching import SensorRecord, Watch
from smore.assimilation.kalman import Gaussian
from smore.assimilation.stream import Stream
from smore.errors import ModelFileError
from smore.model_file import Kind, load_file, save_file
from smore.surrogate import Surrogate

TRACKER = Kind("tracker", 2, "start tracking anew")
# Sensors that are remembered although they are silent.
MOST_STRANGERS = 1000
_SPOTS = ("channels", "places", "deviation", "heard")
_PENDING = ("times", "coords", "channels", "values", "sensors")


@dataclass(frozen=True, eq=False)
class Settled:
    """What no observation can change any more, and those that are still open.

    Args:
        belief: at the newest settled time; None before any.
        pending: observations since.
        levels: sizes of errors.
        watch: records of the sensors up to `belief`.
        num_values: observations that are settled.
    """

    belief: Belief | None
    pending: Stream
    levels: Levels
    watch: Watch
    num_values: int = 0

    @classmethod
    def nothing(cls, surrogate: Surrogate, levels: Levels) -> Settled:
        """Before any observations."""
        dim = surrogate.description.space.dim
        nobody = np.zeros(0, np.intp)
        none = Stream(np.zeros(0), np.zeros((0, dim)), nobody, np.zeros(0), nobody, ())
        return cls(None, none, levels, Watch())

    def with_levels(self, levels: Levels) -> Settled:
        """The same with other sizes of errors."""
        return replace(self, levels=levels)

    def moved(
        self, belief: Belief | None, pending: Stream, watch: Watch, num_values: int
    ) -> Settled:
        """The same later."""
        return Settled(belief, pending, self.levels, watch, num_values)._without_strangers()

    def _without_strangers(self) -> Settled:
        """Sensors forgotten that were heard once, somewhere, and never again.

        Drifters that nobody named are new sensors at every time: memory must not grow with them.
        """
        pending = self.pending
        again = {name for (name, _), each in self.watch.records.items() if each.total > 1}
        met = [number for number, name in enumerate(pending.names) if name in again]
        used = np.unique(np.append(pending.sensors, np.array(met, dtype=np.intp)))
        if len(pending.names) <= 2 * len(used) + MOST_STRANGERS:
            return self
        new = np.full(len(pending.names), -1, np.intp)
        new[used] = np.arange(len(used))
        names = tuple(pending.names[number] for number in used)
        kept = {key: each for key, each in self.watch.records.items() if key[0] in names}
        watch = Watch(self.watch.out)
        watch.records.update(kept)
        pending = replace(pending, sensors=new[pending.sensors], names=names)
        return replace(self, pending=pending, watch=watch)


class _Text(BaseModel):
    """What a tracker file says in words and numbers."""

    model_config = ConfigDict(extra="forbid")

    model: str
    lag: float
    names: list[str]
    inflation: float
    told: bool
    num_values: int
    time: float | None
    model_time: float | None
    larger: float
    prior: int
    records: list[tuple[str, int, dict[str, float | int | bool | list[float]]]]


def save_tracker(path: Path, settled: Settled, lag: float, surrogate: Surrogate) -> None:
    """Write a tracker, whole or not at all; what was there before is there until then.

    Raises:
        ModelFileError: it cannot be written.
    """
    belief, pending = settled.belief, settled.pending
    tensors = {f"pending.{name}": torch.as_tensor(getattr(pending, name)) for name in _PENDING}
    tensors |= {
        "levels.instruments": torch.as_tensor(settled.levels.instruments),
        "levels.growth": torch.as_tensor(settled.levels.growth),
    }
    if belief is not None:
        tensors |= {
            "state.mean": torch.as_tensor(belief.state.mean),
            "state.root": torch.as_tensor(np.ascontiguousarray(belief.state.root)),
            "guess.matrix": torch.as_tensor(np.ascontiguousarray(belief.guess.matrix)),
        }
        spots = belief.spots
        tensors |= {f"spots.{name}": torch.as_tensor(getattr(spots, name)) for name in _SPOTS}
    records = [
        (name, channel, asdict(record) | {"recent": list(record.recent)})
        for (name, channel), record in settled.watch.records.items()
    ]
    text = _Text(
        model=fingerprint_of(surrogate),
        lag=lag,
        names=list(pending.names),
        inflation=settled.levels.inflation,
        told=settled.levels.told,
        num_values=settled.num_values,
        time=None if belief is None else belief.time,
        model_time=None if belief is None else belief.model_time,
        larger=1.0 if belief is None else belief.guess.larger,
        prior=0 if belief is None else belief.guess.prior,
        records=records,
    )
    save_file(path, tensors, text.model_dump_json(), TRACKER)


def load_tracker(path: Path, surrogate: Surrogate) -> tuple[Settled, float]:
    """What `save_tracker` wrote, and its lag.

    Raises:
        ModelFileError: the file is damaged, no tracker, or that of another model.
    """
    tensors, written = load_file(path, TRACKER)
    try:
        text = _Text.model_validate(json.loads(written))
        if text.model != fingerprint_of(surrogate):
            raise ModelFileError(
                f"{path} is a tracker of another model; load the model it was made with, or start "
                "tracking anew"
            )
        return _settled(tensors, text, surrogate), text.lag
    except (ValidationError, ValueError, KeyError, RecursionError) as error:
        reason = "".join(c if c.isprintable() else "?" for c in str(error).splitlines()[0][:200])
        raise ModelFileError(f"{path} does not describe a tracker ({reason}); start anew") from None


def _settled(tensors: dict[str, Tensor], text: _Text, surrogate: Surrogate) -> Settled:
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"tensor {name!r} holds NaN or infinity")
    columns = (arrays[f"pending.{name}"] for name in _PENDING)
    times, coords, channels, values, sensors = columns
    pending = Stream(times, coords, channels, values, sensors, tuple(text.names))
    levels = Levels(
        arrays["levels.instruments"], arrays["levels.growth"], text.inflation, text.told
    )
    belief = None
    if text.time is not None and text.model_time is not None:
        spots = Spots(*(arrays[f"spots.{name}"] for name in _SPOTS))
        state = Gaussian(arrays["state.mean"], arrays["state.root"])
        guess = FirstGuess(arrays["guess.matrix"], text.larger, text.prior)
        alike = len(state.mean) == len(state.root) == len(guess.matrix)
        known = guess.prior in range(len(surrogate.priors))
        if not alike or not known or len(spots) >= len(state.mean):
            raise ValueError("a state whose parts do not fit")
        belief = Belief(text.time, text.model_time, state, spots, guess)
    watch = Watch()
    for name, channel, told in text.records:
        record = SensorRecord(**{key: value for key, value in told.items() if key != "recent"})  # type: ignore[arg-type]
        record.recent.extend(told["recent"])  # type: ignore[arg-type]
        watch.records[name, channel] = record
    return Settled(belief, pending, levels, watch, text.num_values)


def fingerprint_of(surrogate: Surrogate) -> str:
    """SHA-256 of what a model says about its states: another model gives another one."""
    digest = hashlib.sha256(surrogate.description.model_dump_json().encode())
    parts = [*surrogate.decoder.state_dict().items(), *surrogate.dynamics.state_dict().items()]
    for name, tensor in parts:
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
