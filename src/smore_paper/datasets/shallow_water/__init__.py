"""The shallow-water benchmark: barotropically unstable jets on the rotating sphere."""
