"""The Earth in units of its radius and the hour (constants of Galewsky et al. 2004)."""

RADIUS_IN_METRES = 6.37122e6
METRE = 1 / RADIUS_IN_METRES
SECOND = 1 / 3600

ROTATION = 7.292e-5 / SECOND
GRAVITY = 9.80616 * METRE / SECOND**2
MEAN_DEPTH = 1e4 * METRE
