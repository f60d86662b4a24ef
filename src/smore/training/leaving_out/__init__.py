"""What trajectories that a fit did not see say about it."""
