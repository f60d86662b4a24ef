"""Pictures of fields and forecasts."""

from smore.plotting.certificate import certificate_figure
from smore.plotting.colours import error_colours, field_colours
from smore.plotting.fields import draw_field
from smore.plotting.ground import Ground, directions, require_drawable, with_units
from smore.plotting.modes import overview_figure, spectrum_figure
from smore.plotting.panels import snapshot_panels
from smore.plotting.plots import Plots
from smore.plotting.saving import is_film, require_figure_format, save_figure
from smore.plotting.sensors import sensor_figure
from smore.plotting.sheet import sheet
from smore.plotting.story import Row, chosen_channels, panel_snapshots

__all__ = [
    "Ground",
    "Plots",
    "Row",
    "certificate_figure",
    "chosen_channels",
    "directions",
    "draw_field",
    "error_colours",
    "field_colours",
    "is_film",
    "overview_figure",
    "panel_snapshots",
    "require_drawable",
    "require_figure_format",
    "save_figure",
    "sensor_figure",
    "sheet",
    "snapshot_panels",
    "spectrum_figure",
    "with_units",
]
