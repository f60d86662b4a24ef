"""Linear dynamics about a moving centre, chosen by forecasts inside the training record."""
