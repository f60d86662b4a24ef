"""The same forecasts by several methods, scored in one way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smore.comparison.forecaster import Forecaster
from smore.comparison.models import Model, find_model, of_class
from smore.comparison.results import Comparison, Fit, ModelScores
from smore.data import Missing, Trajectories, align, channel_moments, require_snapshots
from smore.data import Sequence as Snapshots
from smore.errors import DataError, SettingsError
from smore.evaluation import NUM_ORIGINS, chosen_horizon, spread_origins
from smore.inputs import Data, as_trajectories

# What is compared unless told: it takes seconds, and no package that does not come with smore.
USUAL = ("smore", "pod-dmd", "persistence", "climatology")
MINUTES = 10.0

Sums = NDArray[np.float64]


def compare(
    train: Data,
    test: Data,
    models: Sequence[str | type] = USUAL,
    *,
    seeds: int = 1,
    minutes: float = MINUTES,
    horizon: int | None = None,
    origins: int | None = None,
    missing: Missing = "refuse",
    say: Callable[[str], None] | None = None,
) -> Comparison:
    """Fit every method to `train`, forecast `test`, and score all forecasts in the same way.

    Several test sequences are forecast from their first snapshots, to their ends. One record is
    forecast from several snapshots that are spread evenly, half of it ahead. Every method sees the
    same first snapshots and nothing else of the test data.

    Args:
        train: what `SMORE.fit` takes.
        test: of the same channels; times go on as those of `train` or start anew.
        models: names (see `model_names`), "module:Class", or classes with `fit` and `forecast`
            (see `Forecaster`).
        seeds: how many times methods with random numbers are fitted.
        minutes: that a method which trains by epochs may take for a fit.
        horizon: steps ahead.
        origins: forecasts of all sequences together, at least one of each; by default 5.
        missing: see `SMORE.fit`.
        say: told what goes on.

    Returns:
        A `Comparison`. A method that cannot work with these data is part of it, with the reason.

    Raises:
        DataError: training or test data that cannot be used.
        SettingsError: a method that there is none of, or numbers out of range.
    """
    if seeds < 1 or minutes <= 0 or not models:
        raise SettingsError(
            f"expected at least one model and seed, and minutes above 0, got {len(models)} models, "
            f"{seeds} seeds, {minutes:g} minutes"
        )
    found = [find_model(each) if isinstance(each, str) else of_class(each) for each in models]
    known = as_trajectories(train, missing).load()
    forecasts = _forecasts(known, as_trajectories(test, missing).load(), horizon, origins)
    scores = tuple(
        _scored(model, known, forecasts, seeds, minutes, say or (lambda _: None)) for model in found
    )
    return Comparison(len(forecasts.origins), tuple(range(1, forecasts.horizon + 1)), scores)


@dataclass(frozen=True, eq=False)
class _Forecasts:
    """What is asked of every method.

    Args:
        origins: the snapshots that are forecast from, each with what followed.
        horizon: steps ahead.
        variance: (channels,) of the training data.
    """

    origins: list[Snapshots]
    horizon: int
    variance: NDArray[np.float64]

    def score(self, model: Forecaster) -> tuple[float, tuple[float, ...]]:
        """Mean squared errors per variance, of everything and by lead."""
        channels = len(self.variance)
        squares, counts = (np.zeros((self.horizon, channels)) for _ in range(2))
        for truth in self.origins:
            first, later = truth.snapshots(slice(1)), truth.snapshots(slice(1, None))
            forecast = np.asarray(model.forecast(first, later.times), dtype=np.float64)
            if forecast.shape != later.fields.shape:
                raise DataError(
                    f"expected a forecast of (times, channels, points) = {later.fields.shape}, "
                    f"got {forecast.shape}"
                )
            there = np.ones(forecast.shape, bool) if later.observed is None else later.observed
            with np.errstate(over="ignore", invalid="ignore"):
                error = np.where(there, np.square(forecast - later.fields), 0.0)
                squares[: len(error)] += error.sum(-1)
            counts[: len(error)] += there.sum(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            by_lead = _mean(squares, counts, self.variance, axis=1)
            everything = _mean(squares.sum(0), counts.sum(0), self.variance, axis=0)
        return float(everything), tuple(by_lead.tolist())


def _mean(squares: Sums, counts: Sums, variance: Sums, axis: int) -> Sums:
    """Over channels, of mean squares per variance; infinite where a forecast is not a number."""
    each = squares / np.maximum(counts, 1) / variance
    mean: Sums = np.mean(each, axis=axis)
    return np.nan_to_num(mean, nan=np.inf, posinf=np.inf)


def _forecasts(
    train: Trajectories, test: Trajectories, horizon: int | None, origins: int | None
) -> _Forecasts:
    require_snapshots(train, 2)
    require_snapshots(test, 2)
    names = [channel.name for channel in train.channels]
    lacking = [name for name in names if name not in {each.name for each in test.channels}]
    if lacking:
        raise DataError(f"the test data lack the channels {', '.join(lacking)}; rename them")
    truth = align(test.select_channels(names), train.channels, train.space, train.clock)
    lengths = [sequence.num_snapshots for sequence in truth]
    ahead = chosen_horizon(lengths, horizon)
    spread = spread_origins(lengths, ahead, origins or NUM_ORIGINS)
    stretches = [
        truth.sequences[each.sequence].snapshots(slice(each.start, each.start + ahead + 1))
        for each in spread
    ]
    moments = channel_moments(train)
    return _Forecasts(stretches, ahead, np.square(moments.scale))


def _scored(
    model: Model,
    train: Trajectories,
    forecasts: _Forecasts,
    seeds: int,
    minutes: float,
    say: Callable[[str], None],
) -> ModelScores:
    try:
        return ModelScores(model.name, tuple(_fits(model, train, forecasts, seeds, minutes, say)))
    except Exception as error:  # one method must not take the others' results with it
        return ModelScores(model.name, failure=model.failure(error))


def _fits(
    model: Model,
    train: Trajectories,
    forecasts: _Forecasts,
    seeds: int,
    minutes: float,
    say: Callable[[str], None],
) -> Iterator[Fit]:
    for seed in range(seeds if model.is_random else 1):
        say(f"{model.name}, seed {seed}" if model.is_random else model.name)
        started = time.monotonic()
        made = model.made(seed=seed, minutes=minutes)
        made.fit(train)
        fitted = time.monotonic()
        error, by_lead = forecasts.score(made)
        spent = fitted - started, time.monotonic() - fitted
        yield Fit(seed if model.is_random else None, error, by_lead, *spent)
