"""Headers changed at random: read rightly or refused, against an oracle that knows the layout."""

from __future__ import annotations

import random
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

from outcomes import Outcome, judge

sys.path.append(str(Path(__file__).parents[1] / "data" / "reading"))

from mutations import Mutant, fault, mutant

ASKED = "never a wrong reading with exit code 0, never a traceback"
PER_COMMAND = 100  # cases for each run of the command line, which takes seconds to start


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Try `count` headers in files, some of them on the command line too."""
    chance = random.Random(seed)
    made = [mutant(chance) for _ in range(count)]
    commands = made[:: max(PER_COMMAND, 1)]
    cases = [(_label(each), partial(_case, each, folder)) for each in made]
    cases += [
        (f"smore data info: {_label(each)}", partial(_command, each, folder)) for each in commands
    ]
    return judge("headers", ASKED, cases, commands=len(commands))


def _label(made: Mutant) -> str:
    return f"{made.base}: {', '.join(made.story)}"


def _case(made: Mutant, folder: Path) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fault(made, folder / "file.nc")


def _command(made: Mutant, folder: Path) -> str | None:
    path = folder / "file.nc"
    path.unlink(missing_ok=True)
    wrong = _case(made, folder)
    if wrong is not None or not path.exists():
        return wrong
    command = [sys.executable, "-m", "smore", "--threads", "1", "data", "info", path.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    refused = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    if (
        done.returncode not in (0, 2)
        or "Traceback" in done.stderr
        or (done.returncode and not refused)
    ):
        return f"exit code {done.returncode}: {done.stderr[:200]}"
    return None
