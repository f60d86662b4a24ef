"""Progress of long jobs: a live line on a terminal, now and then a plain one elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining

PLAIN_LINE_EVERY = 10.0  # seconds, where there is no terminal to redraw


class ProgressLine:
    """A counted job with a status text, shown on standard error.

    >>> with ProgressLine("training", 1000) as line:  # doctest: +SKIP
    ...     line.update(17, "loss 3.1e-2")
    """

    def __init__(self, title: str, total: int, *, shown: bool = True) -> None:
        self.title = title
        self.total = total
        self.shown = shown
        self.console = Console(file=sys.stderr)
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._started = self._spoken = time.monotonic()
        if self.shown and self.console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.completed}/{task.total}"),
                TimeElapsedColumn(),
                TextColumn("eta"),
                Remaining(),
                TextColumn("{task.fields[status]}"),
                console=self.console,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total, status="")
        return self

    def update(self, done: int, status: str = "") -> None:
        """`done` of the total are done."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, status=status)
            return
        now = time.monotonic()
        if self.shown and (now - self._spoken > PLAIN_LINE_EVERY or done == self.total):
            self._spoken = now
            elapsed = now - self._started
            eta = elapsed * (self.total - done) / max(done, 1)
            line = f"{self.title} {done}/{self.total}  {elapsed:.0f} s, eta {eta:.0f} s  {status}"
            self.console.print(line, highlight=False, soft_wrap=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
