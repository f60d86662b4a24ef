"""The stability study: four mechanisms switched on and off."""
