"""Skill against lead time, error bars against errors, and reliability."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import (
    LogLocator,
    MaxNLocator,
    NullFormatter,
    PercentFormatter,
    StrMethodFormatter,
)
from numpy.typing import NDArray

from smore.evaluation import CURVE, LEVELS, NAMES, Calibration, Skill
from smore.plotting.sheet import sheet

HEIGHT = 3.0  # inches
WIDTH = 4.0  # of a panel
# Okabe and Ito's colours, which everybody tells apart.
COLOURS = {
    "model": "black",
    "persistence": "#0072B2",
    "climatology": "#009E73",
    "monthly": "#CC79A7",
    "dmd": "#D55E00",
}
SPREAD = "#E69F00"
# Errors this many times as large as climatology's leave the picture.
LARGEST_SHOWN = 30.0


def skill_figure(skill: Skill) -> Figure:
    """Everything that is known about skill."""
    figure = sheet(WIDTH * _num_panels(skill, reliability=True), HEIGHT)
    draw_skill(figure, skill, reliability=True)
    return figure


def _num_panels(skill: Skill, *, reliability: bool) -> int:
    return 1 if skill.calibration is None else 2 + reliability


def draw_skill(figure: Figure | SubFigure, skill: Skill, *, reliability: bool = False) -> None:
    """Errors of the model and its references, then shares inside intervals and spread.

    Args:
        figure: where.
        skill: what was found.
        reliability: whether levels of intervals are compared with shares of the truth in a panel
            of its own.
    """
    panels = figure.subplots(
        1, _num_panels(skill, reliability=reliability), squeeze=False, gridspec_kw={"wspace": 0.08}
    )[0]
    figure.suptitle(f"{skill.num_origins} forecasts from origins spread evenly", fontsize=10)
    _draw_errors(panels[0], skill)
    if skill.calibration is None:
        return
    _draw_coverage(panels[1], skill, skill.calibration)
    if reliability:
        _draw_reliability(panels[2], skill.calibration)


def _draw_errors(axes: Axes, skill: Skill) -> None:
    for name, errors in skill.scores.nmse.items():
        told = NAMES.get(name, name)
        axes.plot(
            skill.leads,
            _numbers(errors),
            color=COLOURS[name],
            lw=1.8 if name == "model" else 1.0,
            marker="." if len(skill.leads) < 20 else "",
            label=f"{told}, rank {skill.dmd_rank}" if name == "dmd" else told,
        )
    axes.set_yscale("log")
    climate = skill.scores.full_nmse.get("climatology")
    if climate:
        low, high = axes.get_ylim()
        axes.set_ylim(low, min(high, LARGEST_SHOWN * climate))
    _plain_powers(axes)
    axes.set_xlabel("steps ahead")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("squared error per variance")
    _legend(axes)


def _draw_coverage(axes: Axes, skill: Skill, calibration: Calibration) -> None:
    for level, shade in zip(LEVELS, ("0.7", "0.5", "black", "0.3"), strict=True):
        if level in (0.5, 0.9):
            shares = _numbers(calibration.by_lead[level])
            axes.plot(skill.leads, shares, color=shade, label=f"inside {level:.0%} intervals")
            axes.axhline(level, color=shade, lw=0.7, ls=":")
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("steps ahead")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("true values inside")
    _legend(axes)
    ratios = skill.scores.spread_over_error
    if ratios is None:
        return
    beside = axes.twinx()
    beside.plot(skill.leads, _numbers(ratios), color=SPREAD, lw=1.0)
    beside.axhline(1.0, color=SPREAD, lw=0.7, ls=":")
    beside.set_yscale("log")
    _plain_powers(beside)
    beside.set_ylabel("spread over error", color=SPREAD)


def _draw_reliability(axes: Axes, calibration: Calibration) -> None:
    axes.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls=":")
    axes.plot(CURVE, calibration.curve, color="black", marker=".")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="interval", ylabel="true values inside")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.text(0.03, 0.95, "too wide", fontsize=8, color="0.4", va="top")
    axes.text(0.97, 0.05, "too narrow", fontsize=8, color="0.4", ha="right")


def _legend(axes: Axes) -> None:
    """Above the axes: curves are everywhere inside."""
    axes.legend(frameon=False, fontsize=7, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 1.0))


def _plain_powers(axes: Axes) -> None:
    """Few numbers along a logarithmic axis, written out where it is short."""
    low, high = axes.get_ylim()
    axes.yaxis.set_minor_formatter(NullFormatter())
    if high < 100 * low:
        short = high < 5 * low
        axes.yaxis.set_major_locator(MaxNLocator(4) if short else LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _numbers(values: tuple[float | None, ...]) -> NDArray[np.float64]:
    return np.array([math.nan if value is None else value for value in values])
