"""What streams of sensors are worth: history, error bars, broken sensors, speed."""
