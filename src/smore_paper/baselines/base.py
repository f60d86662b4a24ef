"""What every method that SMORE is compared with looks like from outside."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from smore.data import Trajectories
from smore.errors import DataError, NotFittedError, SettingsError
from smore.settings import Settings

EVALUATE_EVERY = Settings.of().evaluate_every  # epochs, the paper's


class Budget:
    """How long a training may go on: so many seconds or so many epochs, whichever ends first.

    The clock starts when the budget is made.

    Args:
        seconds: wall-clock time, or None for no limit.
        epochs: passes over the training data, or None for no limit.

    Raises:
        SettingsError: neither limit is given, or one that is not positive.
    """

    def __init__(self, seconds: float | None, epochs: int | None) -> None:
        if seconds is None and epochs is None:
            raise SettingsError("a training needs a limit, got none; give seconds, epochs or both")
        for name, limit in (("seconds", seconds), ("epochs", epochs)):
            if limit is not None and not limit > 0:
                raise SettingsError(f"{name} must be positive, got {limit}")
        self.seconds, self.epochs = seconds, epochs
        self._started = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def used(self, epochs_run: float) -> float:
        """The part of the budget that is used up after `epochs_run` epochs; 1 is the end."""
        by_time = 0.0 if self.seconds is None else self.elapsed / self.seconds
        by_epochs = 0.0 if self.epochs is None else epochs_run / self.epochs
        return min(1.0, max(by_time, by_epochs))


@dataclass(frozen=True, eq=False)
class Training:
    """What a method is trained on, and how long; see `Baseline.fit`."""

    data: Trajectories
    select_on: Trajectories | None
    seed: int
    budget: Budget
    progress: bool


class Baseline(ABC):
    """A method that learns from trajectories and forecasts from one snapshot.

    Settings are given to the constructor; a subclass writes `_train`, `_rollout` and
    `num_parameters`. What is promised here is checked here.

    Attributes:
        name: what tables call the method.
        epochs_run: complete passes over the training data; set by `fit`, like the next two.
        seconds: wall-clock time of `fit`.
        device: where it ran, such as "cpu".
    """

    name: ClassVar[str]
    selects: ClassVar[bool] = True  # whether there are weights of several epochs to choose from
    epochs_run: int
    seconds: float
    device: str
    _channel_names: tuple[str, ...] | None = None

    def fit(
        self,
        train: Trajectories,
        *,
        seed: int,
        seconds: float | None = None,
        epochs: int | None = None,
        select_on: Trajectories | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn from every snapshot of `train`, from scratch.

        Args:
            train: the training windows; what must not supervise is cut off by the caller.
            seed: source of every random number.
            seconds: stop after so much wall-clock time.
            epochs: stop after so many passes over the data. At least one of the two limits must be
                given, the first to be reached ends the training.
            select_on: keep the weights whose forecasts of these trajectories have the lowest
                error, of those after every EVALUATE_EVERY epochs and the last ones; by default
                whatever the method does by itself.
            progress: show a progress line on standard error.

        Raises:
            SettingsError: no limit, or one that is not positive; `select_on` for a method that has
                nothing to select.
            DataError: data that this method cannot learn from; the message says why.
        """
        if select_on is not None and not self.selects:
            raise SettingsError(
                f"{self.name} looks at the data once and has nothing to select; leave select_on out"
            )
        budget = Budget(seconds, epochs)
        epochs_run, self.device = self._train(Training(train, select_on, seed, budget, progress))
        self.learned(train, epochs_run, budget.elapsed)
        return self

    def learned(self, train: Trajectories, epochs_run: int, seconds: float) -> None:
        """Note what came of a training on `train`, after which `forecast` works."""
        self.epochs_run, self.seconds = epochs_run, seconds
        self._channel_names = _channel_names(train)

    def forecast(self, first: Trajectories, num_steps: int) -> NDArray[np.float32]:
        """Free rollout from the first snapshot of every sequence; later ones are not looked at.

        Args:
            first: sequences with the channels of the training data.
            num_steps: how many steps to forecast, each as long as those of the training data.

        Returns:
            (sequences, num_steps, channels, points) in the data's units; the first snapshot is not
            part of it. Values that a rollout could not keep finite are left so for the score.

        Raises:
            NotFittedError: `fit` comes first.
            DataError: other channels or points than in training, or missing values.
        """
        if self._channel_names is None:
            raise NotFittedError(f"{self.name} was not trained yet; call fit first")
        if num_steps < 1:
            raise DataError(f"expected at least one step to forecast, got {num_steps}")
        if _channel_names(first) != self._channel_names:
            raise DataError(
                f"{self.name} was trained on {', '.join(self._channel_names)}, got "
                f"{', '.join(_channel_names(first))}; use select_channels"
            )
        forecast = self._rollout(first.leading(1), num_steps)
        assert forecast.shape[:3] == (len(first), num_steps, first.num_channels)
        return forecast.astype(np.float32, copy=False)

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """Trained numbers, counted as the paper counts them; known after `fit`."""

    @abstractmethod
    def _train(self, training: Training) -> tuple[int, str]:
        """Learn within the budget; return the number of complete epochs and the device."""

    @abstractmethod
    def _rollout(self, first: Trajectories, num_steps: int) -> NDArray[np.floating]:
        """(sequences, num_steps, channels, points) from sequences of one snapshot."""


def _channel_names(trajectories: Trajectories) -> tuple[str, ...]:
    return tuple(channel.name for channel in trajectories.channels)
