"""`smore bench`: measurements, each in one run."""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json, console
from smore.errors import SettingsError
from smore.inputs import as_trajectories
from smore.model import SMORE
from smore_paper.benches.bounds import check_masks, check_systems
from smore_paper.benches.calibration import VISIBLE as CALIBRATED
from smore_paper.benches.calibration import coverages
from smore_paper.benches.certificates import CASES, check_certificates
from smore_paper.benches.defaults import bench_defaults
from smore_paper.benches.epoch import bench_epoch
from smore_paper.benches.inference import bench_inference
from smore_paper.benches.meshes import study_meshes
from smore_paper.benches.recipes import BEST_PRESETS, base_preset, bench_recipes
from smore_paper.benches.steps import study_steps
from smore_paper.cli.bench_assimilation import assimilation
from smore_paper.cli.bench_comparators import comparators
from smore_paper.cli.bench_explore import explore
from smore_paper.cli.bench_meshes import large_mesh, other_mesh
from smore_paper.cli.bench_results import PresetName, Results, kept, tell, tell_all
from smore_paper.cli.bench_scale import large_grid, memory, reading, scaling
from smore_paper.cli.generate import load_benchmark
from smore_paper.datasets import BENCHMARKS
from smore_paper.presets import from_preset, preset

app = typer.Typer(
    help="Measure how fast smore is here.", no_args_is_help=True, add_completion=False
)
app.command("assimilation")(assimilation)
app.command("comparators")(comparators)
app.command("explore")(explore)
app.command("memory")(memory)
app.command("reading")(reading)
app.command("scaling")(scaling)
app.command("large-grid")(large_grid)
app.command("other-mesh")(other_mesh)
app.command("large-mesh")(large_mesh)

# Decoder steps of a fit that is only there to be timed.
SHORT_FIT = 100

Models = Annotated[Path | None, typer.Option(help="Keep the fitted models in this folder.")]


