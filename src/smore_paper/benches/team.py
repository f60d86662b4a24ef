"""Epochs of one training shared by several processes, against one process: `smore bench scaling`.

Each process has one thread, so what is compared is one core with several.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from smore.data import Trajectories
from smore.runtime import Team, team
from smore.training import Algorithm1, prepare
from smore_paper.measuring.generated import Generated
from smore_paper.measuring.one_epoch import epoch_seconds, fresh_run
from smore_paper.presets import preset_settings

PROCESSES = (1, 2)
# Large enough that points, not processes, are what takes time.
DATA = Generated(grid=256, sequences=4, snapshots=20)
SETTINGS = preset_settings(
    "ns-lrlq", recipe="paper", train_length=20, validation_fraction=0.0, chunk_size=4096
)
EPOCHS = 5
TIMEOUT = 1800.0


@dataclass(frozen=True)
class TeamBench:
    """Seconds of an epoch, by the number of processes that share it, one thread each.

    Attributes:
        speedup: of the most processes against one.
    """

    points: int
    processes: tuple[int, ...]
    seconds: tuple[float, ...]
    speedup: float


def bench_team(processes: Sequence[int] = PROCESSES) -> TeamBench:
    """Measure one team after the other."""
    seconds = tuple(team_seconds(number) for number in processes)
    return TeamBench(DATA.points, tuple(processes), seconds, seconds[0] / seconds[-1])


def team_seconds(num_processes: int) -> float:
    """Seconds of the fastest epoch that this many processes share."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "seconds.json"
        launcher = ["-m", "torch.distributed.run", "--standalone"]
        launcher += [f"--nproc-per-node={num_processes}", "-m", __name__, str(result)]
        subprocess.run(
            [sys.executable, *launcher],
            check=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            timeout=TIMEOUT,
        )
        return float(json.loads(result.read_text()))


def measure(result: Path) -> None:
    """What each of the processes does; the first one writes what it found."""
    torch.set_num_threads(1)
    device = torch.device("cpu")
    with team(device) as members:
        run = _run(members, device)
        seconds = [epoch_seconds(run) for _ in range(1 + EPOCHS)]
        if members.leads:
            result.write_text(json.dumps(min(seconds[1:])))


def _run(members: Team, device: torch.device) -> Algorithm1:
    data = Trajectories.from_xarray(DATA.dataset())
    prepared = prepare(data, None, SETTINGS, device, team=members)
    return fresh_run(prepared, prepared.settings)


if __name__ == "__main__":
    measure(Path(sys.argv[1]))
