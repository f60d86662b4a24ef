"""Where a training stands, on disk, so that one that is cut off can go on.

A recipe is a row of stages, each a loop of steps between computations that always come out the
same. A checkpoint holds the state of every stage so far: a finished one as it ended, the current
one after some step. Whoever resumes runs the recipe from the top; each stage finds itself where it
was, so what was done is skipped and what follows is bit by bit what it would have been.
"""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from smore.errors import (
    CheckpointWarning,
    InterruptedTrainingError,
    ModelFileError,
    SettingsError,
)
from smore.runtime import ALONE, StopRequest, Team
from smore.training.checkpoints._tree import State
from smore.training.checkpoints.files import (
    STEPS,
    checkpoint_files,
    newest,
    told_origin,
    write_checkpoint,
)
from smore.training.checkpoints.identity import require_same

EVERY_SECONDS = 60.0


class Stateful(Protocol):
    """Anything with a state: networks, optimisers, schedules, loops."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state_dict: Any) -> Any: ...


class Variables:
    """Something whose attributes are its state: the standing of a loop."""

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


class Randomness:
    """A random generator as something with a state."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator

    def state_dict(self) -> Tensor:
        return self.generator.get_state()

    def load_state_dict(self, state: Tensor) -> None:
        self.generator.set_state(state)


class Checkpoints:
    """The stages of one training run.

    Args:
        folder: where files go; None keeps nothing.
        identity: what the run is made of, by name: settings and data. A file of another run is
            refused with what differs.
        every: seconds between files.
        stop: a request to stop, looked at after every step.
        team: the processes that share the run; one of them writes.

    Attributes:
        origin: where a resumed run goes on, in words; None for one that was not resumed.
    """

    def __init__(
        self,
        folder: Path | None = None,
        identity: Mapping[str, str] | None = None,
        *,
        every: float = EVERY_SECONDS,
        stop: StopRequest | None = None,
        team: Team = ALONE,
    ) -> None:
        self.folder, self.identity = folder, dict(identity or {})
        self.every, self.stop, self.team = every, stop, team
        self._stages: dict[str, State] = {}
        self._current: Stage | None = None
        self._written = self._started = time.monotonic()
        self._before = 0.0
        self._complained = False
        self.origin: str | None = None

    @property
    def seconds(self) -> float:
        """Time spent on this run, by all processes that worked on it."""
        return self._before + time.monotonic() - self._started

    def resume(self) -> bool:
        """Take up the newest checkpoint in the folder; False if there is none.

        Warns:
            CheckpointWarning: the newest one cannot be read, and an older one is taken.

        Raises:
            SettingsError: it belongs to other settings or data.
            ModelFileError: there are files, but none can be read.
        """
        assert self.folder is not None
        found = newest(self.folder)
        if found is None:
            self.origin = f"no checkpoint in {self.folder}: beginning with step 0"
            return False
        path, (identity, stages, seconds), damage = found
        require_same(path, identity, self.identity)
        self._stages, self._before = stages, seconds
        self.origin = told_origin(path, stages)
        if damage is not None and self.team.leads:
            told = f"the newest checkpoint is passed over: {damage}"
            warnings.warn(told, CheckpointWarning, stacklevel=2)
        return True

    def stage(self, name: str, **parts: Stateful) -> Stage:
        """Begin a stage, or go on where it was."""
        self._current = Stage(self, name, parts, self._stages.get(name))
        return self._current

    def keep(self, name: str, state: State) -> None:
        """Note where a stage stands."""
        self._stages[name] = state

    @property
    def due(self) -> bool:
        """Whether it is time for this process to write."""
        late = time.monotonic() - self._written >= self.every
        return self.folder is not None and self.team.leads and late

    @property
    def asked_to_stop(self) -> bool:
        """Whether a signal reached any process of the team, which must stop together."""
        return self.stop is not None and self.team.any(bool(self.stop))

    def write_if_possible(self) -> None:
        """Write a file if the disk lets us: no reason to lose a training over it.

        Warns:
            CheckpointWarning: it does not; told once.
        """
        try:
            self.write()
        except ModelFileError as error:
            self._written = time.monotonic()  # not again after every step
            if not self._complained:
                told = f"no checkpoint in {self.folder}, training goes on without: {error}"
                warnings.warn(told, CheckpointWarning, stacklevel=2)
            self._complained = True

    def write(self) -> None:
        """Write a file and remove those before the last two.

        Raises:
            ModelFileError: it cannot be written; those before are still there.
        """
        if self.folder is None:
            return
        write_checkpoint(self.folder, (self.identity, self._stages, self.seconds))
        self._written = time.monotonic()

    def rescue(self) -> None:
        """Write what the current stage had reached when another process was lost.

        Every process that is left does so, with the same content, as the leader may be the lost
        one.
        """
        if self._current is not None and self.folder is not None:
            self.keep(self._current.name, self._current.last_state())
            self.write_if_possible()


