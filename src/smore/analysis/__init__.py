"""What needs a surrogate to be said: modes, constants, bounds, sensor plans, what is unseen."""

from smore.analysis.decoder_constants import DecoderConstants, decoder_constants, field_bound
from smore.analysis.forecast_bounds import ForecastBound, StateError, forecast_bound, state_error
from smore.analysis.mode_fields import mode_fields
from smore.analysis.modes import DynamicModes, dynamic_modes, linearisation
from smore.analysis.sensor_plan import (
    SensorPlan,
    field_deviation,
    parse_region,
    plan_sensors,
    require_blank_table,
    told_share,
)
from smore.analysis.unseen import UNSEEN, unseen_directions

__all__ = [
    "UNSEEN",
    "DecoderConstants",
    "DynamicModes",
    "ForecastBound",
    "SensorPlan",
    "StateError",
    "decoder_constants",
    "dynamic_modes",
    "field_bound",
    "field_deviation",
    "forecast_bound",
    "linearisation",
    "mode_fields",
    "parse_region",
    "plan_sensors",
    "require_blank_table",
    "state_error",
    "told_share",
    "unseen_directions",
]
