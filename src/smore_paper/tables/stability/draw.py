"""The figure of the stability study: what each mechanism is worth as the latents grow in number."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from smore.plotting import save_figure
from smore_paper.claims import STABILITY_CLAIMS, STABILITY_DIMS
from smore_paper.page.markdown import epochs_of
from smore_paper.tables.ledger import Row, read_rows
from smore_paper.tables.stability.measure import (
    DATASETS,
    EVERYWHERE,
    NAME,
    PAPER_EPOCHS,
    has_usual_start,
)

# Warm where the quadratic term is free, cold where it has low rank; from left to right.
STYLES: dict[str, dict[str, Any]] = {
    "OFF": {"color": "#8b0000", "marker": "s"},
    "cons only": {"color": "#c56a1a", "marker": "<"},
    "eig only": {"color": "#e39a2d", "marker": ">"},
    "penalties only": {"color": "#a88b00", "marker": "D"},
    "clip only": {"color": "#d81b60", "marker": "p"},
    "FULL without low rank": {"color": "#f4511e", "marker": "o"},
    "low rank only": {"color": "#1b9e77", "marker": "P"},
    "FULL without penalties": {"color": "#26a0c9", "marker": "v"},
    "FULL without clip": {"color": "#7e57c2", "marker": "^"},
    "FULL": {"color": "#0d47a1", "marker": "o"},
}
SPREAD = 0.7  # of the distance between latent dimensions, over which configurations stand
BESIDE = 0.03  # how far right of ours the paper's value stands
FAINT = 0.35
TOP = 0.95  # of the panel's height, where errors that overflow are marked
CROSS: dict[str, Any] = {"marker": "x", "color": "black", "ms": 8, "mew": 1.1, "ls": ""}


@dataclass(frozen=True)
class Dot:
    """Error of one configuration at one latent dimension.

    Attributes:
        error: mean over seeds, inf if a forecast overflowed.
        non_finite: whether training turned non-finite, of any seed.
    """

    error: float
    non_finite: bool


# By configuration, then by latent dimension.
Dots = Mapping[str, Mapping[int, Dot]]


def draw_stability(results: Path) -> list[Path]:
    """Draw the figure if there are rows in `results/stability.csv`; its file."""
    rows = [row for row in read_rows(results / f"{NAME}.csv") if has_usual_start(row)]
    by_name = {name: [row for row in rows if row["dataset"] == name] for name in DATASETS}
    dots = {name: measured_dots(here) for name, here in by_name.items()}
    measured = {name: each for name, each in dots.items() if each}
    if not measured:
        return []
    path = results / f"{NAME}.png"
    titles = {name: f"{name}, {epochs_of(by_name[name])} epochs" for name in measured}
    save_figure(stability_figure(measured, titles), path)
    return [path]


def measured_dots(rows: Iterable[Row]) -> dict[str, dict[int, Dot]]:
    """What the rows of one benchmark say."""
    seeds: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["status"] == "done" and row["full_mse"] is not None:
            seeds.setdefault((row["configuration"], row["latent_dim"]), []).append(row)
    dots: dict[str, dict[int, Dot]] = {}
    for (name, latent_dim), found in seeds.items():
        error = statistics.fmean(row["full_mse"] for row in found)
        gone = any(row["first_non_finite_epoch"] is not None for row in found)
        dots.setdefault(name, {})[latent_dim] = Dot(math.inf if math.isnan(error) else error, gone)
    return dots


def claimed_dots(dataset: str) -> dict[str, dict[int, Dot]]:
    """What the paper has for one benchmark."""
    dots: dict[str, dict[int, Dot]] = {}
    for (where, name, latent_dim), claim in STABILITY_CLAIMS.items():
        if where == dataset:
            gone = claim.first_non_finite_epoch is not None
            dots.setdefault(name, {})[latent_dim] = Dot(claim.full_mse, gone)
    return dots


def stability_figure(measured: Mapping[str, Dots], titles: Mapping[str, str]) -> Figure:
    """Full-window error over latent dimension; the paper's faint, a little to the right.

    Args:
        measured: by benchmark, each of which gets a panel.
        titles: of the panels, by benchmark.
    """
    figure = Figure(figsize=(4.4 * len(measured) + 2.2, 4.6), layout="constrained")
    figure.suptitle("SMORE-LRLQ with its four mechanisms on and off", fontsize=11)
    panels = figure.subplots(1, len(measured), squeeze=False)[0]
    for axes, (dataset, dots) in zip(panels, measured.items(), strict=True):
        axes.set_yscale("log")
        dims = STABILITY_DIMS[dataset]
        _draw(axes, claimed_dots(dataset), dims, BESIDE, FAINT)
        _draw(axes, dots, dims, 0.0, 1.0)
        axes.set_xticks(range(len(dims)), [f"p = {each}" for each in dims])
        axes.tick_params(axis="x", length=0)
        for between in range(1, len(dims)):
            axes.axvline(between - 0.5, color="0.85", lw=0.8, zorder=0)
        axes.set_title(titles[dataset], fontsize=10)
    panels[0].set_ylabel("mean squared error, full window")
    figure.legend(handles=_legend(), loc="outside right center", frameon=False, fontsize=8)
    return figure


def _draw(axes: Axes, dots: Dots, dims: Sequence[int], shift: float, alpha: float) -> None:
    """Each configuration in its own place beside every latent dimension."""
    places = len(STYLES) - 1
    for number, (name, style) in enumerate(STYLES.items()):
        offset = SPREAD * (number / places - 0.5) + shift
        line = ":" if name in EVERYWHERE else ""
        here = {dims.index(p) + offset: dot for p, dot in sorted(dots.get(name, {}).items())}
        finite = {x: dot.error for x, dot in here.items() if math.isfinite(dot.error)}
        axes.plot(list(finite), list(finite.values()), ms=5, lw=1.2, ls=line, alpha=alpha, **style)
        for x, dot in here.items():
            _mark(axes, x, dot, style["color"], alpha)


def _mark(axes: Axes, x: float, dot: Dot, colour: str, alpha: float) -> None:
    """A cross on what turned non-finite, an arrow where the error is beyond all scales."""
    if not math.isfinite(dot.error):
        where = axes.get_xaxis_transform()
        axes.plot(x, TOP, marker=r"$\uparrow$", ms=10, color=colour, alpha=alpha, transform=where)
        if dot.non_finite:
            axes.plot(x, TOP, alpha=alpha, transform=where, **CROSS)
    elif dot.non_finite:
        axes.plot(x, dot.error, alpha=alpha, **CROSS)


def _legend() -> list[Line2D]:
    ours = [
        Line2D([], [], ms=5, lw=1.2, ls=":" if name in EVERYWHERE else "", label=name, **style)
        for name, style in STYLES.items()
    ]
    dot: dict[str, Any] = {"marker": "o", "ms": 5, "ls": "", "color": "0.2"}
    return [
        *ours,
        Line2D([], [], ls="", label=""),
        Line2D([], [], label="measured here", **dot),
        Line2D([], [], label=f"the paper, {PAPER_EPOCHS:,} epochs", alpha=FAINT, **dot),
        Line2D([], [], label="training turned non-finite", **CROSS),
        Line2D([], [], marker=r"$\uparrow$", ms=9, ls="", color="0.2", label="forecasts overflow"),
    ]
