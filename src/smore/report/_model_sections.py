"""What a model is: its modes, what is proved about it, where to measure for it."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.figure import Figure

from smore.analysis import DynamicModes, told_share
from smore.plotting import (
    Ground,
    overview_figure,
    sensor_figure,
    spectrum_figure,
    unit_after_number,
    with_units,
)
from smore.report._findings import Findings
from smore.report._html import Html, element
from smore.report._telling import (
    chart,
    facts,
    more,
    paragraph,
    section,
    table,
)
from smore.report._worth import in_time
from smore.stability import HEADLINES, Verdict
from smore.surrogate import Description

SHOWN_MODES = 8
# Maps that are flatter than this would be hardly seen.
FLATTEST = 0.2
# Of figures with such maps, in inches: labels of their colours need room.
LEAST_HEIGHT = 3.4
# Random places are as good as chosen ones if they explain so little less of the variance.
AS_GOOD = 0.01
MEANING: dict[Verdict, str] = {
    "certified": "It is proved that forecasts of any length stay bounded.",
    "bounded": "It is proved that forecasts stay bounded over any finite time; in the long run "
    "they may grow slowly.",
    "refused": "It is not proved that long forecasts stay bounded: they may grow without limit.",
}
KINDS = {
    "linear": "linear",
    "koopman": "linear (Koopman)",
    "lrlq": "linear with a low-rank quadratic term",
    "quadratic": "linear with a quadratic term",
    "conservative": "quadratic, energy conserved by the nonlinear term",
    "mlp": "a small neural network",
}


def modes_section(findings: Findings) -> Html:
    """Spectrum and strongest modes."""
    modes, surrogate = findings.modes, findings.surrogate
    time = f" ({modes.time_units})" if modes.time_units else ""
    count = min(SHOWN_MODES, len(modes))
    rows = [
        [
            str(number + 1),
            float(modes.period[number]) if modes.pair[number] else "none",
            float(modes.efolding_time[number]),
            "grows" if modes.growth_rate[number] > 0 else "decays",
            f"{modes.amplitude_share[number]:.1%}",
        ]
        for number in range(count)
    ]
    strongest = _strongest(modes)
    if findings.mode_fields is None or surrogate.mesh is None:
        drawn = chart(spectrum_figure(modes), "modes-chart", f"Spectrum of rates. {strongest}")
    else:
        told = surrogate.description
        ground = Ground.of(surrogate.mesh, told)
        figure = overview_figure(modes, findings.mode_fields, ground, told.channels)
        drawn = chart(
            stretched(figure),
            "modes-chart",
            f"Spectrum of rates, and fields of the strongest modes. {strongest}",
        )
    cautions = [paragraph(f"Caution: {each}.", class_="note") for each in modes.cautions()]
    return section(
        "modes",
        "What do its dynamics consist of?",
        paragraph(
            f"{strongest} Modes are patterns that oscillate and decay, or grow, each at a rate of "
            f"its own; the field is their sum. These are of: {modes.about}."
        ),
        cautions,
        drawn,
        table(
            f"The strongest {count} of {len(modes)} modes",
            ["mode", f"period{time}", f"e-folding{time}", "trend", "share of amplitude"],
            rows,
        ),
    )


def stretched(figure: Figure) -> Figure:
    """A figure in which maps of strips, such as the tropics, are as high as their panels."""
    for axes in figure.axes:
        width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
        if axes.get_aspect() == 1.0 and not FLATTEST <= height / width <= 1 / FLATTEST:
            axes.set_aspect("auto")
            figure.set_figheight(max(figure.get_figheight(), LEAST_HEIGHT))
    return figure


def _strongest(modes: DynamicModes) -> str:
    units = f" {modes.time_units}" if modes.time_units else ""
    first = (
        f"oscillates with a period of {modes.period[0]:.3g}{units}"
        if modes.pair[0]
        else "does not oscillate"
    )
    growing = int((modes.growth_rate > 0).sum())
    told = (
        f"{growing} of {len(modes)} modes grow" if growing else f"None of {len(modes)} modes grows"
    )
    return f"The strongest mode {first}. {told}."


def certificate_section(findings: Findings) -> Html:
    """What is proved about stability, in words."""
    claims = findings.surrogate.certificate.claims
    remedy = paragraph(f"What to try: {claims.remedy}.") if claims.remedy else None
    reach = None
    if claims.radius:
        all_inside = claims.training_radius <= claims.radius
        reach = paragraph(
            f"That holds for states up to {claims.radius:.3g} from the centre, "
            f"{'all' if all_inside else 'not all'} training states among them: these reach "
            f"{claims.training_radius:.3g}."
        )
    rows = [["yes" if each.holds else "no", each.name, each.detail] for each in claims.conditions]
    return section(
        "certificate",
        "Can a long forecast blow up?",
        paragraph(
            element("strong", HEADLINES[claims.verdict].capitalize(), ". "),
            f"{MEANING[claims.verdict]} {_sentence(claims.reason)}",
        ),
        reach,
        remedy,
        paragraph(_accuracy(findings.surrogate.description)),
        more(
            "What was checked",
            paragraph(
                f"{_sentence(claims.dynamics)} Distances are measured by {claims.metric}. What is "
                f"iterated: {claims.integrator}, in units of {claims.time_unit}."
            ),
            table("Conditions of the proof", ["holds", "condition", "how it was found"], rows),
        ),
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _accuracy(description: Description) -> str:
    found = description.training.findings
    made = int(found.get("modes_made_to_decay", 0))
    told = "Stable is not accurate: how good forecasts are is another question, see above."
    if made:
        told += (
            f" {made} modes that grew were made to decay in training, which changed left-out "
            f"errors by {found['cost_of_stability']:+.2%}."
        )
    return told


def sensors_section(findings: Findings) -> Html | None:
    """Where to measure."""
    plan, surrogate = findings.sensors, findings.surrogate
    if plan is None or surrogate.mesh is None:
        return None
    space, count = surrogate.description.space, len(plan.coords)
    names = " and ".join(plan.channels)
    words = (
        f"Whoever measures {names} at {count} places knows {told_share(plan.explained)} of the "
        f"variance of the field if these are well chosen, {told_share(plan.random_explained)} at "
        "random ones, nothing from none, instruments taken to be exact."
    )
    if plan.explained - plan.random_explained < AS_GOOD:
        words += " The place hardly matters here."
    drawn = None
    if space.dim <= 3:
        drawn = chart(
            stretched(
                sensor_figure(surrogate, plan, surrogate.mesh, surrogate.description.channels)
            ),
            "sensors-chart",
            f"What {count} placed and {count} random sensors leave unknown. {words}",
            "What sensors leave unknown: standard deviation of the field, given their values.",
        )
    rows = [
        [str(number + 1), *(f"{value:.6g}" for value in row)]
        for number, row in enumerate(plan.coords.tolist())
    ]
    return section(
        "sensors",
        "Where would one measure?",
        paragraph(words, " ", element("code", "smore sensors"), " places as many as you have."),
        drawn,
        table(
            "The most informative first",
            ["sensor", *map(with_units, space.names, space.units)],
            rows,
        ),
    )


def model_section(findings: Findings) -> Html:
    """What the model was made from, and of."""
    description = findings.surrogate.description
    settings, training = description.settings, description.training
    scale = description.normalization.scale_array
    rows = [
        [
            channel.name,
            channel.units or "–",
            math.sqrt(description.training_variance[number]),
            math.sqrt(description.noise_variance[number]) * float(scale[number]),
        ]
        for number, channel in enumerate(description.channels)
    ]
    chosen = {
        name: value for name, value in settings.model_dump(mode="json").items() if value is not None
    }
    return section(
        "model",
        "What is this model?",
        facts(
            [
                ("learned from", _learned(description)),
                ("over", extent(findings)),
                ("step", in_time(1, description)),
                ("decoder", _decoder(findings)),
                ("dynamics", KINDS.get(settings.dynamics, settings.dynamics)),
                ("parameters", findings.num_parameters),
                ("recipe", f"{settings.recipe}, {training.seconds:.0f} s of training"),
                ("choices made on", training.selection),
            ]
        ),
        table(
            "What it forecasts",
            ["channel", "units", "standard deviation in training", "missed by its modes"],
            rows,
        ),
        more(
            "All settings",
            table("Settings", ["setting", "value"], [[n, _plain(v)] for n, v in chosen.items()]),
        ),
    )


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _learned(description: Description) -> str:
    training = description.training
    sequences = f"{training.num_sequences:,} sequence{'s' if training.num_sequences > 1 else ''}"
    return (
        f"{sequences}, {training.num_snapshots:,} snapshots in all, at {training.num_points:,} "
        "points"
    )


def _decoder(findings: Findings) -> str:
    settings, decoder = findings.surrogate.description.settings, findings.surrogate.decoder
    each = "for all channels together" if decoder.joint else "for each channel"
    kind = "modes at the mesh points, interpolated between"
    if settings.decoder != "gridded":
        kind = "a network of Fourier filters, continuous in space"
    return f"{decoder.latent_dim} modes {each}: {kind}"


def extent(findings: Findings) -> str:
    """Where the model knows anything."""
    space, mesh = findings.surrogate.description.space, findings.surrogate.mesh
    if mesh is None:
        return f"{', '.join(space.names)}, on several meshes"
    low, high = mesh.reach.min(axis=0), mesh.reach.max(axis=0)
    told = [
        f"{name} from {a:.4g} to {b:.4g} {unit_after_number(units)}".rstrip()
        for name, units, a, b in zip(space.names, space.units, low, high, strict=True)
    ]
    return ", ".join(told)
