"""Requests of a browser: what it may ask for is done, all else is answered and does nothing."""

import copy

import numpy as np
import pytest
from bokeh.document import Document

from exploring import rows_of
from smore.explore._explorer import Explorer
from smore.explore._page import Names, Page
from smore.explore._requests import REQUESTS


@pytest.fixture
def page(explorer) -> Page:
    kept = {}

    def offer(name, content):
        kept[name] = content
        return "key"

    found = Page(explorer, Names("wave.smore", "test.nc"), offer)
    found.kept = kept
    found.open(Document())
    return found


def ask(page, what, value=None):
    return page.answer({"what": what, "value": value, "turn": 1})


def test_a_page_is_set_up_by_requests_alone(page):
    explorer = page.explorer
    told = ask(page, "draw", {"moving": False, "rows": [[0, 0.1, 0.2], [0, -0.5, 0.4]]})
    assert [row["number"] for row in told["sensors"]] == [1, 2]
    told = ask(page, "step", 3)
    assert told["time"] == explorer.told_time(3)
    told = ask(page, "channel", 1)
    assert told["quantity"] == "u_t"
    told = ask(page, "more", 2)
    assert len(told["sensors"]) == 4
    assert "2 more sensors" in told["planned"]
    told = ask(page, "ahead", 5)
    assert len(told["times"]) == 6
    told = ask(page, "mark", [0.25, 0.5])
    np.testing.assert_array_equal(explorer.view.marked, [0.25, 0.5])
    assert told["value"] == f"{explorer.read().value:.5g}"
    told = ask(page, "noise", "0.25")
    assert explorer.noise == {1: 0.25}
    assert "--noise u_t=0.25" in told["command"]
    told = ask(page, "remove", 1)
    assert [row["number"] for row in told["sensors"]] == [2, 3, 4]


def test_while_a_sensor_moves_only_pictures_and_numbers_change(page):
    ask(page, "draw", {"moving": False, "rows": [[0, 0.1, 0.2]]})
    (row,) = rows_of(page.explorer)
    before = page.field_figure.source.data["image"][0].copy()
    told = ask(page, "draw", {"moving": True, "rows": [[row[0], 0.6, -0.3]]})
    assert "sensors" not in told
    assert "value" in told
    assert not np.array_equal(page.field_figure.source.data["image"][0], before)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("delete", "/etc/passwd"),
        ("__class__", 1),
        ("draw", None),
        ("draw", {"rows": [["a", "b", "c"]], "moving": True}),
        ("step", "last"),
        ("step", None),
        ("channel", [1]),
        ("beside", ["/etc/passwd", 1]),
        ("beside", 3),
        ("mark", {"x": 1}),
        ("edit", [1, -1, "3"]),
        ("snapshot", [1e400, 0]),
        ("measured", "all"),
        ("more", "many"),
    ],
)
def test_what_does_not_exist_is_answered_and_nothing_happens(page, what, value):
    ask(page, "draw", {"moving": False, "rows": [[0, 0.1, 0.2]]})
    before = copy.copy(vars(page.explorer))
    told = ask(page, what, value)
    assert told["problem"]
    after = vars(page.explorer)
    for name in ("channel", "step", "sequence", "origin", "measured", "noise", "ahead"):
        assert after[name] == before[name]


@pytest.mark.parametrize(
    ("what", "value", "expected"),
    [
        ("step", 10**9, lambda e: e.step == len(e.instants) - 1),
        ("step", -5, lambda e: e.step == 0),
        ("channel", 99, lambda e: e.channel == 1),
        ("snapshot", [99, 99], lambda e: (e.sequence, e.origin) == (1, 7)),
        ("more", 10**6, lambda e: len(e.sensors) == 100),
        ("mark", [1e9, -1e9], lambda e: np.abs(e.view.marked).max() < 2),
        ("draw", {"moving": False, "rows": [[0, 1e9, 0.0]]}, lambda e: e.sensors.places[0, 0] < 1),
    ],
)
def test_numbers_out_of_range_are_the_nearest_in_range(page, what, value, expected):
    told = ask(page, what, value)
    assert told["problem"] == ""
    assert expected(page.explorer)


def test_bad_input_is_told_in_the_words_of_the_library(page):
    assert "expected a number" in ask(page, "noise", "loud")["problem"]
    assert "standard deviation" in ask(page, "noise", "-1")["problem"]
    assert "no sensors" in ask(page, "download", "sensors")["problem"]
    assert ask(page, "step", 1)["problem"] == ""


def test_downloads_are_offered_not_written(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ask(page, "draw", {"moving": False, "rows": [[0, 0.1, 0.2]]})
    told = ask(page, "download", "sensors")
    assert told["download"] == {"key": "key", "name": "sensors.csv"}
    assert ask(page, "download", "../../etc/passwd")["download"]["name"] == "forecast.nc"
    assert page.kept["sensors.csv"].startswith(b"time,x,y,u,u_t")
    assert list(tmp_path.iterdir()) == []


def test_there_is_a_request_for_everything_the_script_asks_for():
    from importlib.resources import files
    from re import findall

    script = (files("smore.explore") / "page.js").read_text()
    page = (files("smore.explore") / "page.html").read_text()
    asked = {*findall(r'ask\("(\w+)"', script), *findall(r'data-ask="(\w+)"', page)}
    assert asked == {*REQUESTS, "download"}


def test_models_on_lines_and_dots_have_pages_too(planted):
    explorer = Explorer(planted)
    assert explorer.view.canvas.kind == "dots"
    page = Page(explorer, Names("m"), lambda name, content: "")
    page.open(Document())
    told = ask(page, "draw", {"moving": False, "rows": [[0, 0.1, 0.2]]})
    assert told["problem"] == ""
    assert len(page.field_figure.source.data["value"]) == 40
