"""Files made to do harm: none is executed, none is accepted, none takes more memory than it may."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import loading
from hostile_files import make_files
from outcomes import Outcome, judge

ASKED = "0 executed, all refused by name, memory below twice the file size plus 100 MB"
ALLOWED = 100e6
ALL = 50  # cases that stand for all files there are
LARGE, SMALL = 2**27, 2**23


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Load hostile files in processes of their own: all there are, or `count` if that is less."""
    marker = folder / "executed"
    paths = make_files(folder, marker, LARGE if count >= ALL else SMALL)
    if count < ALL:
        paths = random.Random(seed).sample(paths, count)
    reports = _reports(folder / "valid.smore", paths)
    cases = [(path.name, partial(_fault, path, reports, marker)) for path in paths]
    rises = [report["rise"] / 1e6 for report in reports.values()]
    return judge("hostile files", ASKED, cases, executed=marker.exists(), most_mb=max(rises))


def _reports(valid: Path, paths: list[Path]) -> dict[str, dict[str, Any]]:
    """What `loading` tells about each path."""
    done = subprocess.run(
        [sys.executable, loading.__file__],
        input="\n".join(map(str, [valid, *paths])),
        capture_output=True,
        text=True,
        check=True,
    )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    return {report["path"]: report for report in reports}


def _fault(path: Path, reports: dict[str, dict[str, Any]], marker: Path) -> str | None:
    if marker.exists():
        return "something was executed"
    report = reports[str(path)]
    if not report["typed"] or path.name not in report["message"]:
        return report["message"][:200]
    if report["rise"] > 2 * _size(path) + ALLOWED:
        return f"took {report['rise'] / 1e6:.0f} MB for a file of {_size(path) / 1e6:.1f} MB"
    return None


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
