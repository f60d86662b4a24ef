"""A browser to open pages with, and reports for it to open."""

import pytest

from browsing import browser_path
from reported import Reported, globe, grid, line


@pytest.fixture(scope="module")
def browser():
    """A headless chromium for the tests of a file; while it is there, no other can be started."""
    found = browser_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driven:
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
