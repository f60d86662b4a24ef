"""`python loading.py < PATHS`: load files, each in a process of its own, and tell how it went.

The processes are forked from one that has loaded a valid file already, so that what they take in
memory is what the file makes them take.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch

from smore import SMORE, Trajectories
from smore.errors import SmoreError
from smore.model_file.container import CHECKPOINT, load_file
from smore_paper.measuring.fresh_process import peak_bytes, reset_peak

SECONDS = 60


def load(path: Path) -> None:
    """A file as its suffix says."""
    if path.suffix == ".checkpoint":
        load_file(path, CHECKPOINT)
    elif path.suffix == ".zarr":
        Trajectories.open(path)
    else:
        SMORE.load(path, device="cpu")


def report(path: Path) -> dict[str, Any]:
    """How loading `path` went, in this process."""
    reset_peak()
    before, started = peak_bytes(), time.monotonic()
    told: dict[str, Any] = {"path": str(path), "typed": False, "message": "it was accepted"}
    try:
        load(path)
    except BaseException as error:  # whatever it is, it is what the user would see
        told["typed"] = isinstance(error, SmoreError)
        told["message"] = f"{type(error).__name__}: {error}"
    return told | {"rise": peak_bytes() - before, "seconds": time.monotonic() - started}


def main() -> None:
    torch.set_num_threads(1)
    valid, *paths = map(Path, sys.stdin.read().splitlines())
    load(valid)
    for path in paths:
        process = os.fork()
        if process == 0:
            signal.alarm(SECONDS)
            print(json.dumps(report(path)), flush=True)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        if status:
            crash = {"path": str(path), "typed": False, "message": f"crashed, status {status}"}
            print(json.dumps(crash | {"rise": 0, "seconds": 0.0}), flush=True)


if __name__ == "__main__":
    main()
