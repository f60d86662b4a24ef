"""What a browser may ask for: names and numbers, each checked before anything is done."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from smore.errors import SettingsError
from smore.explore._pictures import BESIDE, NUM_MODES, NUM_UNSEEN

if TYPE_CHECKING:
    from smore.explore._page import Page

# How much of a page a request may change: pictures while a sensor moves, what is shown, or all.
MOVING, SHOWN, ALL = 0, 1, 2


def done(page: Page, request: dict[str, Any]) -> int:
    """Do what a request asks for, and say how much of the page that may change.

    Raises:
        SmoreError: it cannot be done.
        KeyError, TypeError, ValueError, OverflowError: nothing of that kind can be asked for.
    """
    return REQUESTS[request["what"]](page, request.get("value"))


def _draw(page: Page, value: Any) -> int:
    rows = [(int(number), [float(x), float(y)]) for number, x, y in value["rows"]]
    moving = bool(value["moving"])
    if not page.explorer.following:
        page.explorer.draw_sensors(rows, moving=moving)
    return MOVING if moving else ALL


def _step(page: Page, value: Any) -> int:
    last = len(page.explorer.shown.instants) - 1
    page.explorer.step = int(np.clip(int(value), 0, last))
    return SHOWN


def _channel(page: Page, value: Any) -> int:
    page.explorer.channel = int(np.clip(int(value), 0, page.explorer.surrogate.num_channels - 1))
    return ALL


def _beside(page: Page, value: Any) -> int:
    what, number = str(value[0]), int(value[1])
    page.beside = BESIDE[BESIDE.index(what)]
    page.number = int(np.clip(number, 1, max(NUM_MODES, NUM_UNSEEN)))
    return ALL


def _mark(page: Page, value: Any) -> int:
    page.explorer.view.mark(np.array([float(x) for x in value]))
    return ALL


def _edit(page: Page, value: Any) -> int:
    number, column, text = int(value[0]), int(value[1]), str(value[2]).strip()
    if column < 0:
        raise ValueError(column)
    page.explorer.edit(number, column, _number(text) if text else math.nan)
    return ALL


def _noise(page: Page, value: Any) -> int:
    text = str(value).strip()
    page.explorer.tell_noise(page.explorer.channel, _number(text) if text else None)
    return ALL


def _start(page: Page, value: Any) -> int:
    page.explorer.start_at(str(value))
    return ALL


def _source(page: Page, value: Any) -> int:
    page.explorer.follow(value == "stream")
    if page.explorer.following and page.beside == "unseen":
        page.beside = BESIDE[0]  # a question about sensors
    return ALL


def _snapshot(page: Page, value: Any) -> int:
    page.explorer.start_from(int(value[0]), int(value[1]))
    return ALL


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SettingsError(f"expected a number, got {text[:40]!r}")
    return number


def _does(change: Callable[[Page, Any], None]) -> Callable[[Page, Any], int]:
    def run(page: Page, value: Any) -> int:
        change(page, value)
        return ALL

    return run


REQUESTS: dict[str, Callable[[Any, Any], int]] = {
    "draw": _draw,
    "step": _step,
    "channel": _channel,
    "beside": _beside,
    "mark": _mark,
    "edit": _edit,
    "noise": _noise,
    "start": _start,
    "snapshot": _snapshot,
    "ahead": _does(lambda page, value: page.explorer.look_ahead(int(value))),
    "height": _does(lambda page, value: page.explorer.view.cut_at(float(value))),
    "remove": _does(lambda page, value: page.explorer.remove(int(value))),
    "more": _does(lambda page, value: page.explorer.place_more(int(value))),
    "values": _does(lambda page, value: page.explorer.take_values(value == "data")),
    "measured": _does(
        lambda page, value: page.explorer.measure_channels([int(each) for each in value])
    ),
    "again": _does(lambda page, value: page.explorer.draw_noise()),
    "source": _source,
}
