"""Charts of scores: errors against lead time, error bars against errors, errors in space.

Colours are those of Okabe and Ito, which the colour-blind tell apart; lines differ in their dashes
and have their names beside them too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter
from numpy.typing import NDArray

from smore.data import Channel
from smore.evaluation import CURVE, NAMES, Calibration, Skill
from smore.plotting import with_units
from smore.report._picture import Picture
from smore.report._worth import Worth, leads_in_time
from smore.surrogate import Description

FloatArray = NDArray[np.float64]

BLUE, GREEN, ORANGE, RED, PURPLE = "#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7"
STYLES = {
    "model": ("black", "-", 2.4),
    "persistence": (BLUE, "--", 1.5),
    "climatology": (GREEN, "-.", 1.5),
    "monthly": (ORANGE, (0, (1, 1)), 1.8),
    "dmd": (RED, (0, (5, 1, 1, 1, 1, 1)), 1.5),
}
# Errors this many times as large as climatology's leave the picture; those that span more than
# this factor are drawn on a logarithmic axis.
LARGEST_SHOWN, LOGARITHMIC = 4.0, 20.0
SMALLEST_SHOWN = 1e-8
SIZE = (4.8, 3.5)


def skill_figure(skill: Skill, worth: Worth, description: Description) -> Figure:
    """Root mean squared errors by lead, in standard deviations of the data."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    curves = {name: np.sqrt(_numbers(errors)) for name, errors in skill.scores.nmse.items()}
    for first, last in worth.stretches:
        axes.axvspan(first - 0.5, last + 0.5, color=BLUE, alpha=0.1, linewidth=0)
    for name, errors in curves.items():
        colour, dashes, width = STYLES[name]
        label = "this model" if name == "model" else NAMES[name]
        _curve(axes, skill.leads, errors, label, color=colour, ls=dashes, lw=width)
    if skill.scores.spread is not None:
        own = _numbers(skill.scores.spread)
        _curve(axes, skill.leads, own, "error it expects of itself", color="0.45", ls=":", lw=1.5)
    climate = skill.scores.full_nmse.get("climatology") or 1.0
    _scaled(axes, curves, LARGEST_SHOWN * math.sqrt(climate))
    _label_leads(axes, skill.leads, description)
    axes.set_ylabel("rms error (standard deviations)")
    _legend(figure)
    return figure


def expected_figure(
    leads: Sequence[int], expected: FloatArray, checked: int, description: Description
) -> Figure:
    """The error that a model expects of itself, where no test data say more."""
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.axvspan(0.5, checked + 0.5, color=BLUE, alpha=0.1, linewidth=0)
    _curve(axes, leads, expected, "error it expects", color="black", ls="-", lw=2.4)
    axes.axhline(1.0, color=GREEN, ls="-.", lw=1.5, label="climatology")
    _scaled(axes, {"model": expected, "climatology": np.ones(1)}, LARGEST_SHOWN)
    _label_leads(axes, leads, description)
    axes.set_ylabel("rms error (standard deviations)")
    _legend(figure)
    return figure


def _legend(figure: Figure) -> None:
    figure.legend(frameon=False, fontsize=9, loc="outside upper left", ncols=2, handlelength=3.2)


def _curve(axes: Axes, leads: Sequence[int], errors: FloatArray, label: str, **style: Any) -> None:
    marker = "o" if len(leads) < 4 else ""
    axes.plot(leads, errors, label=label, marker=marker, markersize=4, **style)


def _scaled(axes: Axes, curves: dict[str, FloatArray], most: float) -> None:
    """Limits that show the model and what it is compared with, whatever went astray."""
    known = np.concatenate([each[np.isfinite(each) & (each > 0)] for each in curves.values()])
    low, high = float(known.min(initial=1.0)), min(float(known.max(initial=0.0)), most)
    if high > LOGARITHMIC * low:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
        axes.set_ylim(max(low, SMALLEST_SHOWN) / 1.5, high * 1.5)
    else:
        axes.set_ylim(0.0, 1.08 * high)
    axes.grid(axis="y", color="black", alpha=0.12, linewidth=0.6)


