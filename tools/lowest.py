"""Constraints that take every dependency at its lower bound, to test that the bounds hold.

python tools/lowest.py [EXTRA ...] > lowest.txt
pip install torch==2.13.0                      # where an index has no older one
pip install -c lowest.txt . pytest hypothesis scikit-learn
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")
# The one that can be had here is newer than the bound, which is therefore not tested.
UNTESTED = ("torch",)


def lowest(pyproject: str, extras: list[str]) -> list[str]:
    """Pins of the lower bounds of all dependencies, and of those of some extras."""
    project = tomllib.loads(pyproject)["project"]
    needed = list(project["dependencies"])
    for extra in extras:
        needed += project["optional-dependencies"][extra]
    bounds = [REQUIREMENT.fullmatch(each) for each in needed]
    return [f"{each[1]}=={each[2]}" for each in bounds if each and each[1] not in UNTESTED]


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    print("\n".join(lowest((root / "pyproject.toml").read_text(encoding="utf-8"), sys.argv[1:])))
