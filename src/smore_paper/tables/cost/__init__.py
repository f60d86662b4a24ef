"""Error against the time of training and of forecasts."""
