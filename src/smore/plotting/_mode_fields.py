"""What modes look like: real and imaginary part of one channel, the strongest beside each other."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import SubFigure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from numpy.typing import NDArray

from smore.plotting.colours import Colours, signed_colours
from smore.plotting.fields import draw_on
from smore.plotting.ground import DEGREES, SMALL, Ground, with_units

NUM_PANELS = 4
WIDTH = 2.1  # inches
PARTS = ("real part", "imaginary part")


def modes_size(fields: xr.Dataset, ground: Ground) -> tuple[float, float]:
    """Width and height in inches that one channel needs."""
    columns = min(NUM_PANELS, fields.sizes["mode"])
    return WIDTH * columns + 0.8, 2 * WIDTH * ground.shape(of_line=0.7) + 1.7


def draw_modes(figure: SubFigure, channel: xr.DataArray, ground: Ground) -> None:
    """Modes of one channel, each on a scale of its own that is centred on zero."""
    columns = min(NUM_PANELS, channel.sizes["mode"])
    values = channel.values[:, :columns].reshape(2, columns, ground.mesh.num_points)
    quantity = with_units(str(channel.name), channel.attrs.get("units", ""))
    figure.suptitle(quantity, fontsize=10)
    grid = figure.subplots(2, columns, squeeze=False)
    for column, pair in enumerate(np.moveaxis(values, 0, 1)):
        is_real = not np.nan_to_num(pair[1]).any()
        colours = signed_colours(1.05 * pair)
        drawn = _draw_parts(grid[:, column], pair[:1] if is_real else pair, ground, colours)
        grid[0, column].set_title(_title(channel, column), fontsize=SMALL)
        if isinstance(drawn, ScalarMappable):
            _add_bar(figure, grid[:, column], drawn, channel.attrs.get("units", ""))
    for axes, part in zip(grid[:, 0], PARTS, strict=True):
        _label_up(axes, ground, part, quantity)


def _draw_parts(
    column: NDArray, parts: NDArray[np.floating], ground: Ground, colours: Colours
) -> object:
    drawn: object = None
    for axes, values in zip(column, parts, strict=False):
        drawn = draw_on(axes, ground, values, colours)
    for axes in column[len(parts) :]:  # the mode is real
        axes.set_frame_on(False)
        axes.set_xticks([])
        axes.set_yticks([])
    ground.label_right(column[len(parts) - 1])
    return drawn


def _label_up(axes: Axes, ground: Ground, part: str, quantity: str) -> None:
    if not axes.get_frame_on() and not axes.has_data():
        axes.set_ylabel(f"{part}:\nnone", fontsize=SMALL)
    elif ground.is_line:
        axes.set_ylabel(f"{part}\n{quantity}", fontsize=SMALL)
    else:
        ground.label_up(axes, part)


def _add_bar(figure: SubFigure, column: NDArray, drawn: ScalarMappable, units: str) -> None:
    bar = figure.colorbar(drawn, ax=column.tolist(), location="bottom", shrink=0.9, pad=0.02)
    bar.set_label("" if units == "1" else DEGREES.get(units, units), fontsize=SMALL)
    bar.ax.tick_params(labelsize=SMALL - 1)
    bar.locator = MaxNLocator(3, symmetric=True)
    bar.formatter = StrMethodFormatter("{x:.3g}")
    bar.update_ticks()


def _title(channel: xr.DataArray, column: int) -> str:
    """Number, period and growth rate of a mode."""
    mode = channel.isel(mode=column)
    period = float(mode["period"])
    time = mode["period"].attrs.get("units", "")
    rate = mode["growth_rate"].attrs.get("units", "")
    cycle = f"period {period:.3g} {time}" if np.isfinite(period) else "no oscillation"
    return f"mode {column + 1}\n{cycle.strip()}\ngrowth {float(mode['growth_rate']):.2g} {rate}"