@app.command("epoch")
def epoch(
    preset_name: PresetName = "ns-lrlq",
    columns: Annotated[
        int, typer.Option(help="Snapshots the textbook side is timed on, then scaled up.")
    ] = 20,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Time the decoder part of one epoch: snapshot by snapshot against the affine engine."""
    (result,) = kept([bench_epoch(preset(preset_name), columns)], results)
    tell(
        asdict(result),
        as_json,
        f"Decoder part of one epoch, {result.preset}: {result.columns:,} fields of "
        f"{result.points:,} points",
        ["", "seconds"],
        [
            [
                f"textbook (scaled up from {result.textbook_columns} fields)",
                result.textbook_seconds,
            ],
            ["engine", result.engine_seconds],
            ["speed-up", result.speedup],
            ["largest relative gradient difference", result.max_relative_gradient_difference],
        ],
    )


@app.command("meshes")
def meshes(
    epochs: Annotated[int, typer.Option(help="Epochs of each of the two fits.")] = 1000,
    num_train: Annotated[int, typer.Option(help="Simulated training trajectories.")] = 256,
    seed: Annotated[int, typer.Option(help="Seed of weights and of the halves.")] = 0,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Train Wave on the full grid and on random halves of it; compare, also on a finer grid."""
    benchmark = load_benchmark("wave", num_train=num_train)

    def say(text: str) -> None:
        if not as_json:
            console.print(text)

    study = study_meshes(benchmark, say, seed=seed, epochs=epochs)
    kept([study], results, dataset="wave", seed=seed)
    tell(
        asdict(study),
        as_json,
        f"Wave, wave-koopman, {study.epochs} epochs, {study.num_sequences} sequences",
        ["mesh", "full-window error", "ratio"],
        [
            ["64 x 64 grid", study.full_grid_mse, 1.0],
            ["a random half of it per sequence", study.halves_mse, study.halves_ratio],
            ["256 x 256, trained on 64 x 64", study.fine_mse, study.fine_ratio],
            ["persistence", study.persistence_mse, None],
        ],
    )


@app.command("steps")
def steps(
    preset_name: PresetName = "sw-koopman",
    tried: Annotated[
        list[int] | None, typer.Option("--steps", help="Decoder steps to try; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of weights and of the held-out share.")] = 0,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """How many decoder steps the fast recipe needs, judged on held-out training trajectories."""
    chosen = preset(preset_name)
    steps_tried = tried or [400, 800, 1600]
    study = study_steps(chosen, load_benchmark(chosen.dataset), steps_tried, seed)
    tell_all(
        kept(study, results),
        as_json,
        f"{preset_name}, an eighth of the training trajectories held out",
        ["steps", "decoder error", "best possible", "held-out full window", "seconds"],
        ["decoder_steps", "decoder_error", "pod_limit", "validation_full_mse", "seconds"],
    )


@app.command("recipes")
def recipes(
    preset_names: Annotated[
        list[str] | None,
        typer.Option(
            "--preset",
            help="Configurations to fit, also ns-free and sw-fourier (other sizes); by default the "
            "paper's three best.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds.")] = 1,
    first_seed: Annotated[int, typer.Option(min=0, help="Seeds are counted from this one.")] = 0,
    models: Models = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Fit the benchmarks with the fast recipe: errors, time, memory, beside the paper's claims."""
    names = list(preset_names or BEST_PRESETS)
    for name in names:
        load_benchmark(preset(base_preset(name)[0]).dataset)  # simulated before the clock starts
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
    study = bench_recipes(names, range(first_seed, first_seed + seeds), models)
    tell_all(
        kept(study, results),
        as_json,
        "The fast recipe beside the paper (full-window mean squared errors)",
        ["preset", "seed", "in", "extra", "full", "paper", "seconds", "to paper", "MB", "x limit"],
        [
            "preset",
            lambda result: str(result.seed),
            "in_horizon_mse",
            "extrapolation_mse",
            "full_mse",
            "paper_full_mse",
            "seconds",
            "time_to_paper_seconds",
            "peak_megabytes",
            "ratio_to_pod_limit",
        ],
    )


@app.command("defaults")
def defaults(
    names: Annotated[
        list[str] | None, typer.Option("--dataset", help="Benchmarks; by default all three.")
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Fit the benchmarks with default settings, beside POD + DMD and operator inference."""
    names = names or list(BENCHMARKS)
    for name in names:
        load_benchmark(name)  # simulated before the clock starts
    tell_all(
        kept(bench_defaults(names), results),
        as_json,
        "Default settings beside references (full-window mean squared errors)",
        ["dataset", "model", "dynamics", "in", "extra", "full", "ratio", "numbers", "seconds"],
        [
            "dataset",
            "model",
            "dynamics",
            "in_horizon_mse",
            "extrapolation_mse",
            "full_mse",
            "ratio",
            "parameters",
            "seconds",
        ],
    )


@app.command("inference")
def inference(
    model_file: Annotated[
        Path | None,
        typer.Option("--model", help="A model of the Wave benchmark; default: a short fit."),
    ] = None,
    visible: Annotated[float, typer.Option(help="Share of the points that is observed.")] = 0.1,
    sequences: Annotated[int, typer.Option(min=1, help="Sequences inferred together.")] = 32,
    adam_steps: Annotated[int, typer.Option(min=1, help="Steps of the paper's fit.")] = 1000,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Time inference from a few points: closed form against the paper's Adam steps."""
    benchmark = load_benchmark("wave")
    if model_file is None:
        model = from_preset("wave-koopman", decoder_steps=SHORT_FIT).fit(benchmark.train)
    else:
        model = SMORE.load(model_file)
    result = bench_inference(
        model,
        as_trajectories(benchmark.test),
        visible=visible,
        num_sequences=sequences,
        num_steps=adam_steps,
    )
    kept([result], results)
    tell(
        asdict(result),
        as_json,
        f"Inferring {result.sequences} states from {result.points:,} points",
        ["", "seconds", "mean squared residual"],
        [
            [f"{result.num_steps:,} Adam steps", result.adam_seconds, result.adam_residual],
            ["least squares", result.least_squares_seconds, result.least_squares_residual],
            ["posterior", result.posterior_seconds, result.posterior_residual],
            ["speed-up of the posterior", result.speedup, None],
        ],
    )


@app.command("calibration")
def calibration(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    dataset: Annotated[str, typer.Option(help="The benchmark whose test set is forecast.")],
    visible: Annotated[
        list[float] | None, typer.Option(help="Shares of the points observed; default 10, 4, 2%.")
    ] = None,
    masks: Annotated[int, typer.Option(min=1, help="Random masks.")] = 3,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Count how many true values lie inside the 90% intervals of forecasts from few points."""
    model = SMORE.load(model_file)
    test = as_trajectories(load_benchmark(dataset).test)
    found = coverages(model, test, fractions=tuple(visible or CALIBRATED), seeds=range(masks))
    tell_all(
        kept(found, results, dataset=dataset),
        as_json,
        f"Coverage of 90% intervals, {dataset}",
        ["visible", "noise", "covered", "first", "last", "stated", "rmse"],
        [
            lambda each: f"{each.visible:.0%}",
            lambda each: f"{each.noise:.0%}",
            lambda each: f"{each.covered:.1%}",
            lambda each: f"{each.covered_first:.1%}",
            lambda each: f"{each.covered_last:.1%}",
            "mean_deviation",
            "rmse",
        ],
    )


@app.command("certificates")
def certificates(
    preset_names: Annotated[
        list[str] | None,
        typer.Option("--preset", help=f"Some of {', '.join(CASES)}; by default all."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of weights and of random states.")] = 0,
    compare: Annotated[bool, typer.Option(help="Fit the uncertified models too.")] = True,
    models: Models = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Fit certified models of the benchmarks; iterate them for 10,000 steps beside their bounds."""
    names = preset_names or list(CASES)
    for name in names:
        if name not in CASES:
            raise SettingsError(f"no certified case for {name!r}; choose from {', '.join(CASES)}")
        load_benchmark(preset(name).dataset)
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
    tell_all(
        kept(check_certificates(names, seed, compare=compare, models=models), results),
        as_json,
        "Certified models: test error, and V beside its bound over 10,000 steps",
        ["preset", "certified", "full", "uncertified", "margin", "bound", "seen", "worst ratio"],
        [
            "preset",
            lambda result: "yes" if result.certified else "no",
            "full_mse",
            "uncertified_full_mse",
            "margin",
            "largest_bound",
            "largest_seen",
            "worst_ratio",
        ],
    )


@app.command("bounds")
def bounds(
    masks: Annotated[int, typer.Option(help="Random masks of sensors, for Theorem 3.")] = 10_000,
    systems: Annotated[
        int, typer.Option(help="Random systems that something is claimed of, for Theorem 1.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of models, masks and systems.")] = 0,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Count how often what is proved is not true: bounds beside what they are bounds of."""
    tell_all(
        kept(chain(check_systems(systems, seed), check_masks(masks, seed)), results),
        as_json,
        "Bounds, and how often they were exceeded",
        ["theorem, kind", "claims", "refused", "exceeded", "worst"],
        [
            lambda r: f"{r.theorem.split()[1]}{'' if r.proved else '*'}: {r.kind}",
            "count",
            "refused",
            "violated",
            "worst_ratio",
        ],
    )
    if not as_json:
        console.print("*: not proved, the growth of errors is what was observed")
