"""An explorer as somebody at a page would use it: without a browser, and with one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from smore.explore._explorer import Explorer


def rows_of(explorer: Explorer) -> list[tuple[int, list[float]]]:
    """Sensors as a picture has them."""
    return [(row.number, explorer.drawn(row).tolist()) for row in explorer.sensors.rows]


def placed(explorer: Explorer, *places: tuple[float, float]) -> Explorer:
    """Sensors where somebody clicked."""
    explorer.draw_sensors(rows_of(explorer) + [(0, list(place)) for place in places])
    return explorer


def forecast_at(explorer: Explorer, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and deviations (times, channels) of `SMORE.forecast` at one point, at all steps."""
    observed = explorer.sensors.observations(explorer.description, explorer.start)
    times = explorer.description.clock.to_values(explorer.instants)
    found = explorer.model.forecast(observed, times, points=point[None], noise=explorer.told_noise)
    names = [channel.name for channel in explorer.description.channels]
    values, deviations = (
        np.stack([found[name + end].values.reshape(len(times)) for name in names], axis=1)
        for end in ("", "_std")
    )
    return values, deviations


@contextmanager
def served(*arguments: Any) -> Iterator[str]:
    """The address of `smore explore` with these arguments, while it runs."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "smore", "--threads", "1", "explore", "--no-browser"]
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    try:
        assert address.startswith("http://127.0.0.1:"), process.communicate()[1]
        yield address
    finally:
        process.terminate()
        process.communicate()


class Visitor:
    """Somebody with a browser at a page of an explorer.

    Args:
        page: of Playwright.
        address: of the explorer.
    """

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text) if message.type in ("error", "warning") else 0
            ),
        )
        page.goto(address)
        self.wait()

    def wait(self) -> None:
        """Until everything that was asked for is there."""
        self.page.wait_for_selector("main[aria-busy=false]")

    def text(self, word: str) -> str:
        return self.page.locator(f'[data-word="{word}"]').first.inner_text()

    def on_screen(self, plot: str, x: float, y: float) -> tuple[float, float]:
        """Where a point of a picture is on the screen."""
        self.page.evaluate("scrollTo(0, 0)")
        left, top, width, height, x0, x1, y0, y1 = self.page.evaluate(
            """(name) => {
                const plot = Bokeh.documents[0].get_model_by_name(name)
                const view = [...Bokeh.index.roots].find((each) => each.model === plot)
                const place = view.canvas_view.el.getBoundingClientRect(), frame = view.frame.bbox
                const {x_range: x, y_range: y} = plot
                return [place.x + frame.x0, place.y + frame.y0, frame.width, frame.height,
                        x.start, x.end, y.start, y.end]
            }""",
            plot,
        )
        return left + (x - x0) / (x1 - x0) * width, top + (y1 - y) / (y1 - y0) * height

    def click(self, plot: str, x: float, y: float) -> None:
        self.page.mouse.click(*self.on_screen(plot, x, y))
        self.page.wait_for_timeout(400)  # a second click would be a double one
        self.wait()

    def drag(self, plot: str, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.page.mouse.move(*self.on_screen(plot, *start))
        self.page.mouse.down()
        self.page.mouse.move(*self.on_screen(plot, *end), steps=8)
        self.page.mouse.up()
        self.page.wait_for_timeout(50)
        self.wait()

    def slide(self, step: int) -> None:
        """Move the time."""
        self.page.locator("#step").fill(str(step))
        self.wait()

    def fill(self, selector: str, text: str) -> None:
        """Type, and go on to the next field."""
        self.page.locator(selector).fill(text)
        self.page.locator(selector).press("Tab")
        self.wait()

    def press(self, selector: str) -> None:
        self.page.locator(selector).click()
        self.wait()

    def download(self, selector: str, folder: Path) -> Path:
        with self.page.expect_download() as coming:
            self.page.locator(selector).click()
        path = folder / coming.value.suggested_filename
        coming.value.save_as(path)
        return path
