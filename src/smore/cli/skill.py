"""Skill against lead time and calibration, as tables and words."""

from __future__ import annotations

from typing import Any

import numpy as np

from smore.cli.output import console, print_table
from smore.evaluation import LEVELS, NAMES, LeadScores, Skill
from smore.runtime import show

# Leads that fit beside each other on a terminal.
SHOWN_LEADS = 4


def print_skill(skill: Skill) -> None:
    """Errors by lead beside those of references, then what is better."""
    shown, scores = _shown(skill), skill.scores
    last = skill.leads[-1]
    rows = [
        [_named(name, skill), *(errors[place] for place in shown), scores.full_nmse[name]]
        for name, errors in scores.nmse.items()
    ]
    rows += _further(scores, shown)
    print_table(
        f"{skill.num_origins} forecasts from origins spread evenly, up to {last} steps ahead",
        ["per variance, at step", *(str(skill.leads[place]) for place in shown), "all"],
        rows,
    )
    if skill.weighted is not None and skill.on_sphere:
        told = [f"{_named(n, skill)} {show(e)}" for n, e in skill.weighted.full_nmse.items()]
        console.print(f"weighted by area, all steps: {', '.join(told)}")
    console.print(skill.verdict(), style="green" if skill.beats_references else "bold red")
    if skill.valid_steps is not None:
        console.print(
            f"valid up to step {skill.valid_steps} of {last}: so long the error stays below half "
            "of climatology's"
        )
    if skill.calibration is not None:
        console.print(skill.calibration.verdict())
    for name, why in skill.absent.items():
        console.print(f"not shown: {_absent(name)} ({why})", markup=False)


def _absent(name: str) -> str:
    return "the mean of the data" if name == "climatology" else NAMES[name]


def _further(scores: LeadScores, shown: list[int]) -> list[list[Any]]:
    """What says something about the model beside its errors."""
    told = {
        "anomaly correlation": scores.anomaly_correlation["model"],
        "CRPS per deviation": scores.crps,
        "spread over error": scores.spread_over_error,
    }
    return [
        [name, *(values[place] for place in shown), None]
        for name, values in told.items()
        if values is not None
    ]


def print_calibration(skill: Skill) -> None:
    """Shares of the truth inside intervals, by lead and in all."""
    calibration = skill.calibration
    assert calibration is not None
    shown = _shown(skill)
    print_table(
        "Share of true values inside intervals",
        ["interval, at step", *(str(skill.leads[place]) for place in shown), "all"],
        [
            [
                f"{level:.0%}",
                *(_percent(calibration.by_lead[level][place]) for place in shown),
                _percent(calibration.coverage[level]),
            ]
            for level in LEVELS
        ],
    )


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.1%}"


def _named(name: str, skill: Skill) -> str:
    if name == "dmd":
        return f"plain DMD, rank {skill.dmd_rank}"
    return NAMES.get(name, name)


def _shown(skill: Skill) -> list[int]:
    """Places of some leads: the first, the last, and some between, most of them early."""
    last = len(skill.leads) - 1
    places = np.geomspace(1, last + 1, SHOWN_LEADS).round().astype(int) - 1
    return sorted(set(places.tolist()))
