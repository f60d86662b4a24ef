"""`smore bench assimilation`: what streams of sensors are worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from smore.cli.output import Json
from smore.errors import SettingsError
from smore.model import SMORE
from smore.plotting import require_figure_format, save_figure
from smore_paper.benches.assimilation.faults import faults_found
from smore_paper.benches.assimilation.history import history_levels
from smore_paper.benches.assimilation.intervals import stream_coverages
from smore_paper.benches.assimilation.picture import stream_picture
from smore_paper.benches.assimilation.speed import filter_speed
from smore_paper.claims import SPARSE_CLAIMS
from smore_paper.cli.bench_results import Results, kept, tell_all
from smore_paper.cli.generate import load_test_set
from smore_paper.tables.sparse.sweep import claimed_preset

Part = Literal["history", "intervals", "faults", "speed", "picture"]
ONE_PERCENT, FEW = 0.01, 10


def assimilation(
    part: Annotated[Part, typer.Argument(help="history, intervals, faults, speed or picture.")],
    model_file: Annotated[
        Path | None, typer.Option("--model", help="A model of the benchmark; not for speed.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="The benchmark of the model.")] = None,
    sequences: Annotated[
        int | None, typer.Option(min=1, help="Test sequences; default: all of them.")
    ] = None,
    further: Annotated[
        int | None,
        typer.Option(min=1, help="Simulate so many trajectories beyond the test set, use these."),
    ] = None,
    masks: Annotated[int, typer.Option(min=1, help="Random masks, for history.")] = 3,
    figure: Annotated[Path | None, typer.Option(help="Where a picture goes.")] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Streams cut out of a benchmark's test set: errors, error bars, broken sensors; and speed."""
    if part == "speed":
        _tell(kept([filter_speed()], results), as_json, "The filter beside filterpy")
        return
    if model_file is None or dataset is None:
        raise SettingsError(f"{part} needs a --model and its --dataset")
    model = SMORE.load(model_file)
    test = load_test_set(dataset, further)
    told = dataset if further is None else f"{dataset}, {further} further trajectories"
    points = test.sequences[0].mesh.num_points
    sensors = int(ONE_PERCENT * points)
    count = len(test) if sequences is None else sequences
    found: Iterable[Any]
    if part == "history":
        name = claimed_preset(dataset, model.surrogate_.description.settings)
        claim = SPARSE_CLAIMS.get(name or "", {}).get(ONE_PERCENT)
        found = history_levels(
            model,
            test,
            counts=(sensors, FEW),
            seeds=range(masks),
            sequences=sequences,
            claims={} if claim is None else {sensors: claim},
        )
    elif part == "picture":
        require_figure_format(figure)
        if figure is None:
            raise SettingsError("a picture needs a --figure, the file that it goes to")
        save_figure(stream_picture(model, test, sensors=sensors), figure)
        return
    elif part == "intervals":
        found = stream_coverages(model, test, sensors=sensors, sequences=count)
    else:
        found = faults_found(model, test, sensors=sensors, sequences=count)
    _tell(kept(found, results, dataset=told), as_json, f"{part}, {told}")


def _tell(found: list[Any], as_json: bool, title: str) -> None:
    names = [name for name in asdict(found[0]) if name != "mse_per_mask"]
    tell_all(found, as_json, title, names, names)
