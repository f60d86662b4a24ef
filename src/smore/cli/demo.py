"""`smore demo`: from nothing to a forecast, in about a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smore.cli.output import Json, console, print_evaluation, print_json
from smore.data import Trajectories
from smore.model import SMORE
from smore.plotting import (
    Ground,
    Row,
    error_colours,
    field_colours,
    panel_snapshots,
    save_figure,
    snapshot_panels,
)
from smore.surrogate import advance, decode
from smore.waves import example

NUM_TRAIN, NUM_TEST = 128, 8
# The first half of every sequence is learned from, the whole is forecast.
SETTINGS = {"train_length": 10}
VISIBLE = 0.1


def demo(
    folder: Annotated[Path, typer.Option(help="Where model and figure go.")] = Path("smore-demo"),
    as_json: Json = False,
) -> None:
    """Learn the wave equation from simulations and forecast it, also from a tenth of the points."""
    say = (lambda _: None) if as_json else (lambda text: console.print(text))
    say("[bold]1. Data[/]: simulated waves on a 64 x 64 grid, exact to round-off")
    training, test = map(Trajectories.from_xarray, example(NUM_TRAIN, NUM_TEST))
    test.save(folder / "test.nc")
    say(f"   {training}")
    say("[bold]2. Training[/] SMORE with default settings: a continuous basis with linear dynamics")
    model = SMORE(**SETTINGS).fit(training)
    model.save(folder / "wave.smore")

    evaluation = model.evaluate(test)
    num_points = test.sequences[0].mesh.num_points
    sensors = np.random.default_rng(0).permutation(num_points)[: int(VISIBLE * num_points)]
    sparse = model.evaluate(test, observations=test.leading(1).at_points(sensors))
    figure = folder / "forecast.png"
    save_figure(_figure(model, test, sensors), figure)
    if as_json:
        print_json(
            evaluation.to_dict()
            | {
                "sparse_full_mse": sparse.full_mse,
                "sparse_points": len(sensors),
                "seconds": model.surrogate_.description.training.seconds,
                "model": str(folder / "wave.smore"),
                "figure": str(figure),
            }
        )
        return
    say("[bold]3. Forecasts[/] of waves it has never seen")
    print_evaluation(evaluation)
    say(
        f"From {len(sensors)} of {num_points} points of the first snapshot: "
        f"full-window error {sparse.full_mse:.3g} (all points: {evaluation.full_mse:.3g})"
    )
    say(f"[bold]4. Look[/] at {figure}; the model is in {folder / 'wave.smore'}, try")
    say(f"   smore evaluate {folder / 'wave.smore'} {folder / 'test.nc'}")


def _figure(model: SMORE, test: Trajectories, sensors: np.ndarray) -> Any:
    truth = test.sequences[0]
    shown = panel_snapshots(truth.num_snapshots)
    surrogate = model.surrogate_

    def forecast(observed: Trajectories) -> np.ndarray:
        latents = advance(surrogate, model.infer(observed), truth.times[None, 1:])
        return decode(surrogate, latents, truth.mesh)[0, shown, 0]

    true = truth.fields[shown, 0]
    first = test.select([0]).leading(1)
    full, sparse = forecast(first), forecast(first.at_points(sensors))
    colours = field_colours(true)
    rows = [Row("truth", true, colours)]
    seen: list[Any] = [truth.mesh.coords[sensors], *[None] * (len(shown) - 1)]
    for label, found, marks in (("forecast", full, ()), ("from 10%\nof points", sparse, seen)):
        error = np.abs(found - true)
        rows.append(Row(label, found, colours, marks=marks))
        rows.append(Row("|error|", error, error_colours(error)))
    return snapshot_panels(
        rows,
        [f"snapshot {index + 1}" for index in shown],
        Ground.of(truth.mesh, surrogate.description),
        "SMORE forecasts the wave equation: displacement u, from snapshot 1 alone",
    )
