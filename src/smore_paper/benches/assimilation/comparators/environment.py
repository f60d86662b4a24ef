"""Programs of other people's libraries, run by the Python of the environment that has them.

Their dependencies contradict ours and each other's, so they never enter our environment: `make
comparators` creates one for each. What they find comes back as plain arrays.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from numpy.typing import NDArray

from smore.errors import SettingsError

PROGRAMS = {"dapper": "run_dapper.py", "pyshred": "run_pyshred.py"}
# Libraries of linear algebra take their number of threads from these.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_comparator(
    environments: Path, library: str, *arguments: str | int
) -> dict[str, NDArray[np.float64]]:
    """The arrays that the program of a library writes, with as many threads as here.

    Raises:
        SettingsError: there is no such environment, or the program failed.
    """
    python = environments.absolute() / library / "bin" / "python"
    if not python.exists():
        raise SettingsError(
            f"there is no environment with {library} in {environments}; create it: make comparators"
        )
    program = Path(__file__).parent / PROGRAMS[library]
    threads = dict.fromkeys(THREADS, str(torch.get_num_threads()))
    with TemporaryDirectory() as scratch:
        out = Path(scratch) / "found.npz"
        surroundings = os.environ | threads | {"HOME": scratch, "MPLBACKEND": "agg"}
        surroundings.pop("PYTHONPATH", None)
        command = [str(each) for each in (python, program, *arguments, out)]
        done = subprocess.run(
            command, cwd=scratch, env=surroundings, capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise SettingsError(f"{program.name} failed in {environments / library}: {last}")
        with np.load(out, allow_pickle=False) as found:
            return {name: found[name] for name in found}
