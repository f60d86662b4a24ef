"""A browser to open pages with, and reports for it to open."""

import shutil

import pytest

from reported import Reported, globe, grid, line

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser():
    """A headless chromium; where there is none, pages are not opened."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no page is opened"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no chromium is installed: no page is opened (apt install chromium)")
    with driver.sync_playwright() as driven:
        browser = driven.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def on_grid() -> Reported:
    return grid()


@pytest.fixture(scope="session")
def on_line() -> Reported:
    return line()


@pytest.fixture(scope="session")
def on_globe() -> Reported:
    return globe()
