"""A browser to open pages with, where there is one."""

import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def browser_path() -> str:
    """Where a browser is; without one the test is skipped, and says so."""
    pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: no page is opened"
    )
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no chromium is installed: no page is opened (apt install chromium)")
    return found
