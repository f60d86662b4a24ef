"""From files, datasets, arrays and tables to trajectories, and back to files."""
