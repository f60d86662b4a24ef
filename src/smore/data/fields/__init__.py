"""Where the values of trajectories are: in memory, in their file, in a scratch file."""
