"""Fields on a line: curves with 90% bands above each other, and pictures over time and place."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from scipy.special import ndtri

from smore.data import Clock
from smore.plotting.colours import extremes
from smore.plotting.ground import SMALL, Ground, with_units
from smore.plotting.panels import add_bar
from smore.plotting.story import Array, Course, Story, panel_snapshots

HEIGHTS = (2.1, 2.2)  # of a row of curves and of a row of pictures, inches
MODEL, TRUTH = "tab:blue", "black"
BAND = 0.9
DEVIATIONS = float(ndtri((1 + BAND) / 2))
DAY = 86_400.0  # seconds


def draw_course(figure: SubFigure, story: Story, course: Course) -> None:
    """One channel: curves at some times, then all of them as pictures."""
    parts: Any = figure.subfigures(2, 1, height_ratios=HEIGHTS)
    above, below = parts
    shown = panel_snapshots(len(story.times))
    panels = above.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    for axes, index in zip(panels, shown, strict=True):
        draw_overlay(axes, story, course, index)
        axes.set_title(story.title(index), fontsize=9)
    panels[0].set_ylabel(course.quantity, fontsize=SMALL)
    panels[0].legend(frameon=False, fontsize=SMALL - 1)
    if len(story.times) > 1:
        _draw_over_time(below, story, course)


def draw_overlay(axes: Axes, story: Story, course: Course, index: int) -> None:
    """The curve of one time, its band, the truth, and where something was observed."""
    ground = story.ground
    ground.prepare_line(axes)
    order = np.argsort(ground.along)
    along, values = ground.along[order], course.values[index][order]
    if course.deviation is not None:
        reach = DEVIATIONS * course.deviation[index][order]
        axes.fill_between(
            along, values - reach, values + reach, color=MODEL, alpha=0.3, lw=0, label=f"{BAND:.0%}"
        )
    if course.truth is not None:
        axes.plot(along, course.truth[index][order], color=TRUTH, lw=1.4, label="truth")
    axes.plot(along, values, color=MODEL, lw=1.1, ls="-" if course.truth is None else "--")
    axes.lines[-1].set_label(story.word)
    if course.marks and course.marks[index] is not None:
        places = course.marks[index][:, ground.columns[0]]  # type: ignore[index]
        at_the_bottom = axes.get_xaxis_transform()
        axes.plot(places, np.full(len(places), 0.02), "^", ms=3, color="0.3", clip_on=False)
        axes.lines[-1].set_transform(at_the_bottom)
    axes.set_ylim(_limits(course))
    axes.set_xlabel(ground.labels[0], fontsize=SMALL)


def _limits(course: Course) -> tuple[float, float]:
    """Of all times: the truth and, as far as it is not astray, the model with its band."""
    low, high = extremes(course.values if course.truth is None else course.truth)
    span = (high - low) or 1.0
    reach = 0.0 if course.deviation is None else DEVIATIONS * course.deviation
    lowest, highest = extremes(course.values - reach)[0], extremes(course.values + reach)[1]
    bottom, top = max(min(low, lowest), low - span), min(max(high, highest), high + span)
    return bottom - 0.05 * span, top + 0.05 * span


def _draw_over_time(figure: SubFigure, story: Story, course: Course) -> None:
    """Time to the right, place upwards: truth, model, error, standard deviation."""
    rows = course.rows(story.word)
    panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    times, label = _time_axis(story.times, story.clock)
    for axes, row in zip(panels, rows, strict=True):
        drawn = _draw_picture(axes, story.ground, times, row.fields, row.colours)
        axes.set_title(row.label.replace("\n", " "), fontsize=9)
        axes.set_xlabel(label, fontsize=SMALL)
        add_bar(figure, axes, drawn, row.units)
    panels[0].set_ylabel(story.ground.labels[0], fontsize=SMALL)


def _draw_picture(axes: Axes, ground: Ground, times: NDArray, fields: Array, colours: Any) -> Any:
    order = np.argsort(ground.along)
    drawn = axes.pcolormesh(
        times,
        ground.along[order],
        fields[:, order].T,
        shading="nearest",
        cmap=colours.name,
        vmin=colours.low,
        vmax=colours.high,
        rasterized=True,
    )
    axes.set_facecolor("0.8")
    if times.dtype.kind == "M":
        locator = AutoDateLocator(minticks=3, maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.xaxis.get_offset_text().set_fontsize(SMALL - 1)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.tick_params(labelsize=SMALL - 1)
    return drawn


def _time_axis(times: NDArray[np.float64], clock: Clock) -> tuple[NDArray, str]:
    """What to write along an axis of time; days from the first for calendars unlike ours."""
    if clock.kind != "datetime":
        return times, with_units("time", clock.units)
    if clock.calendar is None:
        return clock.to_values(times), ""
    return (times - times[0]) / DAY, f"days from {str(clock.to_values(times[0]))[:10]}"
