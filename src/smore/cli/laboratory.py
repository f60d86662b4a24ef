"""Benchmarks and presets, if a package provides them: `--dataset`, `--preset`, `--results`.

smore itself knows none. The laboratory registers itself under the entry point below.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast

import xarray as xr

from smore.data import Trajectories
from smore.errors import MissingExtraError, SettingsError
from smore.evaluation import Evaluation
from smore.model import SMORE
from smore.settings import Settings

ENTRY_POINT = "smore.laboratory"


class Benchmark(Protocol):
    """Training and test sequences of a problem."""

    @property
    def train(self) -> xr.Dataset: ...

    @property
    def test(self) -> xr.Dataset: ...


class Laboratory(Protocol):
    """What the commands of smore ask of it."""

    def preset_settings(self, name: str, **overrides: Any) -> Settings:
        """Settings by name, with some values replaced."""

    def preset_dataset(self, name: str) -> str:
        """The benchmark that a preset was made for."""

    def load_benchmark(self, name: str, **options: Any) -> Benchmark:
        """A benchmark by name, simulated first where need be."""

    def load_test_set(self, name: str, further: int | None) -> Trajectories:
        """The test set of a benchmark, or so many trajectories that come after it."""

    def append_result(
        self, path: Path, model: SMORE, evaluation: Evaluation, *, dataset: str, preset: str
    ) -> None:
        """Append the scores of a model on a benchmark to a file."""


def laboratory() -> Laboratory:
    """The laboratory that is installed.

    Raises:
        SettingsError: there is none.
        MissingExtraError: one of its dependencies is not installed.
    """
    for entry in entry_points(group=ENTRY_POINT):
        try:
            return cast(Laboratory, entry.load())
        except ModuleNotFoundError as error:
            raise MissingExtraError(error.name or "?", "paper", "a benchmark or preset") from error
    raise SettingsError("benchmarks and presets come with: pip install 'smore-rom[paper]'")
