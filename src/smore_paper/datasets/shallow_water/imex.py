"""dX/dt = N(X) + L X, the first term explicit, the second implicit."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

State = NDArray[np.complex128]

GAMMA = 1 - 1 / np.sqrt(2)
DELTA = 1 - 1 / (2 * GAMMA)


def ars222(
    state: State,
    step: float,
    tendency: Callable[[State], State],
    solve: Callable[[State, float], State],
) -> State:
    """One step of ARS(2,2,2), of second order and L-stable in L (Ascher, Ruuth & Spiteri 1997).

    Args:
        state: X, of any shape.
        step: h.
        tendency: N.
        solve: (Y, τ) ↦ (1 - τL)⁻¹ Y.

    Returns:
        X one step later.
    """
    first = tendency(state)
    explicit = state + step * GAMMA * first
    middle = solve(explicit, GAMMA * step)
    # (1 - γhL) X = Y gives hLX = (X - Y)/γ, so that L itself is never needed.
    implicit = (middle - explicit) / GAMMA
    second = tendency(middle)
    return solve(
        state + step * (DELTA * first + (1 - DELTA) * second) + (1 - GAMMA) * implicit,
        GAMMA * step,
    )
