"""Measured results as rows of a CSV file, with all it takes to measure them again."""

from __future__ import annotations

import csv
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from smore.evaluation import Evaluation
from smore.model import SMORE
from smore_paper.fast_products import are_products_fast

# A path from the root or home: "/tmp/a", "wave=~/a", "C:\\a", but not "1 / 2", "and/or", "https://a".
_FROM_ROOT = re.compile(r"(?<![\w.~/\\])(?:[A-Za-z]:\\|~?/(?=[\w.~]))[^\s'\"();,]*")


SCORES = ("in_horizon_mse", "extrapolation_mse", "full_mse", "persistence_mse", "decoder_mse")


def append_result(
    path: Path, model: SMORE, evaluation: Evaluation, *, dataset: str, preset: str
) -> None:
    """Append the scores of `model` on a benchmark's test set."""
    description = model.surrogate_.description
    append_row(
        path,
        {
            "dataset": dataset,
            "model": preset or description.settings.dynamics,
            "recipe": description.settings.recipe,
            "seed": description.settings.seed,
            "selection": description.training.selection,
            "epochs": description.training.epochs_run,
            **{name: getattr(evaluation, name) for name in SCORES},
            "parameters": model.num_parameters,
            "seconds": round(description.training.seconds, 1),
        },
    )


def append_row(path: Path, row: dict[str, Any]) -> None:
    """Append `row` and its provenance; the columns of an existing file are kept.

    What a row says is for other machines, too: see `portable`.
    """
    row = {
        name: portable(value) if isinstance(value, str) else value
        for name, value in (row | provenance()).items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    if not new:
        with path.open(newline="") as file:
            columns = next(csv.reader(file))
        if set(columns) != set(row):
            raise ValueError(f"{path} has the columns {columns}, the new row has {list(row)}")
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(row) if new else columns)
        if new:
            writer.writeheader()
        writer.writerow(row)


def provenance() -> dict[str, str]:
    """Commit, machine and command of this run, as it can be typed anywhere."""
    program = Path(sys.argv[0]).name.replace("__main__.py", "smore")  # python -m smore
    command = shlex.join([program, *map(portable, sys.argv[1:])])
    return {"commit": commit(), "machine": machine(), "command": command}


def portable(text: str) -> str:
    """`text` without folders of this machine.

    Paths from the root become relative to the working directory where they are inside it; of others
    the name is left.
    """
    return _FROM_ROOT.sub(lambda match: _without_folders(match[0]), text)


def _without_folders(path: str) -> str:
    here = Path.cwd()
    if Path(path).is_relative_to(here):
        return Path(path).relative_to(here).as_posix()
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1] or "."


def machine() -> str:
    """What this ran on."""
    told = f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads"
    return f"{told}, products by oneDNN" if are_products_fast() else told


def commit() -> str:
    """The commit of the checkout this package runs from, or its version.

    Its code counts; rows of results and words may have changed since.
    """
    shown = _git("describe", "--always", "--exclude", "*")
    if shown is None:
        from smore import __version__

        return f"smore {__version__}"
    return f"{shown}-dirty" if _git("status", "--porcelain", "--", ":/src", ":/tools") else shown


def _git(*command: str) -> str | None:
    """What git prints about this file's checkout; None if it is in none."""
    folder = Path(__file__).parent
    told = subprocess.run(
        ["git", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() if told.returncode == 0 else None
