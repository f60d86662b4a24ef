"""The learning-rate schedule of the fast recipe."""

from __future__ import annotations

import math


def warm_cosine(step: int, num_steps: int, warm_up: int) -> float:
    """Factor of the rate at `step`: linear warm-up, then a cosine down to a thousandth."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / num_steps))
    return min(1.0, (step + 1) / warm_up) * max(cosine, 1e-3)
