"""What a model cannot do, as far as it knows itself."""

from __future__ import annotations

import math

import numpy as np

from smore.evaluation import NAMES, beside_in_words
from smore.report._findings import Findings
from smore.report._html import Html, element
from smore.report._model_sections import extent
from smore.report._telling import section, with_unit
from smore.report._worth import so_many

# Shares from which on they are worth a word.
BENT = 0.01
HARDLY_BETTER = 0.9


def limits_section(findings: Findings) -> Html:
    """A list, the plainest first."""
    items = [
        element("li", element("strong", f"{title}. "), told) for title, told in limits(findings)
    ]
    return section("limits", "What can it not do?", element("ul", items, class_="limits"))


def limits(findings: Findings) -> list[tuple[str, str]]:
    """(in a word, in a sentence or two)."""
    found = [
        (
            "Other systems",
            "It has learned one system. With other equations, parameters, boundaries or forcing "
            "than those of the training data it forecasts as if nothing had changed.",
        ),
        (
            "Elsewhere",
            f"It knows {extent(findings)}. Points outside come with a warning, or without a value.",
        ),
        *_unseen(findings),
        *_time(findings),
        _detail(findings),
        *_proof(findings),
        *_training(findings),
    ]
    if findings.tested is not None:
        skill = findings.tested.skill
        if not skill.beats_references:
            ratios = {NAMES[name]: ratio for name, ratio in skill.ratios.items()}
            found.append(
                (
                    "Better ways",
                    "By squared errors of all steps that were tested together it is "
                    f"{beside_in_words(ratios)}.",
                )
            )
    found += [("Modes", f"{_capital(each)}.") for each in findings.modes.cautions()]
    found += [("A warning", f"{_capital(each)}.") for each in findings.warned]
    return found


def _unseen(findings: Findings) -> list[tuple[str, str]]:
    seen, channels = findings.surrogate.seen, findings.surrogate.description.channels
    if seen is None:
        return []
    told = [
        f"{channel.name} at {int((~known).sum()):,} of {len(known):,} points"
        for channel, known in zip(channels, seen, strict=True)
        if not known.all()
    ]
    return [
        (
            "Never observed",
            f"The training data have no value of {', '.join(told)}, as on land: nothing is "
            "forecast there, and maps are blank.",
        )
    ]


def _time(findings: Findings) -> list[tuple[str, str]]:
    description = findings.surrogate.description
    checked = description.training.findings.get("checked_steps")
    told = f"It learned from stretches of {so_many(description.horizon - 1, description)}."
    if checked:
        told = (
            f"In training, forecasts were checked up to {so_many(int(checked), description)} ahead."
        )
    if findings.tested is not None:
        tested = findings.tested.worth.tested
        told += f" The test reaches {so_many(tested, description)} ahead."
    found = [("Far ahead", f"{told} What is further is extrapolation.")]
    change = description.training.findings.get("generator_change", 0.0)
    if change > BENT:
        found.append(
            (
                "Between steps",
                f"Between training steps the dynamics are bent by {change:.0%}: whole steps are "
                "forecast better.",
            )
        )
    return found


def _detail(findings: Findings) -> tuple[str, str]:
    description = findings.surrogate.description
    missed = np.sqrt(np.array(description.noise_variance) * np.array(description.noise_growth))
    missed = missed * description.normalization.scale_array
    told = [
        f"{with_unit(float(size), channel.units)} of {channel.name} "
        f"({float(size) / max(math.sqrt(variance), 1e-300):.2g} of its standard deviation)"
        for size, channel, variance in zip(
            missed, description.channels, description.training_variance, strict=True
        )
    ]
    latents = findings.surrogate.decoder.latent_dim
    return (
        "Finer detail",
        f"What its {latents} modes do not hold is lost, of data that were left out about "
        f"{', '.join(told)}.",
    )


def _proof(findings: Findings) -> list[tuple[str, str]]:
    claims = findings.surrogate.certificate.claims
    if claims.verdict == "certified" and claims.radius is None:
        return []
    if claims.verdict == "refused":
        return [("Long forecasts", f"Nothing is proved about them: {claims.reason}.")]
    return [("Long forecasts", f"What is proved has limits: {claims.reason}.")]


def _training(findings: Findings) -> list[tuple[str, str]]:
    found, told = findings.surrogate.description.training.findings, []
    if found.get("share", 1.0) < 1:
        told.append(
            (
                "A changing record",
                f"The record changes its ways: only its last {found['share']:.0%} was learned "
                "from, and what comes next may differ again.",
            )
        )
    if found.get("left_out_share", 0.0) > HARDLY_BETTER:
        simple = "climatology" if found.get("left_out_simple") == 0 else "persistence"
        told.append(
            ("Little to learn", f"Inside the training data it was hardly better than {simple}.")
        )
    tested = findings.tested
    if tested is not None and tested.skill.calibration is not None:
        verdict = tested.skill.calibration.verdict()
        if "about right" not in verdict:
            told.append(("Error bars", verdict))
    return told


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}"
