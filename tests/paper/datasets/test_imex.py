"""ARS(2,2,2) on an oscillator whose damping is implicit."""

import numpy as np
import pytest

from smore_paper.datasets.shallow_water.imex import ars222


def integrate(rate, step, num_steps):
    """dX/dt = iX - rate X, the first term explicit."""
    state = np.ones(1, complex)
    for _ in range(num_steps):
        state = ars222(state, step, lambda x: 1j * x, lambda x, h: x / (1 + h * rate))
    return state[0]


def test_second_order():
    steps = np.array([1 / 10, 1 / 20, 1 / 40, 1 / 80])
    errors = [abs(integrate(0.7, h, round(2 / h)) - np.exp(2 * (1j - 0.7))) for h in steps]
    order, _ = np.polyfit(np.log(steps), np.log(errors), 1)
    assert order == pytest.approx(2.0, abs=0.1)


def test_stiff_terms_are_damped_however_long_the_step():
    assert abs(integrate(1e8, 0.5, 2)) < 1e-6
