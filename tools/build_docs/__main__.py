"""`python -m build_docs [FOLDER]`: the site, or 1 if anything about it is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from build_docs import check_code, command_reference, copy_pages, name_reference, run_notebooks

ROOT = Path(__file__).parents[2]


def main() -> int:
    started = time.monotonic()
    build = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build"
    pages = build / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    problems = copy_pages(ROOT, pages)
    problems += check_code(ROOT)
    problems += command_reference(pages / "reference")
    problems += name_reference(pages / "reference")
    problems += run_notebooks(ROOT / "docs" / "gallery", pages / "docs" / "gallery")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return 1
    print(f"pages and notebooks: {time.monotonic() - started:.0f} s")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "--site-dir", build / "site"], cwd=ROOT, env=quiet, check=False
    )
    print(f"site: {build / 'site' / 'index.html'}, {time.monotonic() - started:.0f} s in all")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
