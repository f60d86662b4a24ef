"""How well a model forecasts: skill, where it errs, error bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from smore.data import Channel
from smore.evaluation import LEVELS, NAMES, Skill, beside_in_words
from smore.report._charts import calibration_figure, expected_figure, places_figure, skill_figure
from smore.report._findings import Expected, Findings, Tested
from smore.report._html import Html, element, joined
from smore.report._played import Frames
from smore.report._telling import chart, more, paragraph, section, table, with_unit
from smore.report._worth import at_step, dmd_by_lead, in_time, over_all
from smore.surrogate import Description

# Leads in a table.
SHOWN_LEADS = 10
# What the worst of so many points share among themselves is told.
WORST = 0.05
MOST_PLACES = 3


def skill_section(findings: Findings) -> Html:
    """Skill against lead time; without test data what the model knows itself."""
    description = findings.surrogate.description
    if findings.tested is None:
        return _untested(findings.expected, description)
    tested = findings.tested
    skill, worth = tested.skill, tested.worth
    absent = [
        paragraph(f"Not shown: {_absent(name)}, since {why}.", class_="note")
        for name, why in skill.absent.items()
    ]
    return section(
        "skill",
        "How far ahead is it worth using?",
        paragraph(
            element("strong", _answer(tested, description), ". "),
            " ".join([*worth.sentences(description), *_channels(tested, description)]),
            class_="answer",
        ),
        chart(
            skill_figure(skill, worth, description),
            "skill-chart",
            _described(skill, tested, description),
            f"Root mean squared error of {_origins(tested)}, in standard deviations of the "
            "training data: 1 is what climatology has in the training data. Shaded: steps at "
            "which the forecast beats whatever needs no model.",
        ),
        paragraph(" ".join(_beside(skill, description))),
        absent,
        more("The numbers", _table(skill)),
        _all_sequences(tested, description),
    )


def _answer(tested: Tested, description: Description) -> str:
    """Until when it is worth using, and that a forecast to the end is not, in one sentence."""
    worth = tested.worth
    headline = worth.headline(description)
    if worth.span is None:
        return _capital(headline)
    rest = over_all(tested.evaluation, description)
    return f"Worth using {headline}" + ("" if rest is None else f"; {rest}")


def _channels(tested: Tested, description: Description) -> list[str]:
    """Channels for which the answer is another one."""
    told = [f"{name} {each.headline(description)}" for name, each in tested.by_channel.items()]
    return [f"By channel: {'; '.join(told)}."] if told else []


def _beside(skill: Skill, description: Description) -> list[str]:
    """All steps together, and up to which the error is small."""
    ratios = {NAMES[name]: ratio for name, ratio in skill.ratios.items()}
    told = [f"By squared errors of all these steps together it is {beside_in_words(ratios)}."]
    dmd = dmd_by_lead(skill)
    told += [] if dmd is None else [dmd]
    if skill.valid_steps == 0:
        told.append("Its error is above half of climatology's from the first step on.")
    elif skill.valid_steps is not None:
        last = at_step(skill.valid_steps, description)
        told.append(f"Its error stays below half of climatology's up to {last}.")
    return told


def _origins(tested: Tested) -> str:
    skill, total = tested.skill, len(tested.truth)
    if total == 1:
        return f"{skill.num_origins} forecasts from origins spread over the record"
    if len(tested.used) == total:
        return f"forecasts of all {total} sequences from their first snapshots"
    return f"forecasts of {len(tested.used)} of {total} sequences, spread evenly"


def _described(skill: Skill, tested: Tested, description: Description) -> str:
    """The chart in words."""
    first, last = skill.leads[0], skill.leads[-1]
    told = []
    for name, errors in skill.scores.nmse.items():
        ends = [_number(_root(errors[place])) for place in (0, -1)]
        told.append(f"{NAMES.get(name, 'this model')} {ends[0]} to {ends[1]}")
    return (
        f"Line chart: rms error in standard deviations from step {first} to step {last}. "
        f"{'; '.join(told)}. Worth using: {tested.worth.headline(description)}."
    )


def _root(square: float | None) -> float | None:
    return None if square is None else math.sqrt(square)


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


def _absent(name: str) -> str:
    return "the mean of the data" if name == "climatology" else NAMES[name]


def _table(skill: Skill) -> Html:
    count = len(skill.leads)
    places = np.unique(np.linspace(0, count - 1, min(count, SHOWN_LEADS)).round().astype(int))
    rows: list[list[Any]] = [
        [
            {"model": "this model"}.get(name) or NAMES[name],
            *(_root(errors[place]) for place in places),
        ]
        for name, errors in skill.scores.nmse.items()
    ]
    scores = skill.scores
    if scores.spread is not None:
        rows.append(["error it expects", *(scores.spread[place] for place in places)])
    correlation = scores.anomaly_correlation["model"]
    rows.append(["anomaly correlation", *(correlation[place] for place in places)])
    return table(
        "Rms error by steps ahead, in standard deviations",
        ["", *(f"{skill.leads[place]}" for place in places)],
        rows,
    )


def _all_sequences(tested: Tested, description: Description) -> Html:
    evaluation = tested.evaluation
    relative = ", ".join(f"{name} {value:.2%}" for name, value in evaluation.relative_l2.items())
    what = "Of all sequences" if len(tested.truth) > 1 else "Of the whole record"
    length = in_time(len(evaluation.per_step_mse), description)
    limit = evaluation.limit()
    return paragraph(
        f"{what}, from the first snapshot to the end ({length}), the squared error is "
        f"{beside_in_words(evaluation.improvements)}. {'' if limit is None else f'{limit} '}"
        f"Error norm over field norm: {relative}."
    )


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _untested(expected: Expected | None, description: Description) -> Html:
    begin = (
        "No test data were given, so nobody knows. Run ",
        element("code", "smore report MODEL TEST"),
        " with data that the model has not seen. ",
    )
    share = description.training.findings.get("left_out_share")
    simple = description.training.findings.get("left_out_simple")
    known = []
    if share is not None:
        name = "climatology" if simple == 0 else "persistence"
        known.append(
            f"Forecasts inside the training data, of parts that were left out, had {share:.2g} "
            f"times the squared error of {name}."
        )
    if expected is None:
        return section("skill", "How far ahead is it worth using?", paragraph(*begin, *known))
    reached = [
        lead for lead, error in zip(expected.leads, expected.errors, strict=True) if error > 1
    ]
    own = (
        "The model itself expects to be as bad as climatology after "
        f"{in_time(reached[0], description)}."
        if reached
        else f"The model itself expects to be better than climatology for all of "
        f"{in_time(expected.leads[-1], description)}."
    )
    return section(
        "skill",
        "How far ahead is it worth using?",
        paragraph(*begin, " ".join([*known, own])),
        chart(
            expected_figure(
                expected.leads, np.array(expected.errors), expected.checked, description
            ),
            "expected-chart",
            f"Line chart: the error that the model expects of itself grows from "
            f"{expected.errors[0]:.3g} standard deviations after one step to "
            f"{expected.errors[-1]:.3g} after {expected.leads[-1]}.",
            "What the model expects of itself from a start that is known exactly. Shaded: as far "
            f"as forecasts inside the training data were checked, {expected.checked} steps.",
        ),
    )


def places_section(findings: Findings) -> Html | None:
    """Where errors are."""
    tested = findings.tested
    if tested is None or tested.frames is None or tested.places is None:
        return None
    frames, channels = tested.frames, findings.surrogate.description.channels
    parts = []
    for number, channel in enumerate(channels[: min(MOST_PLACES, len(tested.places))]):
        error = tested.places[number]
        if not np.isfinite(error).any():
            continue
        expected = None
        if frames.deviation is not None:
            expected = np.sqrt((frames.deviation[1:, number] ** 2).mean(axis=0))
            expected[np.isnan(error)] = np.nan
        words = _worst(frames, channel, error)
        parts.append(
            joined(
                [
                    paragraph(words),
                    chart(
                        places_figure(frames.picture, channel, error, expected),
                        f"places-chart-{number}",
                        f"Root mean squared error of {channel.name} in space. {words}",
                    ),
                ]
            )
        )
    kept = len(tested.used) if len(tested.truth) > 1 else 1
    of = f"{kept} sequences" if kept > 1 else "one forecast"
    plane = f" In the plane {frames.picture.plane}." if frames.picture.plane else ""
    intro = paragraph(f"Root mean squares over the times of {of}.{plane}", class_="note")
    return section("places", "Where does it err?", intro, parts)


def _worst(frames: Frames, channel: Channel, error: np.ndarray) -> str:
    known = np.flatnonzero(np.isfinite(error))
    order = known[np.argsort(error[known])[::-1]]
    few = max(round(WORST * len(order)), 1)
    squares = error[order] ** 2
    share = squares[:few].sum() / max(squares.sum(), np.finfo(float).tiny)
    largest, typical = float(error[order[0]]), float(np.sqrt(squares.mean()))
    return (
        f"{channel.name}: {with_unit(typical, channel.units)} on the whole, largest "
        f"({with_unit(largest, channel.units)}) at {frames.picture.told_place(order[0])}. The "
        f"worst {few / len(order):.0%} of the points hold {share:.0%} of the squared error."
    )


def calibration_section(findings: Findings) -> Html | None:
    """Whether error bars are of the right size."""
    tested = findings.tested
    if tested is None or tested.skill.calibration is None:
        return None
    skill, calibration = tested.skill, tested.skill.calibration
    shares = ", ".join(f"{calibration.coverage[level]:.0%} in {level:.0%}" for level in LEVELS)
    return section(
        "calibration",
        "Can its error bars be trusted?",
        paragraph(calibration.verdict()),
        chart(
            calibration_figure(skill, calibration, findings.surrogate.description),
            "calibration-chart",
            f"Two charts. Left: shares of true values inside 50% and 90% intervals by steps "
            f"ahead. Right: shares against the width of intervals. True values: {shares} "
            "intervals.",
            "Left: how many true values were inside intervals, which dotted lines say should be. "
            "Right: below the diagonal intervals are too narrow, above it too wide.",
        ),
    )
