"""Fits that are killed without warning, again and again, until they are done all the same.

Every fit runs in a forked child that writes a checkpoint after each step and resumes from what the
one before left. Checkpoints are looked at after every kill, whole models when a fit has made it.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch
from outcomes import Case, Outcome, judge

from smore import SMORE
from smore.errors import ModelFileError
from smore.model_file.container import CHECKPOINT, load_file
from smore.training.checkpoints.files import checkpoint_files
from waves import trajectories

ASKED = "no unreadable checkpoint, final weights bit-identical to the uninterrupted run"
SIZES = {"latent_dim": 6, "hidden_dim": 12, "num_hidden": 2, "frequency_scale": 64.0}
RECIPES = (
    SIZES | {"recipe": "paper", "dynamics": "lrlq", "rank": 2, "epochs": 60, "fit_steps": 5},
    SIZES | {"decoder_steps": 60, "dynamics_steps": 1},
    SIZES | {"dynamics": "lrlq", "rank": 2, "decoder_steps": 30, "dynamics_steps": 30},
)
LONGEST = 0.4  # seconds that a child may live
DEADLINE = 120.0  # seconds without a kill or a result: something hangs


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Kill fits `count` times."""
    torch.optim.Adam([torch.zeros(1)])  # imports for seconds: once, not in every child
    killer = _Killer(count, random.Random(seed), folder)
    outcome = judge("kills", ASKED, killer.cases())
    outcome.details.update(
        kills=killer.kills, inside_a_save=killer.inside, finished_fits=killer.finished
    )
    return outcome


class _Killer:
    """Fits one recipe after the other until `count` kills are done."""

    def __init__(self, count: int, chance: random.Random, folder: Path) -> None:
        self.count, self.chance, self.folder = count, chance, folder
        self.kills = self.inside = self.finished = 0

    def cases(self) -> Iterator[Case]:
        """A case for every child, whether it is killed or finishes."""
        for number, settings in enumerate(itertools.cycle(RECIPES)):
            whole = self.folder / f"whole-{number % len(RECIPES)}.smore"
            if not whole.exists():
                _wait(_start(settings, whole.with_suffix(".checkpoints"), whole))
            run, result = self.folder / "run", self.folder / "result.smore"
            while not result.exists():
                yield f"kill {self.kills + 1}", partial(self._attempt, settings, run, result)
            yield f"result of fit {number}", partial(_compare, result, whole)
            self.finished += 1
            result.unlink()
            shutil.rmtree(run)
            if self.kills >= self.count:
                return

    def _attempt(self, settings: dict[str, object], run: Path, result: Path) -> str | None:
        """One child's life: killed at a random time, unless all kills are done."""
        before = _temporary(run)
        child = _start(settings, run, result)
        if self.kills < self.count:
            time.sleep(self.chance.uniform(0, LONGEST))
            if self.chance.random() < 0.5:
                _wait_for_a_save(run, before)
            os.kill(child, signal.SIGKILL)
        status = _wait(child)
        if os.WIFEXITED(status):
            return None if os.WEXITSTATUS(status) == 0 else "the fit failed"
        self.kills += 1
        # A temporary file is what a kill inside a save leaves behind.
        self.inside += bool(_temporary(run) - before)
        return _unreadable(run)


def _start(settings: dict[str, object], run: Path, result: Path) -> int:
    """Fit in a child process; its number."""
    child = os.fork()
    if child:
        return child
    try:
        model = SMORE(**settings)
        data = trajectories(6, 5, num_points=60)
        model.fit(data, checkpoints=run, checkpoint_seconds=0, resume=True, progress=False)
        model.save(result)
        os._exit(0)
    finally:
        os._exit(1)


def _wait(child: int) -> int:
    """The status that a child ends with."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise TimeoutError("a fit hangs")


def _temporary(run: Path) -> set[str]:
    """Files that are being written, or were when their process was killed."""
    return {path.name for path in run.glob(".*")}


def _wait_for_a_save(run: Path, before: set[str]) -> None:
    """Until a child is in the middle of one, but not for long."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end and not _temporary(run) - before:
        pass


def _unreadable(run: Path) -> str | None:
    for path in checkpoint_files(run):
        try:
            load_file(path, CHECKPOINT)
        except ModelFileError as error:
            return str(error)
    return None


def _compare(result: Path, whole: Path) -> str | None:
    """Whether two models have the same tensors; times of training may differ."""
    ours, theirs = (load_file(path)[0] for path in (result, whole))
    if ours.keys() != theirs.keys():
        return "other tensors than the uninterrupted run"
    differ = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    return f"{', '.join(differ)} differ from the uninterrupted run" if differ else None
