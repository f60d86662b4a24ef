"""What a check of the torture harness says, and how it comes to say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

# A case is a name and a function that returns what went wrong, or None.
Case = tuple[str, Callable[[], str | None]]


@dataclass(frozen=True)
class Outcome:
    """The result of one check.

    Args:
        name: of the check.
        asked: what has to hold, in words.
        cases: how many there were.
        passed: how many of them went as asked.
        failures: one line for each of the others.
        seconds: how long it took; known to whoever runs the check.
        details: numbers worth knowing.
    """

    name: str
    asked: str
    cases: int
    passed: int
    failures: tuple[str, ...]
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return self.cases > 0 and self.passed == self.cases


def judge(name: str, asked: str, cases: Iterable[Case], **details: Any) -> Outcome:
    """Run every case; an exception that it does not expect is a failure too."""
    failures, count = [], 0
    for label, case in cases:
        count += 1
        try:
            fault = case()
        except Exception as error:
            fault = f"{type(error).__name__}: {str(error)[:200]}"
        if fault is not None:
            failures.append(f"{label}: {fault}")
    return Outcome(name, asked, count, count - len(failures), tuple(failures), details=details)


def refusal(action: Callable[[], Any], expected: type[Exception], *named: str) -> str | None:
    """None if `action` is refused with `expected` and a message that names all of `named`."""
    try:
        action()
    except expected as error:
        missing = [word for word in named if word not in str(error)]
        return f"the message does not name {', '.join(missing)}: {error}" if missing else None
    return f"accepted, not refused with {expected.__name__}"
