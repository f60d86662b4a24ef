"""Trainings that are told to stop."""

import signal

from smore.runtime.interruption import StopRequest


class StopAfter(StopRequest):
    """A request to stop that comes after some steps."""

    def __init__(self, steps):
        self.steps = steps

    @property
    def signal(self):
        return signal.SIGTERM

    def __bool__(self):
        self.steps -= 1
        return self.steps < 0


def stopping(monkeypatch, steps):
    """Let fits stop after this many steps of their loops."""

    class Context:
        def __enter__(self):
            return StopAfter(steps)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr("smore.training.session.stop_requests", Context)
