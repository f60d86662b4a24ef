"""How long a drag of a sensor takes in the explorer, from the hand to the picture.

Through everything that is between them: a browser, the server of `smore explore` in a process of
its own, and the model. Time runs from the event of the mouse to the frame after the one in which
the new field was painted.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smore.data import Trajectories
from smore.errors import MissingExtraError, SettingsError
from smore.model import SMORE
from smore.waves import example

# Training pulses and snapshots of each: as many latents as default settings find worth having.
NUM_TRAIN, NUM_SNAPSHOTS = 32, 10
NUM_SENSORS = 6
# Moves that are not counted, and those that are.
WARM, MOVES = 5, 60
# The time that is shown: a forecast, not the observations themselves.
STEP = 5
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

WATCH = """() => {
  const desk = Bokeh.documents[0].get_model_by_name("field").tags[0]
  window.waits = []
  let moved = null, asked = null
  addEventListener("pointermove", () => { moved ??= performance.now() }, true)
  desk.properties.request.change.connect(() => { asked = performance.now() })
  desk.properties.turn.change.connect(() => {
    const [start, sent, answered] = [moved, asked, performance.now()]
    if (start == null) return
    requestAnimationFrame(() => requestAnimationFrame(() => {
      moved = null
      waits.push([performance.now() - start, answered - sent])
      window.painted()
    }))
  })
}"""
FRAME = """() => {
  const plot = Bokeh.documents[0].get_model_by_name("field")
  const view = [...Bokeh.index.roots].find((each) => each.model === plot)
  const place = view.canvas_view.el.getBoundingClientRect(), frame = view.frame.bbox
  return [place.x + frame.x0, place.y + frame.y0, frame.width, frame.height]
}"""


@dataclass(frozen=True)
class ExplorerDrag:
    """Milliseconds of one move of a drag.

    Attributes:
        resolution: points per axis of the model's grid, and pixels of the field.
        latents: of the model.
        sensors: that stand in the picture.
        moves: that were counted.
        median_ms, p90_ms, largest_ms: from the event of the mouse to the painted picture.
        answer_ms: the part between the request and its answer in the browser, median.
    """

    resolution: int
    latents: int
    sensors: int
    moves: int
    median_ms: float
    p90_ms: float
    largest_ms: float
    answer_ms: float


def bench_explorer(resolution: int) -> ExplorerDrag:
    """Fit waves on a grid, open the explorer in a browser, and drag a sensor.

    Raises:
        MissingExtraError: without Playwright.
        SettingsError: without a browser.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sets = example(NUM_TRAIN, 1, resolution=resolution, snapshots=NUM_SNAPSHOTS)
        training, test = map(Trajectories.from_xarray, sets)
        model = SMORE(train_length=NUM_SNAPSHOTS).fit(training, progress=False)
        model.save(folder / "wave.smore")
        test.save(folder / "test.nc")
        with _served(folder / "wave.smore", folder / "test.nc") as address:
            waits = _drag(browser, address)
    counted = waits[WARM:]
    whole = sorted(each for each, _ in counted)
    return ExplorerDrag(
        resolution,
        model.surrogate_.dynamics.dim,
        NUM_SENSORS,
        len(counted),
        statistics.median(whole),
        whole[int(0.9 * len(whole))],
        whole[-1],
        statistics.median(answer for _, answer in counted),
    )


def find_browser() -> str:
    """The browser of this machine."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise SettingsError(f"expected a browser, one of {', '.join(BROWSERS)}; install one")
    return found


@contextmanager
def _served(*files: Path) -> Iterator[str]:
    """The address of an explorer in a process of its own, with one thread."""
    words = [sys.executable, "-m", "smore", "--threads", "1", "explore", "--no-browser"]
    command = [*words, *map(str, files)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def _drag(browser: str, address: str) -> list[tuple[float, float]]:
    """Whole times and those of answers, of every move."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise MissingExtraError("playwright", "dev", "smore bench explore") from error
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": 1440, "height": 900})
        page.goto(address)
        _wait(page)
        page.locator("#count").fill(str(NUM_SENSORS - 1))
        page.locator("#more").click()
        _wait(page)
        page.locator("#step").fill(str(STEP))
        _wait(page)
        left, top, width, height = page.evaluate(FRAME)
        page.mouse.click(left + 0.2 * width, top + 0.5 * height)
        page.wait_for_timeout(500)
        _wait(page)
        page.mouse.move(left + 0.2 * width, top + 0.5 * height)
        page.mouse.down()
        page.mouse.move(left + 0.22 * width, top + 0.5 * height, steps=5)
        page.wait_for_timeout(500)
        page.evaluate(WATCH)
        for number in range(WARM + MOVES):
            page.evaluate("() => { window.next = new Promise((done) => window.painted = done) }")
            share = number / (WARM + MOVES)
            page.mouse.move(left + (0.24 + 0.5 * share) * width, top + (0.5 + 0.3 * share) * height)
            page.evaluate("() => window.next")
        page.mouse.up()
        waits = page.evaluate("waits")
        opened.close()
    return [(float(whole), float(answer)) for whole, answer in waits]


def _wait(page: Any) -> None:
    page.wait_for_timeout(50)
    page.wait_for_selector("main[aria-busy=false]")
