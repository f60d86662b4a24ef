"""Ctrl-C and SIGTERM as a request to stop at the next good moment."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether someone asked to stop, and by which signal.

    Attributes:
        signal: its number, None as long as nobody asked.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def __bool__(self) -> bool:
        return self.signal is not None


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """While this lasts, the first signal is a request; a second one acts at once, as usual.

    Signals can be handled in the main thread alone; elsewhere nothing changes. A signal that is
    ignored, as Ctrl-C is in a shell's background jobs, stays so.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    usual = {number: handler for number, handler in usual.items() if handler != signal.SIG_IGN}

    def note(number: int, frame: FrameType | None) -> None:
        request.signal = number
        for each, handler in usual.items():
            signal.signal(each, handler)
        print(
            "\nstopping after this step, with a checkpoint; once more to stop at once",
            file=sys.stderr,
        )

    for number in usual:
        signal.signal(number, note)
    try:
        yield request
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
