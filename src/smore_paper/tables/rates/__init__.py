"""Learning rates of Algorithm 1, screened on training data."""
