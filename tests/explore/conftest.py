"""Small models to look at: a wave on a grid, and travelling waves at scattered points."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import waves
from browsing import browser_path
from smore import SMORE, Trajectories
from smore.explore._explorer import Explorer
from smore.explore._truth import Truth
from smore.waves import example


@pytest.fixture(scope="session")
def grid_files(tmp_path_factory) -> tuple[Path, Path]:
    """A model of waves on a 16 x 16 grid, and other waves."""
    folder = tmp_path_factory.mktemp("explore")
    training, test = map(Trajectories.from_xarray, example(6, 1, resolution=16, snapshots=8))
    SMORE().fit(training, progress=False).save(folder / "wave.smore")
    test.save(folder / "test.nc")
    return folder / "wave.smore", folder / "test.nc"


@pytest.fixture(scope="session")
def grid_model(grid_files) -> SMORE:
    return SMORE.load(grid_files[0])


@pytest.fixture(scope="session")
def grid_data(grid_model, grid_files) -> Trajectories:
    return grid_model.observations(grid_files[1])


@pytest.fixture(scope="session")
def planted() -> SMORE:
    """Exact modes and rates of travelling waves, with a code for each channel."""
    return waves.planted(waves.trajectories())


@pytest.fixture
def explorer(grid_model, grid_data) -> Explorer:
    return Explorer(grid_model, Truth(grid_data, grid_model.surrogate_))


@pytest.fixture
def alone(grid_model) -> Explorer:
    """Without data."""
    return Explorer(grid_model)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """One for all tests of a file; while it is there, nothing else can have an event loop."""
    path = browser_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()
