"""`smore certify`: is the model stable, and what follows for its forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from smore.analysis import DecoderConstants, ForecastBound, StateError, field_bound
from smore.cli.laboratory import laboratory
from smore.cli.options import MissingOption
from smore.cli.output import Json, console, print_json
from smore.model import SMORE
from smore.plotting import require_figure_format, save_figure
from smore.stability import SHOWN_STEPS, Certificate, Verdict
from smore.surrogate import Surrogate, left_out_in_words

EXIT_CODES: dict[Verdict, int] = {"certified": 0, "refused": 3, "bounded": 4}
STYLES: dict[Verdict, str] = {"certified": "green", "refused": "bold red", "bounded": "yellow"}


def certify(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Trajectories whose forecast errors are to be bounded (Theorem 3); or sensor "
            "values of one time, for which the error of the state is estimated."
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Use the test set of a benchmark for that.")
    ] = None,
    missing: MissingOption = "refuse",
    figure: Annotated[
        Path | None, typer.Option(help="Draw spectra, and bounds beside rollouts, here.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say whether the dynamics are proved stable.

    Exit code 0 if so; 4 if they are proved bounded over any finite horizon only; 3 if neither.
    """
    require_figure_format(figure)
    model = SMORE.load(model_file)
    certificate = model.certify()
    constants = None if model.surrogate_.mesh is None else model.decoder_constants()
    source = laboratory().load_benchmark(dataset).test if dataset is not None else data
    forecast = state = None
    if source is not None:
        known = model.observations(source, missing=missing)
        if max(sequence.num_snapshots for sequence in known) > 1:
            forecast = model.forecast_bound(known)
        else:
            state = model.state_error(known)
    if as_json:
        print_json(_summary(certificate, constants, forecast, state))
    else:
        _print(certificate, constants, forecast, model.surrogate_)
        if state is not None:
            _print_state(state)
    if figure is not None:
        save_figure(model.plot.certificate(forecast), figure)
        if not as_json:
            console.print(f"figure: {figure}")
    if code := EXIT_CODES[certificate.claims.verdict]:
        raise typer.Exit(code)


def _print_origin(findings: dict[str, float]) -> None:
    """Where stability comes from if not from the data."""
    made = int(findings.get("modes_made_to_decay", 0))
    if made:
        console.print(
            f"training   {made} modes that grew were made to decay by 1e-6 per step; left-out "
            f"trajectories {cost_in_words(findings['cost_of_stability'])} by it",
        )


def cost_in_words(cost: float) -> str:
    """What a relative rise of left-out errors means; a fall is a gain."""
    if round(cost, 4) == 0:
        return "lost nothing"
    return f"{'lost' if cost > 0 else 'gained'} {abs(cost):.2%} of their accuracy"


def accuracy_in_words(verdict: Verdict, findings: dict[str, float]) -> str:
    """What stability does not say, with what the fit knows of it."""
    matter = "accuracy is another matter" if verdict == "refused" else "stable is not accurate"
    known = left_out_in_words(findings)
    if known is None:
        return f"{matter}: see `smore evaluate` for errors"
    return f"{matter}: {known}; see `smore evaluate` for other data"


def _largest_field(certificate: Certificate, constants: DecoderConstants) -> float | None:
    """L2 norm that long forecasts from training states cannot exceed, if that is proved."""
    if certificate.claims.verdict == "refused":
        return None
    return field_bound(constants, *certificate.norm_bound(SHOWN_STEPS))


def _summary(
    certificate: Certificate,
    constants: DecoderConstants | None,
    forecast: ForecastBound | None,
    state: StateError | None,
) -> dict[str, Any]:
    return certificate.to_dict() | {
        "decoder": None if constants is None else vars(constants),
        "field_bound": None if constants is None else _largest_field(certificate, constants),
        "forecast": None if forecast is None else forecast.to_dict(),
        "state": None if state is None else vars(state),
    }


def _print(
    certificate: Certificate,
    constants: DecoderConstants | None,
    forecast: ForecastBound | None,
    surrogate: Surrogate,
) -> None:
    findings = surrogate.description.training.findings
    verdict, *rest = certificate.text().splitlines()
    console.print(verdict, style=STYLES[certificate.claims.verdict], markup=False)
    console.print(accuracy_in_words(certificate.claims.verdict, findings), markup=False)
    for line in rest:
        console.print(line, markup=False)
    if constants is not None:
        kind = "proved" if constants.rigorous else "estimated from a sample"
        console.print(
            f"fields     |u(x)| <= {constants.growth_offset:.3g} + {constants.growth_slope:.3g} "
            f"|latent| ({kind}); L2 errors <= {constants.lipschitz:.3g} |latent error|",
        )
        largest = _largest_field(certificate, constants)
        if largest is not None:
            console.print(
                f"           L2 norm at most {largest:.3g} over {SHOWN_STEPS:,} steps from any "
                "training state",
            )
    if forecast is not None:
        _print_forecast(forecast)
    _print_origin(findings)


def _print_forecast(forecast: ForecastBound) -> None:
    recursion = forecast.recursion
    vacuous = "; a >= 1, so it promises nothing in the long run" if recursion.a >= 1 else ""
    word = "bound" if forecast.proved else "bound (not proved: a is what was observed)"
    console.print(
        f"forecasts  from these data: largest L2 error {forecast.measured.max():.3g}, {word} "
        f"{forecast.bound[0]:.3g} at first, {forecast.bound[-1]:.3g} at the end, "
        f"{forecast.limit:.3g} in the long run\n"
        f"           with a = {recursion.a:.6g}, b = {recursion.b_roll:.3g} observed on "
        f"{recursion.sample}{vacuous}",
    )


def _print_state(state: StateError) -> None:
    console.print(
        f"state      known to about {state.bound:.3g} from these sensors (c_S = "
        f"{state.observability:.3g}): an estimate, not a bound, because what an ideal state would "
        "miss is not known here; left-out trajectories say "
        f"{state.ideal_residual:.3g}, the fit misses {state.fit_residual:.3g}",
    )
