"""Pictures of fields and forecasts."""

from smore.plotting.fields import draw_field
from smore.plotting.panels import (
    Row,
    forecast_figure,
    require_figure_format,
    save_figure,
    snapshot_panels,
)
from smore.plotting.uncertainty import uncertainty_figure

__all__ = [
    "Row",
    "draw_field",
    "forecast_figure",
    "require_figure_format",
    "save_figure",
    "snapshot_panels",
    "uncertainty_figure",
]
