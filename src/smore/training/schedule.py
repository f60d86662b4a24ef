"""The learning-rate schedule of the fast recipe."""

from __future__ import annotations

import math
from typing import Any

# On a plateau, when this many steps gained less than this share, the rate starts to fall: the
# schedule moves on to this part of its length.
PLATEAU_STEPS = 100
LEAST_GAIN = 0.01
FALLING = 0.7


def warm_cosine(step: int, num_steps: int, warm_up: int) -> float:
    """Factor of the rate at `step`: linear warm-up, then a cosine down to a thousandth."""
    cosine = 0.5 * (1 + math.cos(math.pi * step / num_steps))
    return min(1.0, (step + 1) / warm_up) * max(cosine, 1e-3)


class Schedule:
    """A warm cosine that moves on to its falling end when the loss stops falling.

    Attributes:
        place: where in the schedule of `num_steps` we are.
        steps: steps taken.
    """

    def __init__(self, num_steps: int, warm_up: int) -> None:
        self.num_steps, self.warm_up = num_steps, warm_up
        self.place = self.steps = 0
        self._losses: list[float] = []

    @property
    def done(self) -> bool:
        return self.place >= self.num_steps

    @property
    def factor(self) -> float:
        """Of the learning rate in the coming step."""
        return warm_cosine(self.place, self.num_steps, self.warm_up)

    def step(self, loss: float) -> None:
        """Go on after a step that had this loss."""
        self.steps += 1
        self.place += 1
        self._losses = [*self._losses, loss][-2 * PLATEAU_STEPS :]
        falling = round(FALLING * self.num_steps)
        if self.place < falling and self._plateau():
            self.place = falling

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""
        return {"place": self.place, "steps": self.steps, "losses": list(self._losses)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self.place, self.steps, self._losses = state["place"], state["steps"], state["losses"]

    def _plateau(self) -> bool:
        if self.steps < self.warm_up + 2 * PLATEAU_STEPS:
            return False
        latest = sum(self._losses[-PLATEAU_STEPS:])
        before = sum(self._losses[:-PLATEAU_STEPS])
        return latest > (1 - LEAST_GAIN) * before
