"""The sparse table: forecasts from ever fewer visible points, a run for each level of the sweep.

The paper fits the initial state by Adam, on models that Algorithm 1 trained and the test set
selected: recipe "paper", method "adam". By default models are those of the fast recipe, and states
those of the Gaussian posterior; rows of both live in one file, and say which they are.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from smore.data import Trajectories
from smore.errors import SettingsError
from smore.inference import FitMethod
from smore.inputs import as_trajectories
from smore.model import SMORE
from smore.settings import Settings
from smore_paper import datasets
from smore_paper.benches.recipes import BEST_PRESETS
from smore_paper.claims import SPARSE_CLAIMS
from smore_paper.presets import preset
from smore_paper.tables.compared import Recipe
from smore_paper.tables.kept_snapshot import fields_beside_truth, forecast_snapshot
from smore_paper.tables.ledger import Ledger, Row, Run, Table
from smore_paper.tables.resumable_fit import resumable_fit
from smore_paper.tables.sparse.sweep import (
    VISIBLE,
    Index,
    Level,
    claimed_preset,
    nested_masks,
    planned,
    sweep,
)

NAME = "sparse"
# The level whose forecast is kept to be looked at: the first random mask of a tenth of the points.
PANEL, PANEL_SEED = 0.1, 0

LEVEL = tuple(column.name for column in fields(Level))
SWEPT = ("visible", "placement")
COLUMNS = (*(name for name in LEVEL if name not in SWEPT), "method")
# How it is done unless told otherwise.
RECIPE: Recipe = "fast"
METHOD: FitMethod = "posterior"


@dataclass(frozen=True, eq=False)
class Source:
    """Where the model of a benchmark comes from.

    Args:
        name: what rows call it: the preset that the paper reports, or else the dynamics.
        settings: of the model.
        model: loads or fits it, once.
    """

    name: str
    settings: Settings
    model: Callable[[], SMORE]


def model_source(
    dataset: str, path: Path | None, recipe: Recipe | None = None, epochs: int | None = None
) -> Source:
    """The model in a file, or the paper's best for this benchmark, to be fitted when needed.

    Args:
        dataset: the benchmark.
        path: the file, if there is one.
        recipe: by which the model is trained; by default the file's, or else the fast one.
        epochs: of the paper's recipe, if it is to be fitted; by default the paper's.

    Raises:
        SettingsError: the file is of another benchmark or recipe.
    """
    if path is not None:
        loaded = SMORE.load(path)
        _require_channels(loaded, path, dataset)
        settings = loaded.surrogate_.description.settings
        if recipe not in (None, settings.recipe):
            raise SettingsError(
                f"expected a model by the {recipe} recipe, {path} is by the {settings.recipe} "
                f"recipe; give another file, or --recipe {settings.recipe}"
            )
        name = claimed_preset(dataset, settings) or settings.dynamics
        return Source(name, settings, lambda: loaded)
    name = next(each for each in BEST_PRESETS if preset(each).dataset == dataset)
    settings = preset(name).settings.replace(recipe=recipe or RECIPE)
    if epochs is not None:
        settings = settings.replace(epochs=epochs)
    return Source(name, settings, functools.cache(lambda: _fitted(dataset, settings)))


def _fitted(dataset: str, settings: Settings) -> SMORE:
    """A model with these settings; the paper's recipe selects on the test set, as the paper."""
    benchmark, model = datasets.load(dataset), SMORE.from_settings(settings)
    selects = as_trajectories(benchmark.test) if settings.recipe == "paper" else None
    train = as_trajectories(benchmark.train)
    divergence = resumable_fit(model, train, select_on=selects, checkpoints=None)
    if divergence is not None:
        warnings.warn(str(divergence), RuntimeWarning, stacklevel=2)
    return model


def _require_channels(model: SMORE, path: Path, dataset: str) -> None:
    """Refuse a model of something else before every row of it fails."""
    names = {channel.name for channel in model.surrogate_.description.channels}
    there = set(map(str, datasets.load(dataset).test.data_vars))
    if not names <= there:
        raise SettingsError(
            f"expected a model of {dataset} ({', '.join(sorted(there))}), {path} forecasts "
            f"{', '.join(sorted(names))}"
        )


def sparse_runs(sources: Mapping[str, Source], method: FitMethod = METHOD) -> list[Run]:
    """A run for every fraction and placement of every benchmark."""
    levels = [dict(zip(SWEPT, level, strict=True)) for level in planned(VISIBLE, placed=True)]
    how = {} if method == METHOD else {"method": method}  # the keys of rows that are there
    return [
        Run(NAME, name, source.name, source.settings.recipe, source.settings.seed, level | how)
        for name, source in sources.items()
        for level in levels
    ]


def sparse_table(
    results: Path, sources: Mapping[str, Source], masks: int, method: FitMethod = METHOD
) -> Table:
    """`results/sparse.csv`; one forecast of a snapshot is kept beside its rows.

    Args:
        sources: models by benchmark.
        masks: random masks of each level.
        method: how the initial state is inferred.
    """

    def measure(run: Run) -> Row:
        model, test = sources[run.dataset].model(), as_trajectories(datasets.load(run.dataset).test)
        levels = sweep(
            model,
            test,
            fractions=(run.variant["visible"],),
            seeds=range(masks),
            placed=run.variant["placement"] == "placed",
            method=method,
            claims=SPARSE_CLAIMS.get(run.model),
        )
        *_, level = levels  # placed sensors come after random points
        if (level.visible, level.placement) == (PANEL, "random"):
            test = model.surrogate_.aligned(test)
            forecast = forecast_snapshot(model, test, method, panel_sensors(test))
            path = sparse_fields_path(results, run.dataset, run.recipe, method)
            fields_beside_truth(test, forecast).save(path)
        told = asdict(level) | {"full_mse_per_mask": " ".join(map(str, level.full_mse_per_mask))}
        return {name: told[name] for name in COLUMNS if name in told} | {"method": method}

    return Ledger(results, NAME, COLUMNS), measure


def level_of(row: Row) -> Level:
    """A row as the level it was."""
    per_mask = tuple(float(error) for error in str(row["full_mse_per_mask"]).split())
    return Level(**{name: row[name] for name in LEVEL} | {"full_mse_per_mask": per_mask})


def panel_sensors(test: Trajectories) -> Index:
    """Visible points of the forecast that is kept."""
    return nested_masks(test.sequences[0].mesh.num_points, [PANEL], PANEL_SEED)[PANEL]


def sparse_fields_path(
    results: Path, dataset: str, recipe: str = RECIPE, method: str = METHOD
) -> Path:
    """Where the forecast of one snapshot is kept."""
    return results / f"sparse_fields_{which(dataset, recipe, method)}.nc"


def which(dataset: str, recipe: str, method: str) -> str:
    """What files of a benchmark's sweep are called, if it is done another way than usual."""
    usual = (recipe, method) == (RECIPE, METHOD)
    return dataset if usual else f"{dataset}_{recipe}-{method}"
