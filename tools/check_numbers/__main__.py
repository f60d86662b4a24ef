"""`python -m check_numbers`: 1 if a number in README or docs is wrong or has no source."""

from __future__ import annotations

import sys
from pathlib import Path

from check_numbers.check import check_repository


def main() -> int:
    found, compared = check_repository(Path(__file__).parents[2])
    for page, problems in found.items():
        for problem in problems:
            print(f"{page}:{problem.line}: {problem.what}", file=sys.stderr)
    wrong = sum(map(len, found.values()))
    print(f"{compared} figures of {len(found)} pages compared with their source, {wrong} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
