"""The largest grids in bounded memory."""
