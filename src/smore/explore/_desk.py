"""What browser and server say to each other."""

from __future__ import annotations

from bokeh.core.properties import Any, Int
from bokeh.model import DataModel


class Desk(DataModel):
    """One request at a time, and its answer.

    Attributes:
        request: what the browser asks for: `what`, its `turn`, and values.
        turn: of the request that was answered last.
        words: what changed on the page by it, by the names that the page has for its parts.
    """

    request = Any(default=None)
    turn = Int(default=0)
    words = Any(default=None)
