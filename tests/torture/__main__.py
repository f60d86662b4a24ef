"""`python tests/torture`: what must not happen, tried a thousand times, as a table or as JSON."""

from __future__ import annotations

import os
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
sys.path.insert(0, str(Path(__file__).parents[1]))  # what the tests share

import argparse  # noqa: E402
import dataclasses  # noqa: E402
import tempfile  # noqa: E402

import torch  # noqa: E402
from checks import CHECKS, run  # noqa: E402
from outcomes import Outcome  # noqa: E402
from rich.table import Table  # noqa: E402

from smore.cli.output import console, error_console, print_json, show  # noqa: E402

MOST_FAILURES = 20


def main() -> int:
    """Run the checks; 0 if all of them went as asked."""
    options = _options()
    torch.set_num_threads(1)
    outcomes = []
    for name in options.only or CHECKS:
        with tempfile.TemporaryDirectory(prefix="smore-torture-") as folder:
            outcomes.append(run(name, options.scale, options.seed, Path(folder)))
    if options.json:
        print_json([dataclasses.asdict(outcome) for outcome in outcomes])
    else:
        _print(outcomes)
    return 0 if all(outcome.good for outcome in outcomes) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/torture", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the outcomes as JSON")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases (default: 1)")
    parser.add_argument("--only", action="append", choices=CHECKS, help="this check; may repeat")
    parser.add_argument("--seed", type=int, default=0, help="of every random choice")
    return parser.parse_args()


def _print(outcomes: list[Outcome]) -> None:
    table = Table("check", "asked", title="Torture", title_justify="left", header_style="bold")
    for column in ("cases", "passed", "failed", "seconds"):
        table.add_column(column, justify="right", no_wrap=True)
    for each in outcomes:
        numbers = (each.cases, each.passed, len(each.failures), each.seconds)
        table.add_row(each.name, each.asked, *map(show, numbers))
    console.print(table)
    for each in outcomes:
        for name, value in each.details.items():
            console.print(f"{each.name}, {name.replace('_', ' ')}: {show(value)}", highlight=False)
        for failure in each.failures[:MOST_FAILURES]:
            error_console.print(f"{each.name}: {failure}", markup=False, highlight=False)


if __name__ == "__main__":
    sys.exit(main())
