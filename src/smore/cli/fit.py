"""`smore fit`: train a model on a file or on a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.cli.fields import with_fields_of
from smore.cli.laboratory import laboratory
from smore.cli.options import GeometryOption, MissingOption
from smore.cli.output import Json, console, error_console, print_evaluation, print_json
from smore.cli.reading import say_reading, with_reading
from smore.errors import DivergenceError, InterruptedTrainingError, SettingsError
from smore.evaluation import Evaluation
from smore.inputs import as_trajectories
from smore.model import SMORE
from smore.model_file import require_writable
from smore.runtime import is_leader
from smore.settings import Settings
from smore.surrogate import TrainingRecord
from smore.training import EVERY_SECONDS, discard_checkpoints, require_same_settings

# Squared errors per variance below which it is no matter how much better a basis could be.
AS_GOOD_AS_EXACT = 1e-10
# ... or is so small that it matters little how much smaller it might be.
SMALL = 1e-8


@with_fields_of(Settings)
@with_reading
def fit(
    data: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Training trajectories: NetCDF or Zarr files, or a pattern, 'run_*.nc'."
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Train on a benchmark: wave, navier-stokes, shallow-water.")
    ] = None,
    preset_name: Annotated[
        str | None, typer.Option("--preset", help="One of the paper's configurations.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file.")] = Path(
        "model.smore"
    ),
    select_on: Annotated[
        Path | None, typer.Option(help="File whose forecasts select the checkpoint.")
    ] = None,
    select_on_test: Annotated[
        bool, typer.Option(help="Benchmarks: select on the test set, as the paper does.")
    ] = False,
    missing: MissingOption = "refuse",
    geometry: GeometryOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoints of a run that was cut off.")
    ] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option(min=0.0, help="Time between checkpoints, in MODEL.checkpoints/.")
    ] = EVERY_SECONDS,
    results: Annotated[
        Path | None, typer.Option(help="Benchmarks: append the test scores to this CSV file.")
    ] = None,
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
    **values: Any,
) -> None:
    """Train a model and write it to a file.

    Everything has a default: `smore fit flow.nc` chooses the latent size from the data.
    """
    if preset_name is not None:
        settings = laboratory().preset_settings(preset_name, **values)
        if not data and dataset is None:
            dataset = laboratory().preset_dataset(preset_name)
    else:
        settings = Settings.of(**values)
    if (not data) == (dataset is None):
        raise SettingsError("say what to train on: a file, or a benchmark with --dataset")
    require_writable(output)
    model = SMORE.from_settings(settings)
    benchmark = None if dataset is None else laboratory().load_benchmark(dataset)
    if select_on_test and benchmark is None:
        raise SettingsError("--select-on-test needs a benchmark; use --select-on FILE with a file")
    training: Any = None if benchmark is None else benchmark.train
    if data:
        if resume:  # before anything is read
            require_same_settings(_checkpoints(output), settings)
        how = {"missing": missing, "geometry": geometry, **(reading or {})}
        training = as_trajectories(list(data), memory=settings.memory, **how)
        say_reading(training)
    selection = benchmark.test if benchmark is not None and select_on_test else select_on
    run = {"checkpoint_seconds": checkpoint_seconds, "resume": resume}
    _train(model, output, training, select_on=selection, missing=missing, geometry=geometry, **run)
    if not is_leader():
        return  # every process has the same model: one writes and tells of it
    evaluation = None if benchmark is None else model.evaluate(benchmark.test)
    if evaluation is not None and results is not None:
        laboratory().append_result(
            results, model, evaluation, dataset=str(dataset), preset=preset_name or ""
        )
    _report(model, output, evaluation, as_json)


def _checkpoints(output: Path) -> Path:
    return output.with_name(f"{output.name}.checkpoints")


def _train(model: SMORE, output: Path, data: Any, **options: Any) -> None:
    """Fit and save the model, with checkpoints beside it until it is safe."""
    checkpoints = _checkpoints(output)
    try:
        model.fit(data, checkpoints=checkpoints, **options)
    except DivergenceError:
        if hasattr(model, "surrogate_") and is_leader():
            # Not in the place of a model that may be good.
            kept = output.with_name(f"{output.stem}.diverged{output.suffix}")
            model.save(kept)
            discard_checkpoints(checkpoints)
            console.print(f"the last good state is in {kept}")
        raise
    except InterruptedTrainingError as stopped:
        if is_leader():
            error_console.print(
                f"stopped, with a checkpoint in {checkpoints}; the same command with --resume "
                "goes on",
            )
        raise typer.Exit(128 + stopped.signal) from None
    if is_leader():
        model.save(output)
        discard_checkpoints(checkpoints)


def _report(model: SMORE, output: Path, evaluation: Evaluation | None, as_json: bool) -> None:
    description = model.surrogate_.description
    if as_json:
        result = {
            "model": str(output),
            "parameters": model.num_parameters,
            "settings": description.settings.model_dump(),
            "training": description.training.model_dump(),
            "certificate": model.certify().to_dict(),
        }
        if evaluation is not None:
            result["evaluation"] = evaluation.to_dict()
        print_json(result)
        return
    training, settings = description.training, description.settings
    each = "" if settings.latents == "joint" else " per channel"
    console.print(
        f"[bold]{output}[/]: {settings.dynamics} dynamics of {settings.latent_dim} latents{each}, "
        f"{model.num_parameters:,} parameters, {_work(training, settings)}, "
        f"{training.seconds:.0f} s",
    )
    if "filled" in training.findings:
        console.print(_filled_report(training.findings["filled"]))
    if settings.dynamics == "linear":
        console.print(_choice_report(training.findings, settings))
    if "decoder_error" in training.findings:
        console.print(_decoder_report(training.findings))
    if training.history:
        best = min(error for _, error in training.history)
        falling = training.selected_epoch + 1 == settings.epochs
        advice = "; still falling, more --epochs may help" if falling else ""
        console.print(f"forecast error on the {training.selection}: {best:.3g}{advice}")
    claims = model.certify().claims
    verdict = {
        "certified": "certified stable",
        "bounded": "proved bounded over any finite horizon",
        "refused": "stability not certified",
    }[claims.verdict]
    console.print(f"{verdict}: {claims.reason}")
    if evaluation is not None:
        print_evaluation(evaluation)
    else:
        console.print(f"next: smore evaluate {output} TEST_DATA")


def _work(training: TrainingRecord, settings: Settings) -> str:
    if settings.recipe == "fast":
        return f"{training.epochs_run} decoder steps"
    return f"epoch {training.selected_epoch} of {training.epochs_run} ({training.selection})"


def _choice_report(findings: dict[str, float], settings: Settings) -> str:
    """What forecasts inside the training data preferred, in a sentence."""
    rank, towards = int(findings["rank"]), findings["towards"]
    if findings["ridge"] < 0:
        kinds = {0.0: "climatology", 1.0: "persistence"}
        told = kinds.get(towards, f"departures that decay by a factor {towards:.3g} per step")
        what = f"{told} of {rank} directions: no dynamics forecast better"
    else:
        what = f"a linear map of {rank} directions"
    about = [f"{len(settings.periods or ())} periods"] if settings.periods else []
    about += ["a trend"] if findings["trend"] else []
    centre = f" about {' and '.join(about)}" if about else ""
    steps = int(findings["checked_steps"])
    return f"chosen by forecasts of up to {steps} steps inside the training data: {what}{centre}"


def _filled_report(share: float) -> str:
    return f"{100 * share:.2g}% of the values are missing now and then: filled from the others"


def _decoder_report(findings: dict[str, float]) -> str:
    """How good the basis is, beside the best there is."""
    report = f"decoder error {findings['decoder_error']:.3g} on the training data"
    if findings["decoder_error"] < AS_GOOD_AS_EXACT:
        return f"{report}: as good as exact"
    if findings["decoder_error"] > SMALL and findings.get("pod_limit", 0.0) > 0:
        ratio = findings["decoder_error"] / findings["pod_limit"]
        report += f", {ratio:.3g}x of the best possible linear basis ({findings['pod_limit']:.3g})"
    return report
