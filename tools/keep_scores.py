"""`keep_scores.py SCORE.PY RESULTS.CSV [OPTION ...]`: run a scorer of records, keep its rows.

The scorer prints a table and writes the same as JSON; its rows go to a file of results with the
commit, the machine and the command that measures them again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from smore_paper.results import append_row


def main(scorer: str, results: str, *options: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        scores = Path(folder) / "scores.json"
        subprocess.run([sys.executable, scorer, *options, "--json", str(scores)], check=True)
        for row in json.loads(scores.read_text())["rows"]:
            append_row(Path(results), row)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
