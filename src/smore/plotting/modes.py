"""Where the rates of the learned dynamics lie, and beside that what their modes look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from smore.analysis import DynamicModes
from smore.data import Channel
from smore.plotting._mode_fields import draw_modes, modes_size
from smore.plotting.ground import Ground
from smore.plotting.sheet import sheet

NUM_LABELS = 8
# Modes weaker than this share of the strongest do not decide what the spectrum shows.
VISIBLE = 0.01
# Labels closer than this share of the axes would be written over each other.
CLOSE = np.array([0.15, 0.05])
LARGEST_MARKER = 220.0
SPECTRUM_SIZE = (4.6, 4.0)


def spectrum_figure(modes: DynamicModes) -> Figure:
    """Rates in the complex plane, half of it: a conjugate pair is one dot.

    The area of a dot is the mode's amplitude; the strongest are numbered.
    """
    figure = sheet(*SPECTRUM_SIZE)
    _draw_spectrum(figure.subplots(), modes)
    return figure


def overview_figure(
    modes: DynamicModes, fields: xr.Dataset, ground: Ground, channels: Sequence[Channel]
) -> Figure:
    """The spectrum and, beside it, the fields of the strongest modes, channel by channel.

    Args:
        modes: of the dynamics.
        fields: as `mode_fields` returned them.
        ground: where.
        channels: to draw.
    """
    width, height = modes_size(fields, ground)
    spectrum_width, spectrum_height = SPECTRUM_SIZE
    size = (spectrum_width + width, max(height * len(channels) + 0.3, spectrum_height))
    figure = sheet(*size)
    parts: Any = figure.subfigures(1, 2, width_ratios=[spectrum_width, width])
    left, right = parts
    _draw_spectrum(_upper_part(left, spectrum_height / size[1]), modes)
    right.suptitle("The strongest modes, in a typical state", fontsize=10)
    blocks: Any = right.subfigures(len(channels), 1, squeeze=False)[:, 0]
    for block, channel in zip(blocks, channels, strict=True):
        draw_modes(block, fields[channel.name], ground)
    return figure


def _upper_part(figure: Any, share: float) -> Axes:
    """Axes in the upper share of a figure: beside many channels a spectrum stays in shape."""
    heights = [share, 1 - share] if share < 1 else [1.0]
    return figure.add_subplot(figure.add_gridspec(len(heights), 1, height_ratios=heights)[0])


def _draw_spectrum(axes: Axes, modes: DynamicModes) -> None:
    strength = modes.amplitudes / max(modes.amplitudes.max(), np.finfo(float).tiny)
    shown = strength >= VISIBLE
    across, up = _limits(modes, shown)
    axes.axvspan(across[0], 0.0, color="tab:green", alpha=0.1, linewidth=0)
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    axes.scatter(
        modes.growth_rate,
        modes.frequency,
        s=np.maximum(LARGEST_MARKER * strength, 3.0),
        c=np.where(modes.growth_rate > 0, "tab:red", "tab:blue"),
        alpha=0.6,
        linewidth=0,
    )
    for place, label in _labels(modes, int(shown.sum()), across, up):
        axes.annotate(label, place, xytext=(6, 6), textcoords="offset points", fontsize=8)
    axes.set_xlim(across)
    axes.set_ylim(up)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    per_time = f"1/{modes.time_units}" if modes.time_units else "per unit of time"
    axes.set_xlabel(f"growth rate ({per_time})")
    axes.set_ylabel(f"frequency ({per_time})")
    axes.set_title(f"{modes.about}\nareas: amplitude; shaded: decay", fontsize=9)
    hidden = int((~_inside(modes.growth_rate, across) | ~_inside(modes.frequency, up)).sum())
    if hidden:
        note = f"{hidden} weak modes lie outside"
        axes.text(0.02, 0.98, note, transform=axes.transAxes, va="top", fontsize=8, color="0.3")


def _limits(
    modes: DynamicModes, shown: NDArray[np.bool_]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of the growth rates and frequencies `shown`, with the imaginary axis in sight."""
    growth, frequency = modes.growth_rate[shown], modes.frequency[shown]
    # Growth rates far below the frequencies are all but zero: they must not fill the picture.
    least = 0.05 * float(np.abs(modes.rates[shown]).max(initial=0.0)) or 1.0
    low, high = min(growth.min(initial=0.0), -least), max(growth.max(initial=0.0), least / 2)
    top = float(frequency.max(initial=0.0)) or 1.0
    margin = 0.08 * (high - low)
    return (low - margin, high + 2 * margin), (-0.06 * top, 1.12 * top)


def _labels(
    modes: DynamicModes, count: int, across: tuple[float, float], up: tuple[float, float]
) -> list[tuple[tuple[float, float], str]]:
    """Where to write the numbers of the strongest modes; those too close share a label."""
    extent = np.array([np.ptp(across), np.ptp(up)])
    labels: list[tuple[tuple[float, float], str]] = []
    for number in range(min(NUM_LABELS, count)):
        place = (float(modes.growth_rate[number]), float(modes.frequency[number]))
        for index, (other, text) in enumerate(labels):
            if np.all(np.abs(np.subtract(place, other)) < CLOSE * extent):
                labels[index] = (other, f"{text}, {number + 1}")
                break
        else:
            labels.append((place, str(number + 1)))
    return labels


def _inside(values: NDArray[np.floating], limits: tuple[float, float]) -> NDArray[np.bool_]:
    return (values >= limits[0]) & (values <= limits[1])