def _label_leads(axes: Axes, leads: Sequence[int], description: Description) -> None:
    """Steps below, time above."""
    axes.set_xlim(0.5, leads[-1] + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("steps ahead")
    times, unit = leads_in_time(np.array([1.0]), description)
    if unit == "steps" or times[0] == 1:
        if unit != "steps":
            axes.set_xlabel(f"steps ahead ({unit})")
        return
    step = float(times[0])

    def to_time(steps: Any) -> Any:
        return steps * step

    def to_steps(time: Any) -> Any:
        return time / step

    above = axes.secondary_xaxis("top", functions=(to_time, to_steps))
    above.set_xlabel(f"time ahead ({unit})")


def calibration_figure(skill: Skill, calibration: Calibration, description: Description) -> Figure:
    """Shares of true values inside intervals: by lead, and by how wide the intervals are."""
    figure = Figure(figsize=(6.6, 2.8), layout="constrained")
    by_lead, reliability = figure.subplots(1, 2, width_ratios=[1.5, 1.0])
    for level, colour, dashes in ((0.5, BLUE, "--"), (0.9, "black", "-")):
        shares = _numbers(calibration.by_lead[level])
        told = f"inside {level:.0%} intervals"
        _curve(by_lead, skill.leads, shares, told, color=colour, ls=dashes, lw=1.8)
        by_lead.axhline(level, color=colour, lw=0.8, ls=":")
    by_lead.set_ylim(0, 1.02)
    by_lead.yaxis.set_major_formatter(PercentFormatter(1.0))
    by_lead.set_xlim(0.5, skill.leads[-1] + 0.5)
    by_lead.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    by_lead.set_xlabel("steps ahead")
    by_lead.set_ylabel("true values inside")
    by_lead.legend(frameon=False, fontsize=9, loc="lower left")
    reliability.plot([0, 1], [0, 1], color="0.5", lw=0.8, ls=":")
    reliability.plot(CURVE, calibration.curve, color="black", marker=".")
    reliability.set(xlim=(0, 1), ylim=(0, 1), xlabel="interval", ylabel="true values inside")
    reliability.xaxis.set_major_formatter(PercentFormatter(1.0))
    reliability.yaxis.set_major_formatter(PercentFormatter(1.0))
    reliability.text(0.04, 0.96, "too wide", fontsize=9, color="0.4", va="top")
    reliability.text(0.96, 0.04, "too narrow", fontsize=9, color="0.4", ha="right")
    return figure


def places_figure(
    picture: Picture, channel: Channel, error: FloatArray, expected: FloatArray | None
) -> Figure:
    """Where the error is, and where it is expected, each on its scale; rms over time."""
    kinds = {"error": error} | ({} if expected is None else {"error it expects": expected})
    label = with_units(f"rms of {channel.name}", channel.units)
    if picture.is_line:
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots()
        for (name, values), dashes in zip(kinds.items(), ("-", ":"), strict=False):
            colour = "black" if name == "error" else "0.45"
            axes.plot(picture.places[:, 0], values, color=colour, ls=dashes, lw=1.6, label=name)
        axes.set_xlabel(picture.labels[0])
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0.0)
        axes.legend(frameon=False, fontsize=9)
        return figure
    assert picture.shape is not None
    left, right, bottom, top = picture.extent
    ratio = float(np.clip((top - bottom) / (right - left), 0.25, 1.3))
    wide = ratio < 0.45
    shape = (len(kinds), 1) if wide else (1, len(kinds))
    width = 5.0 if wide else 2.5
    size = ((width + 0.9) * shape[1], (width * ratio + 0.5) * shape[0] + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(*shape, squeeze=False).ravel()
    for axes, (name, values) in zip(panels, kinds.items(), strict=True):
        axes.set_facecolor("0.85")
        drawn = axes.imshow(
            picture.image(values),
            extent=(left, right, bottom, top),
            aspect="auto",
            interpolation="nearest",
            cmap="cividis",
            vmin=0.0,
            vmax=float(np.nanmax(values, initial=0.0)) or 1.0,
        )
        axes.set_title(with_units(name, channel.units), fontsize=10)
        axes.set_xlabel(picture.labels[0])
        axes.set_ylabel(picture.labels[1])
        bar = figure.colorbar(drawn, ax=axes, shrink=0.9, pad=0.02)
        bar.ax.tick_params(labelsize=8)
    return figure


def _numbers(values: Sequence[float | None]) -> FloatArray:
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
