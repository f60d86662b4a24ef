"""The page in a browser: numbers are those of the model, keys do what the mouse does."""

import re

import numpy as np
import pytest

from reported import HOSTILE, planted_report

POINT = re.compile(r"(-?[\d.]+(?:e-?\d+)?)(?:,|$)")


class Opened:
    """A page, and everything the browser complained about."""

    def __init__(self, browser, path, **how):
        self.context = browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | how))
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", lambda said: self.complaints.append(said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.requests = []
        self.page.on("request", lambda asked: self.requests.append(asked.url))
        self.page.goto(f"file://{path}")

    def text(self, identifier):
        return self.page.locator(f"#{identifier}").inner_text()

    def number(self, kind):
        """A number at the chosen point, as it is written there."""
        return re.match(r"-?[\d.]+(?:e-?\d+)?", self.text(f"value-{kind}"))[0]

    def place(self):
        return [float(each) for each in POINT.findall(self.text("value-place"))]

    def go(self, frame):
        """Move the slider as a reader does without a mouse."""
        self.page.locator("#time").focus()
        self.page.keyboard.press("Home")
        for _ in range(frame):
            self.page.keyboard.press("ArrowRight")


@pytest.fixture
def opened(browser, tmp_path):
    """A function that opens a page; nothing may have gone wrong when the test is over."""
    pages = []

    def of(html, **how):
        path = tmp_path / f"report{len(pages)}.html"
        path.write_text(html, encoding="utf-8")
        pages.append(Opened(browser, path, **how))
        return pages[-1]

    yield of
    for each in pages:
        assert each.complaints == []
        # Nothing but the file itself, and pictures that are written out in it.
        assert [url for url in each.requests[1:] if not url.startswith("data:image/png")] == []
        each.context.close()


def digits(shown):
    """What one unit of the last digit is."""
    mantissa, _, exponent = shown.partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def check_number(shown, value):
    """`shown` is `value`, rounded to its digits; at least three of them."""
    unit = digits(shown)
    assert abs(float(shown) - value) <= 0.5 * unit * (1 + 1e-6)
    assert round(value / unit) == round(float(shown) / unit)


def values_at(reported, point, frame):
    """Truth, forecast and standard deviation of all channels at a point of the mesh."""
    truth = reported.truth.sequences[reported.sequence].fields[frame, :, point]
    names = [channel.name for channel in reported.truth.channels]
    at = {
        name: reported.forecast[name].values.reshape(len(reported.forecast["time"]), -1)
        for name in (*names, *(f"{name}_std" for name in names))
    }
    return [
        {
            "truth": float(truth[number]),
            "forecast": float(at[name][frame, point]),
            "error": float(at[name][frame, point]) - float(truth[number]),
            "deviation": float(at[f"{name}_std"][frame, point]),
        }
        for number, name in enumerate(names)
    ]


def nearest(reported, place, columns):
    coords = reported.truth.sequences[reported.sequence].mesh.coords[:, columns]
    return int(((coords - place) ** 2).sum(axis=1).argmin())


@pytest.mark.parametrize("frame", [0, 3, 8])
def test_numbers_at_a_point_are_those_of_the_forecast(opened, on_grid, frame):
    page = opened(on_grid.page)
    page.go(frame)
    page.page.locator("#panel-error").click(position={"x": 31, "y": 77})
    point = nearest(on_grid, page.place(), [0, 1])
    for channel, values in enumerate(values_at(on_grid, point, frame)):
        page.page.locator("#channel").select_option(str(channel))
        for kind, value in values.items():
            check_number(page.number(kind), value)


def test_the_numbers_of_a_frame_are_means_over_the_mesh(opened, on_grid):
    page = opened(on_grid.page)
    page.go(5)
    truth = on_grid.truth.sequences[on_grid.sequence]
    known = truth.observed[5, 0]
    first, now = truth.fields[0, 0][known], truth.fields[5, 0][known]
    forecast = on_grid.forecast[HOSTILE].values[0, 5].ravel()[known]
    told = page.text("numbers")
    assert f"rms error {np.sqrt(np.mean((forecast - now) ** 2)):.4g} " in told
    assert f"persistence {np.sqrt(np.mean((first - now) ** 2)):.4g} " in told
    deviation = on_grid.forecast[f"{HOSTILE}_std"].values[0, 5].ravel()[known]
    inside = np.mean(np.abs(forecast - now) <= 1.6448536 * deviation)
    assert f"{inside:.0%} of the true values" in told
    assert page.text("moment") == "2.5 s, step 5"


def test_arrow_keys_choose_the_next_point(opened, on_grid):
    page = opened(on_grid.page)
    page.page.locator("#panel-truth").click(position={"x": 100, "y": 120})
    page.page.locator("#panel-forecast").focus()
    begin = page.place()
    steps = {"ArrowRight": (2 / 21, 0), "ArrowUp": (0, 2 / 17), "ArrowLeft": (-2 / 21, 0)}
    for key, step in steps.items():
        page.page.keyboard.press(key)
        np.testing.assert_allclose(page.place(), np.add(begin, step), atol=1e-4)
        begin = page.place()
    point = nearest(on_grid, begin, [0, 1])
    check_number(page.number("forecast"), values_at(on_grid, point, 0)[0]["forecast"])


