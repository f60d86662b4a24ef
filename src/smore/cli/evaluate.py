"""`smore evaluate`: score a model's forecasts beside persistence and climatology."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.laboratory import laboratory
from smore.cli.options import ChannelOption, MissingOption
from smore.cli.output import Json, console, print_evaluation, print_json
from smore.cli.reading import say_reading, with_reading
from smore.cli.skill import print_calibration, print_skill
from smore.errors import SettingsError
from smore.inference import FitMethod
from smore.model import SMORE
from smore.plotting import chosen_channels, is_film, require_figure_format, save_figure
from smore.runtime import shown_passes


@with_reading
def evaluate(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    data: Annotated[
        list[Path] | None,
        typer.Argument(help="Trajectories to forecast: NetCDF or Zarr files, or a pattern."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Use the test set of a benchmark instead.")
    ] = None,
    further: Annotated[
        int | None,
        typer.Option(min=1, help="With --dataset: so many trajectories beyond the usual test set."),
    ] = None,
    method: Annotated[
        FitMethod, typer.Option(help="How initial states are inferred.")
    ] = "posterior",
    missing: MissingOption = "refuse",
    horizon: Annotated[
        int | None,
        typer.Option(min=1, help="Rolling origins: steps ahead; default: half of one record."),
    ] = None,
    origins: Annotated[
        int | None,
        typer.Option(min=1, help="Rolling origins: how many forecasts; default: 5."),
    ] = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Tell how often intervals hold the truth.")
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Draw truth, forecast and error of one sequence here, of one record also skill "
            "against lead time, with --calibration also reliability; .gif: a film of the fields."
        ),
    ] = None,
    channel: ChannelOption = None,
    results: Annotated[
        Path | None, typer.Option(help="With --dataset: append the scores to this CSV file.")
    ] = None,
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
) -> None:
    """Forecast every sequence from its first snapshot and score it against the others.

    One record is forecast from several snapshots too (rolling origins), and scored by lead time.
    """
    if (not data) == (dataset is None):
        raise SettingsError("say what to evaluate on: a file, or a benchmark with --dataset")
    if dataset is None and (further is not None or results is not None):
        raise SettingsError("--further and --results belong to --dataset")
    if calibration and method != "posterior":
        raise SettingsError("--calibration needs error bars: only method 'posterior' has them")
    require_figure_format(figure, films=True)
    model = SMORE.load(model_file)
    chosen_channels(model.surrogate_.description, channel)  # refuse unknown ones
    if dataset is not None:
        trajectories = laboratory().load_test_set(dataset, further)
    else:
        trajectories = model.read(list(data or []), missing=missing, **(reading or {}))
        say_reading(trajectories)
    asked = calibration or horizon is not None or origins is not None
    skill = None
    with shown_passes("evaluating"):
        evaluation = model.evaluate(trajectories, method=method)
        if asked or len(trajectories) == 1:
            skill = model.skill(trajectories, horizon=horizon, origins=origins, method=method)
    if results is not None:
        scored = f"{dataset}" if further is None else f"{dataset}, {further} further trajectories"
        laboratory().append_result(results, model, evaluation, dataset=scored, preset="")
    if figure is not None:
        drawn = model.plot.evaluation(
            trajectories,
            skill,
            channel=channel,
            method=method,
            reliability=calibration,
            animate=is_film(figure),
        )
        save_figure(drawn, figure)
    if as_json:
        rolling = {} if skill is None else {"rolling": skill.to_dict()}
        print_json(evaluation.to_dict() | rolling)
        return
    print_evaluation(evaluation)
    if skill is not None:
        print_skill(skill)
        if calibration:
            print_calibration(skill)
    if figure is not None:
        console.print(f"figure: {figure}")
