"""The few ways in which smore says no.

Every message tells what was expected, what came, and what to do about it.
"""

from __future__ import annotations

from pathlib import Path


class SmoreError(Exception):
    """Base of every error that smore raises on purpose."""


class DataError(SmoreError, ValueError):
    """Trajectories, observations or coordinates that cannot be used as they are."""


class SettingsError(SmoreError, ValueError):
    """A setting that does not exist, is out of range, or contradicts another."""


class ModelFileError(SmoreError):
    """A model file that is damaged, foreign or from a newer version."""


class NotFittedError(SmoreError):
    """A model was asked for something it learns in `fit`."""


class DivergenceError(SmoreError, ArithmeticError):
    """A loss, gradient or forecast turned non-finite.

    Args:
        message: what happened and what to try.
        part: which quantity turned non-finite ("reconstruction loss", "forecast", ...).
        epoch: the epoch at which it happened, counted from 0; None outside training.
    """

    def __init__(self, message: str, *, part: str, epoch: int | None = None) -> None:
        super().__init__(message)
        self.part = part
        self.epoch = epoch


class InterruptedTrainingError(SmoreError):
    """A training was asked to stop by a signal.

    Args:
        folder: where its checkpoint is.
        signal: number of the signal.
    """

    def __init__(self, folder: Path | None, signal: int) -> None:
        super().__init__(f"training was stopped; its checkpoint is in {folder}: resume from there")
        self.folder = folder
        self.signal = signal


class ProcessLostError(SmoreError):
    """One of the processes that share a training is gone or silent.

    Args:
        rank: number of the process that noticed.
        size: how many there were.
        reason: what the network says.
    """

    def __init__(self, rank: int, size: int, reason: str) -> None:
        super().__init__(
            f"process {rank} of {size} lost contact to another one ({reason}); the training cannot "
            "go on. Its last checkpoint is kept: start all processes again with --resume"
        )
        self.rank = rank


class MissingExtraError(SmoreError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed; "
            f"install it with: pip install 'smore-rom[{extra}]'"
        )


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written or read; training goes on without it."""


class ForecastRangeWarning(UserWarning):
    """A forecast moves far away from anything the model was trained on."""


class HiddenFrequencyWarning(UserWarning):
    """Part of the data oscillates about as fast as the time step can show."""


class OutsideDomainWarning(UserWarning):
    """Coordinates lie outside the domain the model was trained on."""


class UncertainIntervalsWarning(UserWarning):
    """Error bars rest on forecasts that say little about the next one."""


class UnitsWarning(UserWarning):
    """Numbers look as if they were in other units than they are taken to be."""


class UnobservedWarning(UserWarning):
    """An inferred state rests on more than its observations, or these are doubtful."""


def how_to_set(name: str, value: str | int) -> str:
    """What a message advises: an argument, for readers in Python and at the command line."""
    return f"{name}={value!r} (on the command line: --{name.replace('_', '-')} {value})"


def unwritable(path: object, error: OSError) -> str:
    """What a message says of a file that could not be written."""
    return f"{path} cannot be written: {error.strerror or error}; make room or choose another place"
