"""Pictures of fields and forecasts."""

from smore.plotting.analysis import analysis_figure
from smore.plotting.certificate import certificate_figure
from smore.plotting.fields import directions, draw_field, require_drawable, with_units
from smore.plotting.modes import overview_figure, spectrum_figure
from smore.plotting.panels import (
    Row,
    forecast_figure,
    panel_snapshots,
    require_figure_format,
    save_figure,
    snapshot_panels,
)
from smore.plotting.sensors import sensor_figure
from smore.plotting.uncertainty import uncertainty_figure

__all__ = [
    "Row",
    "analysis_figure",
    "certificate_figure",
    "directions",
    "draw_field",
    "forecast_figure",
    "overview_figure",
    "panel_snapshots",
    "require_drawable",
    "require_figure_format",
    "save_figure",
    "sensor_figure",
    "snapshot_panels",
    "spectrum_figure",
    "uncertainty_figure",
    "with_units",
]
