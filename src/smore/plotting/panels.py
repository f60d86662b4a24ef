"""Fields side by side: one row per kind, one column per snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from smore.plotting.fields import draw_on
from smore.plotting.ground import SMALL, Ground
from smore.plotting.sheet import sheet
from smore.plotting.story import Row

WIDTH = 2.1  # of a panel, inches
AROUND = (1.8, 0.85)  # room for labels and colours, inches
BETWEEN = 0.12  # rows, inches
MANY = 100  # marks


def panel_size(num_rows: int, num_columns: int, ground: Ground) -> tuple[float, float]:
    """Width and height in inches of a figure of panels."""
    height = WIDTH * ground.shape(of_line=0.6) + BETWEEN
    return WIDTH * num_columns + AROUND[0], height * num_rows + AROUND[1]


def snapshot_panels(
    rows: Sequence[Row], titles: Sequence[str], ground: Ground, heading: str
) -> Figure:
    """A figure with a panel for every row and column, and a colour bar for each row."""
    width, height = panel_size(len(rows), len(titles), ground)
    figure = sheet(width, height + 0.3)
    draw_panels(figure, rows, titles, ground, heading)
    return figure


def draw_panels(
    figure: Figure | SubFigure,
    rows: Sequence[Row],
    titles: Sequence[str],
    ground: Ground,
    heading: str,
) -> None:
    """`snapshot_panels` on a figure, or a part of one."""
    figure.suptitle(heading, fontsize=11)
    grid = figure.subplots(len(rows), len(titles), squeeze=False)
    for row, axes in zip(rows, grid, strict=True):
        drawn: Any = None
        for number, (panel, values) in enumerate(zip(axes, row.fields, strict=True)):
            drawn = draw_on(panel, ground, values, row.colours)
            if row.marks:
                draw_marks(panel, ground, row.marks[number])
        ground.label_up(axes[0], row.label)
        add_bar(figure, axes[-1], drawn, row.units)
    for panel, title in zip(grid[0], titles, strict=True):
        panel.set_title(title, fontsize=9)
    for panel in grid[-1]:
        ground.label_right(panel)


def draw_marks(axes: Axes, ground: Ground, coords: Any) -> None:
    """Dots where something was observed."""
    if coords is not None:
        places = ground.places(coords)
        size = 2.4 if len(places) < MANY else 1.4
        axes.plot(*places.T, "o", ms=size, mfc="black", mec="white", mew=size / 6)


def add_bar(figure: Figure | SubFigure, axes: Axes, drawn: ScalarMappable, units: str) -> None:
    """A colour bar as high as the panel that it stands beside."""
    bar = figure.colorbar(drawn, cax=axes.inset_axes((1.04, 0.0, 0.06, 1.0)))
    bar.set_label(units, fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL - 1)
    bar.locator = MaxNLocator(4)
    bar.formatter = StrMethodFormatter("{x:.3g}")
    bar.update_ticks()
