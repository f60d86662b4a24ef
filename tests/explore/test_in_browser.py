"""The page in a browser: sensors are placed and dragged, and numbers are those of the library."""

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from exploring import Visitor, served
from smore import SMORE, Trajectories
from smore.cli.app import app

SIZES = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}


@pytest.fixture(scope="module")
def address(grid_files):
    with served(*grid_files) as found:
        yield found


@pytest.fixture
def visit(browser, address):
    pages = []

    def open_page(size="wide", scheme="light", where=address) -> Visitor:
        page = browser.new_page(viewport=SIZES[size], color_scheme=scheme, accept_downloads=True)
        pages.append(page)
        return Visitor(page, where)

    yield open_page
    for page in pages:
        page.close()


def shown_forecast(visitor, model, folder) -> xr.Dataset:
    """What the library forecasts from the table of sensors, at the marked point."""
    table = visitor.download('[data-download="sensors"]', folder)
    point = [float(visitor.page.locator(".mark").nth(number).input_value()) for number in range(2)]
    step = model.surrogate_.description.time_step
    instants = step * np.arange(1, int(visitor.page.locator("#step").get_attribute("max")) + 1)
    return model.forecast(table, instants, points=[point])


def test_sensors_are_placed_and_dragged_time_moves_and_the_number_is_the_forecast(
    visit, grid_model, tmp_path
):
    visitor = visit()
    visitor.click("field", 0.5, 0.5)
    visitor.click("field", -0.5, -0.25)
    visitor.drag("field", (0.5, 0.5), (0.25, -0.5))
    rows = visitor.page.locator("#table tbody tr")
    assert rows.count() == 2
    cells = [box.input_value() for box in rows.nth(0).locator("input").all()]
    assert [float(cell) for cell in cells[:2]] == [0.25, -0.5]
    visitor.click("beside", 0.4, 0.2)
    assert float(visitor.page.locator(".mark").first.input_value()) == pytest.approx(0.4, abs=0.01)
    visitor.fill(".mark >> nth=0", "0.1")
    visitor.fill(".mark >> nth=1", "0.2")
    visitor.slide(5)
    forecast = shown_forecast(visitor, grid_model, tmp_path)
    value, deviation = (float(forecast[name].values.ravel()[4]) for name in ("u", "u_std"))
    assert visitor.text("time") == "1.25 s"
    assert visitor.text("value") == f"{value:.5g}"
    assert visitor.text("deviation") == f"{deviation:.3g}"
    assert visitor.complaints == []


def test_while_it_is_dragged_the_picture_follows(visit):
    visitor = visit()
    visitor.click("field", 0.5, 0.5)
    image = "Bokeh.documents[0].get_model_by_name('beside').renderers[0].data_source.data.image[0]"
    seen = []
    visitor.page.mouse.move(*visitor.on_screen("field", 0.5, 0.5))
    visitor.page.mouse.down()
    for x in (0.4, 0.1, -0.4):
        visitor.page.mouse.move(*visitor.on_screen("field", x, x), steps=4)
        visitor.wait()
        seen.append(visitor.page.evaluate(f"[...{image}].reduce((sum, each) => sum + each)"))
    visitor.page.mouse.up()
    assert len(set(seen)) == 3  # the error bar is another one wherever the sensor is
    assert visitor.complaints == []


def test_what_was_exported_loads_again(visit, grid_files, grid_model, tmp_path):
    visitor = visit()
    visitor.press("#more")
    assert "5 more sensors" in visitor.text("planned")
    visitor.fill('[data-ask="ahead"]', "4")
    table = visitor.download('[data-download="sensors"]', tmp_path)
    file = visitor.download('[data-download="forecast"]', tmp_path)
    command = visitor.text("command").split()
    assert command[:2] == ["smore", "forecast"]
    output = tmp_path / "again.nc"
    arguments = [str(table) if word == "sensors.csv" else word for word in command[1:-1]]
    result = CliRunner().invoke(app, [*arguments, str(output)])
    assert result.exit_code == 0, result.output
    with xr.open_dataset(file) as one, xr.open_dataset(output) as other:
        assert one.sizes["time"] == 4
        xr.testing.assert_allclose(one.load(), other.load(), rtol=1e-5)


def test_all_of_it_works_without_a_mouse(visit):
    visitor = visit()
    page = visitor.page

    def press(selector, *keys):
        page.locator(selector).focus()
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_timeout(30)
        visitor.wait()

    press("#add", "Enter")
    assert page.locator("#table tbody tr").count() == 1
    visitor.fill("#table tbody tr:first-child td:nth-of-type(1) input", "0.75")
    first = page.locator("#table tbody tr:first-child input").first
    assert float(first.input_value()) == 0.75
    press("#more", "Space")
    assert page.locator("#table tbody tr").count() == 6
    press("#step", "ArrowRight", "ArrowRight")
    assert visitor.text("time") == "0.5 s"
    before = visitor.text("value")
    visitor.fill(".mark >> nth=0", "-0.5")
    assert visitor.text("value") != before
    press("#table tbody tr:last-child button", "Enter")
    assert page.locator("#table tbody tr").count() == 5
    assert visitor.complaints == []


def test_every_control_has_a_name(visit):
    visitor = visit()
    visitor.press("#more")
    nameless = visitor.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select")].filter((each) =>
            !each.hidden && !each.textContent.trim() && !each.ariaLabel &&
            ![...(each.labels ?? [])].some((label) => label.textContent.trim())
        ).map((each) => each.outerHTML)"""
    )
    assert nameless == []
    levels = visitor.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName)")
    assert levels[0] == "H1"
    assert levels.count("H1") == 1


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_screen_light_and_dark(visit, size, scheme):
    visitor = visit(size, scheme)
    visitor.press("#more")
    width = SIZES[size]["width"]
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width
    colour = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    bright = sum(visitor.page.evaluate(colour)) > 3 * 128
    assert bright == (scheme == "light")
    assert visitor.complaints == []


def test_what_files_say_is_shown_and_not_run(browser, tmp_path):
    bad = "<img src=x onerror=window.hacked=1>"
    worse = '"><script>window.hacked=1</script>'
    x, times = np.linspace(0, 1, 12), np.arange(6.0)
    values = np.sin(3 * x[:, None] + x + times[:, None, None]).astype(np.float32)
    dataset = xr.Dataset(
        {bad: (("time", "x", "y"), values, {"units": worse})},
        {"time": ("time", times, {"units": "$$\\\\href{javascript:window.hacked=1}{s}$$"}),
         "x": ("x", x, {"units": worse}), "y": ("y", x)},
    )  # fmt: skip
    model = tmp_path / "<img src=x onerror=hacked=1>.smore"
    data = Trajectories.from_xarray(dataset)
    SMORE(latent_dim=2).fit(data, progress=False).save(model)
    data.save(tmp_path / "test.nc")
    with served(model, tmp_path / "test.nc") as address:
        page = browser.new_page()
        visitor = Visitor(page, address)
        visitor.press("#more")
        for what in ("data", "unseen", "mode"):
            page.select_option("#beside", what)
            visitor.wait()
        page.hover("#field-part figure")
        assert visitor.text("quantity") == bad
        assert "<img src=x" in visitor.text("model")
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        assert visitor.complaints == []
        page.close()
