"""Rollouts of many small systems at once: the steps of the library, on stacked weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from smore.dynamics import LatentDynamics, affine_flow, rollout, step_map
from smore.dynamics.integrators import METHODS, runge_kutta_step, strang_step
from smore.stability.stepping import Stepping


class Substep(torch.nn.Module):
    def __init__(self, dynamics: LatentDynamics, stepping: Stepping) -> None:
        super().__init__()
        self.dynamics, self.step = dynamics, stepping.step / stepping.substeps
        self.tableau = METHODS[stepping.method]
        if self.tableau is None:
            flow, shift = affine_flow(dynamics, self.step / 2)
            self.register_buffer("flow", flow)
            self.register_buffer("shift", shift)

    def forward(self, states: Tensor) -> Tensor:
        if self.tableau is None:
            return strang_step(self.dynamics, states, self.step, self.flow, self.shift)
        return runge_kutta_step(self.dynamics, states, self.step, self.tableau)


@torch.no_grad()
def side_by_side(
    systems: Sequence[LatentDynamics],
    states: NDArray[np.float64],
    stepping: Stepping,
    num_steps: int,
) -> NDArray[np.float64]:
    """Paths (systems, states, steps + 1, r) of systems of one kind and size.

    Args:
        systems: what is rolled out, by Strang or Runge-Kutta steps.
        states: (systems, states, r) from where.
        stepping: by which steps.
        num_steps: how many output intervals.
    """
    substeps = [Substep(each, stepping) for each in systems]
    numbers = stack_module_state(substeps)
    together = vmap(lambda numbers, states: functional_call(substeps[0], numbers, (states,)))

    def advance(states: Tensor, _: int) -> Tensor:
        for _ in range(stepping.substeps):
            alone = len(systems) == 1
            states = substeps[0](states) if alone else together(numbers, states)
        return states

    start = torch.as_tensor(states)
    path = rollout(advance, start, num_steps).transpose(1, 2).numpy()
    # One at a time, the library's own maps do the same.
    steps = torch.full((states.shape[1], 1), stepping.step, dtype=torch.float64)
    for number in (0, len(systems) - 1):
        own = step_map(systems[number], steps, method=stepping.method, substeps=stepping.substeps)
        np.testing.assert_allclose(path[number, :, 1], own(start[number], 0), rtol=1e-8, atol=1e-11)
    return path
