"""The figures of a page, as Bokeh draws them. Names from files are plain text in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import matplotlib
import numpy as np
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    HoverTool,
    LinearColorMapper,
    PlainText,
    PointDrawTool,
    Range1d,
)
from bokeh.models.annotations import Span
from bokeh.plotting import figure
from matplotlib.colors import to_hex

from smore.explore._canvas import Canvas
from smore.explore._pictures import Colours, Picture

# Safe for the colour-blind. The page's legends have the colours of lines by class.
PALETTES: dict[Colours, str] = {"diverging": "RdBu_r", "sequential": "viridis", "error": "magma"}
NOTHING = "#9a9a9a"
FORECAST, SIMPLE, TRUTH, OTHER = "#2f7fc1", "#7d838c", "#d55e00", "#009e73"
# Pixels around the frame of a picture: to the left and right, and below.
BESIDE, BELOW = 70, 60
USUAL_WIDTH, MOST_HEIGHT = 560, 500


@dataclass
class PictureFigure:
    """A picture and its colours.

    Args:
        plot: the figure.
        source: of the values.
        colours: None of a line.
    """

    plot: Any
    source: ColumnDataSource
    colours: LinearColorMapper | None

    def draw_line(self, picture: Picture, width: np.ndarray, truth: np.ndarray) -> None:
        """Show another line, in a band of a width (points,), and the truth (points,) beside it."""
        values, width, truth = map(picture.canvas.image, (picture.values, width, truth))
        self.source.data = {
            "x": picture.canvas.drawn[:, 0],
            "value": values,
            "low": values - width,
            "high": values + width,
            "truth": truth,
        }

    def draw(self, picture: Picture) -> None:
        """Show another picture in colours."""
        assert self.colours is not None
        values = picture.canvas.image(picture.values)
        wanted = palette(picture.colours)
        if self.colours.palette != wanted:
            self.colours.palette = wanted
        self.colours.update(low=picture.low, high=picture.high)
        if picture.canvas.kind == "image":
            self.source.data = {"image": [values.astype(np.float32, copy=False)]}
        else:
            x, y = picture.canvas.drawn.T
            self.source.data = {"x": x, "y": y, "value": values}


def scale(picture: Picture) -> dict[str, list[str]]:
    """A colour bar: some colours, and the numbers that they stand for, evenly spread."""
    shades = palette(picture.colours)
    return {
        "shades": [shades[at] for at in range(0, 256, 15)],
        "ticks": [f"{value:.3g}" for value in np.linspace(picture.low, picture.high, 5)],
    }


@cache
def palette(colours: Colours) -> list[str]:
    """256 colours."""
    shades = matplotlib.colormaps[PALETTES[colours]](np.linspace(0, 1, 256))
    return [to_hex(shade) for shade in shades]


def picture_figure(
    canvas: Canvas, labels: list[str], limits: tuple[float, float] | None = None
) -> PictureFigure:
    """An empty picture.

    Args:
        canvas: of what.
        labels: of the axes.
        limits: of the values on a line; by default those that are shown.
    """
    if canvas.kind == "line":
        return _line_figure(canvas, labels, limits)
    (left, low), (width, height) = canvas.corner.tolist(), canvas.size.tolist()
    shape = float(np.clip(width / height, 0.8, 3.2))
    ratio = USUAL_WIDTH / ((USUAL_WIDTH - BESIDE) / shape + BELOW)
    plot: Any = figure(
        x_range=Range1d(start=left, end=left + width),
        y_range=Range1d(start=low, end=low + height),
        aspect_ratio=ratio,
        max_width=round(MOST_HEIGHT * ratio),
        **_style(labels),
    )
    colours = LinearColorMapper(palette=palette("diverging"), nan_color=NOTHING)
    if canvas.kind == "image":
        source = ColumnDataSource({"image": [np.zeros((1, 1), np.float32)]})
        drawn = plot.image(
            "image", x=left, y=low, dw=width, dh=height, color_mapper=colours, source=source
        )
        plot.grid.visible = False
        value = "@image"
    else:
        source = ColumnDataSource({"x": [], "y": [], "value": []})
        drawn = plot.scatter(
            "x",
            "y",
            size=9,
            line_color=None,
            fill_color={"field": "value", "transform": colours},
            source=source,
        )
        value = "@value"
    tip = [("", f"{value}{{%.4g}}")]
    hover = HoverTool(tooltips=tip, formatters={value: "printf"}, renderers=[drawn])
    plot.add_tools(hover)
    return PictureFigure(plot, source, colours)


def _line_figure(
    canvas: Canvas, labels: list[str], limits: tuple[float, float] | None
) -> PictureFigure:
    (left,), (width,) = canvas.corner.tolist(), canvas.size.tolist()
    margin = 0.03 * width
    plot: Any = figure(
        x_range=Range1d(start=left - margin, end=left + width + margin),
        y_range=DataRange1d() if limits is None else Range1d(start=limits[0], end=limits[1]),
        aspect_ratio=1.7,
        **_style(labels),
    )
    source = ColumnDataSource({name: [] for name in ("x", "value", "low", "high", "truth")})
    plot.varea("x", "low", "high", fill_color=FORECAST, fill_alpha=0.25, source=source)
    plot.line("x", "value", line_color=FORECAST, line_width=2, source=source)
    plot.line("x", "truth", line_color=TRUTH, line_width=2, line_dash="dotted", source=source)
    return PictureFigure(plot, source, None)


def add_sensors(plot: Any, source: ColumnDataSource) -> None:
    """Sensors that can be placed by a click and dragged."""
    drawn = plot.scatter(
        "x",
        "y",
        size=13,
        hit_dilation=1.5,
        fill_color="#ffffff",
        line_color="#111111",
        line_width=2.5,
        source=source,
    )
    drawn.nonselection_glyph = None
    drawn.selection_glyph = drawn.glyph.clone()
    drawn.selection_glyph.fill_color = "#ffd400"
    plot.text(
        "x",
        "y",
        "label",
        x_offset=10,
        y_offset=-7,
        text_font_size="13px",
        text_font_style="bold",
        text_color="#111111",
        background_fill_color="#ffffff",
        background_fill_alpha=0.75,
        padding=1,
        border_radius=3,
        source=source,
    )
    tool = PointDrawTool(renderers=[drawn], add=True, drag=True)
    plot.add_tools(tool)
    plot.toolbar.active_tap = tool
    plot.toolbar.active_drag = tool


def add_readings(plot: Any, source: ColumnDataSource) -> None:
    """Where a stream was heard; those that were not believed are crossed out."""
    for marker, own in (("square", "x"), ("x", "out_x")):
        plot.scatter(
            own,
            "y",
            size=11,
            marker=marker,
            fill_color="#ffffff",
            line_color="#111111",
            line_width=2,
            source=source,
        )


def add_mark(plot: Any, source: ColumnDataSource, *, line: bool) -> None:
    """The marked point: a cross, or a line across."""
    if line:
        plot.vspan(x="x", line_color=TRUTH, line_dash="dashed", line_width=1.5, source=source)
        return
    for width, colour in ((6, "#ffffff"), (2.5, "#d55e00")):
        plot.scatter(
            "x", "y", marker="cross", size=18, line_color=colour, line_width=width, source=source
        )


@dataclass
class CurveFigure:
    """Curves over time, and the time that is shown.

    Args:
        plot: the figure.
        source: of the curves.
        now: where the time is.
    """

    plot: Any
    source: ColumnDataSource
    now: Span


def worth_figure(label: str) -> CurveFigure:
    """Errors over time."""
    columns = ("x", "expected", "usual", "measured", "persistence", "climatology")
    source = ColumnDataSource({name: [] for name in columns})
    plot = _curves(label)
    lines = (
        ("expected", FORECAST, "solid", 2.5),
        ("usual", SIMPLE, "dashed", 2),
        ("measured", TRUTH, "solid", 2),
        ("persistence", OTHER, "dotted", 2),
        ("climatology", SIMPLE, "dotted", 2),
    )
    for name, colour, dash, width in lines:
        plot.line(
            "x",
            name,
            line_color=colour,
            line_dash=dash,
            line_width=width,
            source=source,
        )
    return _with_now(plot, source)


def point_figure(label: str) -> CurveFigure:
    """The field at one point over time, with its error bar and the data."""
    source = ColumnDataSource({name: [] for name in ("x", "value", "low", "high", "data")})
    plot = _curves(label)
    plot.varea("x", "low", "high", fill_color=FORECAST, fill_alpha=0.25, source=source)
    plot.line("x", "value", line_color=FORECAST, line_width=2.5, source=source)
    plot.scatter("x", "data", size=5, fill_color=TRUTH, line_color=None, source=source)
    return _with_now(plot, source)


def _curves(label: str) -> Any:
    plot: Any = figure(height=240, **_style([label, ""]))
    plot.y_range.range_padding = 0.1
    return plot


def _with_now(plot: Any, source: ColumnDataSource) -> CurveFigure:
    now = Span(location=0, dimension="height", line_color=SIMPLE, line_width=1.5)
    plot.add_layout(now)
    return CurveFigure(plot, source, now)


def _style(labels: list[str]) -> dict[str, Any]:
    right, up = (*labels, "")[:2]
    return {
        "sizing_mode": "stretch_width",
        "toolbar_location": None,
        "tools": "",
        "x_axis_label": PlainText(text=right),
        "y_axis_label": PlainText(text=up),
        "output_backend": "canvas",
        "min_border_right": 14,
    }