class Stage:
    """One loop of a recipe: the parts that its steps change."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        name: str,
        parts: Mapping[str, Stateful],
        state: State | None,
    ) -> None:
        self.checkpoints, self.name, self.parts = checkpoints, name, parts
        self.steps = 0
        if state is not None:
            self.steps = state.get(STEPS, 0)
            for key, part in parts.items():
                part.load_state_dict(_copied(state[key]))
        self._remember_random()

    def step(self) -> None:
        """After a step of the loop: write if it is time, and stop if asked to.

        Raises:
            InterruptedTrainingError: a signal asked to stop; the checkpoint is written.
            ModelFileError: a signal asked to stop; the checkpoint cannot be written.
        """
        checkpoints = self.checkpoints
        self.steps += 1
        self._remember_random()
        stops = checkpoints.asked_to_stop
        if stops and checkpoints.team.leads:
            checkpoints.keep(self.name, self._state())
            checkpoints.write()
        elif checkpoints.due:
            checkpoints.keep(self.name, self._state())
            checkpoints.write_if_possible()
        if stops:
            assert checkpoints.stop is not None
            raise InterruptedTrainingError(
                checkpoints.folder, checkpoints.stop.signal or signal.SIGTERM
            )

    def finish(self) -> None:
        """After the last step: this checkpoint and later ones remember how the stage ended."""
        if self.checkpoints.folder is not None:
            self.checkpoints.keep(self.name, _copied(self._state()))
            if self.checkpoints.team.leads:
                self.checkpoints.write_if_possible()

    def last_state(self) -> State:
        """After the last complete step, in the middle of one that has not changed anything yet.

        It has drawn its random numbers, though, so the generators are as they were before.
        """
        return self._state() | self._random

    def _remember_random(self) -> None:
        random = {k: part for k, part in self.parts.items() if isinstance(part, Randomness)}
        self._random = {key: part.state_dict() for key, part in random.items()}

    def _state(self) -> State:
        return {key: part.state_dict() for key, part in self.parts.items()} | {STEPS: self.steps}


def open_checkpoints(
    folder: str | os.PathLike[str] | None,
    identity: Callable[[], dict[str, str]],
    *,
    every: float,
    resume: bool,
    stop: StopRequest | None,
    team: Team,
) -> Checkpoints:
    """The checkpoints of a run that begins or goes on, see `SMORE.fit`.

    Args:
        folder: where they are; None for a run that keeps none.
        identity: see `Checkpoints`; only computed if there is a folder.
        every, stop, team: see `Checkpoints`.
        resume: whether to take up the newest one.
    """
    if folder is None:
        if resume:
            raise SettingsError("resume needs the folder of the checkpoints")
        return Checkpoints(team=team)
    folder = Path(folder)
    if not every >= 0:
        raise SettingsError(f"checkpoint_seconds must not be negative, got {every}")
    if checkpoint_files(folder) and not resume:
        raise SettingsError(
            f"{folder} holds checkpoints of a run that was cut off; go on with it (--resume), or "
            "remove the folder to start anew"
        )
    checkpoints = Checkpoints(folder, identity(), every=every, stop=stop, team=team)
    if resume:
        checkpoints.resume()
    return checkpoints


def _copied(state: State) -> State:
    """A state that later steps do not change."""
    if isinstance(state, Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    if isinstance(state, list | tuple):
        return type(state)(_copied(value) for value in state)
    return state
