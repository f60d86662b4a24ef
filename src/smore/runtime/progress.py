"""Progress of long jobs: a live line on a terminal or in a notebook, else a plain one now and then.

A job of many steps shows a `ProgressLine`. Where a single step is a long pass over the points of
the data, the line also tells how far the pass is; `shown_passes` gives a line to every long pass.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self, TypeVar

import psutil
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining

from smore.runtime._notebook import notebook_line

PLAIN_LINE_EVERY = 10.0  # seconds, where there is no terminal to redraw
LONG_PASS = 2.0  # seconds; shorter ones are not worth a word
TELL_EVERY = 0.5  # seconds
NOTEBOOK_EVERY = 0.2  # seconds
BAR_WIDTH = 24

# Told how many points of a pass are done, out of how many, after how many seconds.
Listener = Callable[[int, int, float], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


Chunk = TypeVar("Chunk")


class Pass:
    """A pass over `total` points, with a word now and then to whoever shows it."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self._started = self._spoken = time.monotonic()

    def add(self, num_points: int) -> None:
        """So many more points are done."""
        self.done += num_points
        listener, now = _listener.get(), time.monotonic()
        if listener is not None and (now - self._spoken > TELL_EVERY or self.done == self.total):
            self._spoken = now
            listener(self.done, self.total, now - self._started)


def counted_pass(
    chunks: Iterable[Chunk], num_points: Callable[[Chunk], int], total: int
) -> Iterator[Chunk]:
    """The chunks of a pass over `total` points, counted."""
    count = Pass(total)
    for chunk in chunks:
        yield chunk
        count.add(num_points(chunk))


@contextmanager
def shown_passes(title: str, *, shown: bool = True) -> Iterator[None]:
    """Give every long pass while this lasts a line of its own."""
    line: ProgressLine | None = None

    def listen(done: int, total: int, seconds: float) -> None:
        nonlocal line
        if line is None and seconds > LONG_PASS and done < total:
            line = ProgressLine(f"{title}, points", total).begin()
        if line is not None:
            line.update(done, pace(done, seconds))
            if done == total:
                line.end()
                line = None

    token = _listener.set(listen if shown else None)
    try:
        yield
    finally:
        _listener.reset(token)
        if line is not None:
            line.end()


def pace(count: int, seconds: float, what: str = "points") -> str:
    """How fast a pass over the data goes, and what memory the process holds."""
    resident = psutil.Process().memory_info().rss
    return f"{count / max(seconds, 1e-9):.3g} {what}/s, {resident / 2**20:.0f} MB of memory"


class ProgressLine:
    """A counted job with a status text, shown on standard error or below the cell of a notebook.

    >>> with ProgressLine("training", 1000) as line:  # doctest: +SKIP
    ...     line.update(17, "loss 3.1e-2")
    """

    def __init__(self, title: str, total: int, *, shown: bool = True) -> None:
        self.title = title
        self.total = total
        self.shown = shown
        self.console = Console(file=sys.stderr, highlight=False)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._rewrite: Callable[[str], None] | None = None

    def __enter__(self) -> Self:
        self._token: Token[Listener | None] = _listener.set(self.tell_pass if self.shown else None)
        return self.begin()

    def begin(self) -> Self:
        """Start counting."""
        self._started = self._spoken = time.monotonic()
        self._done, self._status = 0, ""
        if self.shown and self.console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=BAR_WIDTH),
                TextColumn("{task.completed}/{task.total}"),
                TimeElapsedColumn(),
                TextColumn("eta"),
                Remaining(),
                TextColumn("{task.fields[status]}"),
                console=self.console,
            )
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total, status="")
        elif self.shown:
            self._rewrite = notebook_line()
        return self

    @property
    def seconds(self) -> float:
        """Since the job began."""
        return time.monotonic() - self._started

    def update(self, done: int, status: str = "") -> None:
        """`done` of the total are done."""
        self._done, self._status = done, status
        self._show(status)

    def tell_pass(self, done: int, total: int, seconds: float) -> None:
        """The step at hand is a pass over `total` points, of which `done` are done."""
        if seconds > LONG_PASS:
            left = seconds * (total - done) / max(done, 1)
            told = (
                f"{done / total:.0%} of {total:,} points, {pace(done, seconds)}, {left:.0f} s left"
            )
            self._show(f"{self._status}  ({told})".strip())

    def _show(self, status: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done, status=status)
            return
        now, done = time.monotonic(), self._done
        every = PLAIN_LINE_EVERY if self._rewrite is None else NOTEBOOK_EVERY
        if not self.shown or (now - self._spoken <= every and done != self.total):
            return
        self._spoken = now
        # While nothing is counted yet nobody knows how long it takes.
        eta = f", eta {self.seconds * (self.total - done) / done:.0f} s" if done else ""
        told = f"{done}/{self.total}  {self.seconds:.0f} s{eta}  {status}"
        if self._rewrite is None:
            self.console.print(f"{self.title} {told}", soft_wrap=True)
        else:
            full = round(BAR_WIDTH * done / max(self.total, 1))
            self._rewrite(f"{self.title} {'█' * full}{'░' * (BAR_WIDTH - full)} {told}")

    def end(self) -> None:
        """Stop showing."""
        if self._bar is not None:
            self._bar.stop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _listener.reset(self._token)
        self.end()
