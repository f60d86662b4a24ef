"""Errors of several methods against lead time."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from smore.comparison.results import Comparison, ModelScores
from smore.plotting import sheet

WIDTH, HEIGHT = 6.4, 4.0  # inches
# Okabe and Ito's colours, which everybody tells apart; then their like in broken lines.
COLOURS = ("black", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES = ("-", "--", ":", "-.")
# Errors this many times as large as the variance leave the picture.
LARGEST_SHOWN = 30.0


def comparison_figure(comparison: Comparison) -> Figure:
    """Medians over seeds, with all seeds between the edges of a band."""
    figure = sheet(WIDTH, HEIGHT)
    axes = figure.subplots()
    drawn = [model for model in comparison.models if model.fits]
    for number, model in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        line = LINES[number // len(COLOURS) % len(LINES)]
        axes.plot(comparison.leads, _shown(model.by_lead), line, color=colour, label=_label(model))
        if len(model.fits) > 1:
            errors = np.array([_shown(fit.by_lead) for fit in model.fits])
            low, high = errors.min(0), errors.max(0)
            axes.fill_between(comparison.leads, low, high, color=colour, alpha=0.2, lw=0)
    axes.set_yscale("log")
    axes.set_ylim(top=min(axes.get_ylim()[1], LARGEST_SHOWN))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("steps ahead")
    axes.set_ylabel("squared error per variance")
    axes.set_title(f"{comparison.num_origins} forecasts of each model", fontsize=10)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _label(model: ModelScores) -> str:
    return model.name if len(model.fits) == 1 else f"{model.name}, {len(model.fits)} seeds"


def _shown(errors: tuple[float, ...]) -> np.ndarray:
    values = np.array(errors)
    return np.where(np.isfinite(values), values, np.nan)
