"""Many independent simulations at once, on a pool of threads."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from smore.errors import DivergenceError

Progress = Callable[[int, int, str], None]
"""Called as progress(done, total, description), always in the caller's thread."""

Member = TypeVar("Member")
Snapshots = NDArray[np.float32]

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True)
class Ensemble:
    """Runs the members of an ensemble side by side; the result does not depend on how many.

    Threads rather than processes: the transforms release the interpreter lock, so threads keep the
    cores busy, and a script needs no `if __name__ == "__main__"` to load a data set.

    Args:
        workers: threads; None takes one per core.
        progress: told how far the ensemble is; an exception it raises ends the simulation.
    """

    workers: int | None = None
    progress: Progress | None = None

    def record(
        self,
        trajectory: Callable[[Member], Iterator[Snapshots]],
        members: Sequence[Member],
        *,
        intervals: int,
        keep: int,
        description: str,
    ) -> list[Snapshots]:
        """The last `keep` of the first `intervals` snapshots of every member's trajectory.

        Args:
            trajectory: the snapshots of one member, in time.
            members: what tells one simulation from the next.
            intervals: snapshots to simulate per member.
            keep: snapshots to keep per member.
            description: what is being simulated, for people.

        Returns:
            One array (keep, ...) per member.

        Raises:
            DivergenceError: a simulation turned non-finite.
        """
        done = [0] * len(members)
        stopped = Event()

        def run(index: int) -> Snapshots:
            kept: deque[Snapshots] = deque(maxlen=keep)
            with np.errstate(over="ignore", invalid="ignore"):
                for snapshot in islice(trajectory(members[index]), intervals):
                    if stopped.is_set():
                        break
                    _require_finite(snapshot, description, done[index])
                    kept.append(snapshot)
                    done[index] += 1
            return np.stack(kept)

        with ThreadPoolExecutor(self.workers or os.cpu_count()) as pool:
            futures = [pool.submit(run, index) for index in range(len(members))]
            try:
                pending = set(futures)
                while pending:
                    finished, pending = wait(pending, SECONDS_BETWEEN_REPORTS, FIRST_COMPLETED)
                    for future in finished:
                        future.result()
                    if self.progress is not None:
                        self.progress(sum(done), intervals * len(members), description)
            except BaseException:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return [future.result() for future in futures]


def _require_finite(snapshot: Snapshots, description: str, interval: int) -> None:
    if not np.isfinite(snapshot).all():
        raise DivergenceError(
            f"{description}: the simulation turned non-finite at snapshot {interval}; "
            "choose a smaller solver_step, a finer resolution or more dissipation",
            part=description,
        )