def test_land_is_blank_in_every_map(opened, on_grid):
    page = opened(on_grid.page)
    page.go(4)
    opacity = """(id) => {
        const canvas = document.getElementById(id);
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return Array.from(data.filter((_, i) => i % 4 === 3));
    }"""
    for kind in ("truth", "forecast", "error", "deviation"):
        shown = page.page.evaluate(f"({opacity})('panel-{kind}')")
        image = np.array(shown).reshape(18, 22)[::-1]  # upwards
        assert (image[3:6, 10:14] == 0).all()
        assert (image == 0).sum() == 12
    page.page.locator("#panel-truth").click(position={"x": 1, "y": 1})
    assert page.number("truth")


def test_hostile_names_do_nothing(opened, on_grid):
    page = opened(on_grid.page)
    page.go(2)
    page.page.locator("#channel").select_option("1")
    page.page.locator("#channel").select_option("0")
    assert page.page.evaluate("window.hacked") is None
    assert HOSTILE in page.text("numbers")
    assert page.page.locator("img").count() == 0


def test_the_policy_stops_what_would_get_in(browser, on_grid, tmp_path):
    """Were a name ever put on the page as it is, it would still not run."""
    path = tmp_path / "report.html"
    broken = on_grid.page.replace("<h1>", "<script>window.hacked=4</script><h1>", 1)
    path.write_text(broken, encoding="utf-8")
    page = Opened(browser, path)
    assert page.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in each for each in page.complaints)
    page.context.close()


def test_play_moves_on_and_pause_stops(opened, on_grid):
    page = opened(on_grid.page)
    page.page.locator("#play").press("Enter")
    page.page.wait_for_timeout(1000)
    assert page.text("play") == "Pause"
    page.page.locator("#play").press("Enter")
    stopped = page.text("moment")
    assert stopped != "0 s, step 0"
    page.page.wait_for_timeout(500)
    assert page.text("moment") == stopped
    assert page.text("play") == "Play"
    page.page.locator("#back").press("Enter")
    assert page.text("moment") != stopped


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_are_those_of_the_system_until_the_reader_says_otherwise(opened, on_line, scheme):
    page = opened(on_line.page, color_scheme=scheme)
    brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"
    before = int(page.page.evaluate(brightness))
    assert (before > 128) == (scheme == "light")
    page.page.locator("#theme").press("Enter")
    assert (int(page.page.evaluate(brightness)) > 128) != (scheme == "light")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("kind", ["grid", "line", "globe"])
def test_the_page_is_no_wider_than_the_screen(opened, request, kind, width):
    reported = request.getfixturevalue(f"on_{kind}")
    page = opened(reported.page, viewport={"width": width, "height": 800})
    assert page.page.evaluate("document.documentElement.scrollWidth") == width


def test_a_field_on_a_line(opened, on_line):
    page = opened(on_line.page)
    page.go(7)
    page.page.locator("#panel-field").click(position={"x": 260, "y": 60})
    before = page.place()
    page.page.keyboard.press("ArrowRight")
    assert page.place() > before
    point = nearest(on_line, page.place(), [0])
    for kind, value in values_at(on_line, point, 7)[0].items():
        check_number(page.number(kind), value)
    page.page.locator("#panel-error").click(position={"x": 200, "y": 60})
    assert page.place() < before


def test_a_globe_with_dates_and_uneven_latitudes(opened, on_globe):
    page = opened(on_globe.page)
    page.go(6)
    assert page.text("moment") == "2001-02-26, step 6"
    page.page.locator("#panel-truth").click(position={"x": 60, "y": 20})
    point = nearest(on_globe, page.place(), [1, 0])
    for kind, value in values_at(on_globe, point, 6)[0].items():
        check_number(page.number(kind), value)


def test_a_model_without_error_bars(opened):
    page = opened(planted_report().page)
    page.go(3)
    page.page.locator("#panel-truth").click(position={"x": 90, "y": 90})
    assert page.text("value-truth").endswith("× 2.5 m")


def test_paper_shows_what_is_folded_away(opened, on_grid):
    page = opened(on_grid.page)
    page.page.emulate_media(media="print", color_scheme="dark")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.page.locator("details:not([open])").count() == 0
    assert not page.page.locator("#play").is_visible()
    background = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    page.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.page.locator("details[open]").count() == 0


def test_every_control_can_be_reached_by_the_tab_key(opened, on_grid):
    page = opened(on_grid.page)
    wanted = {"theme", "play", "back", "on", "time", "channel", "panel-forecast"}
    reached = set()
    for _ in range(40):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("document.activeElement.id"))
    assert wanted <= reached
