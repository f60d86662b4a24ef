"""The last state that is known to be good, and the way back to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

MOST_RETREATS = 10
SHRINKAGE = 0.5


class LastGood:
    """Copies of what a training changes, to return to when it turns non-finite.

    A state is known to be good once a finite loss and gradient were computed from it.

    Args:
        tensors: what the training changes, in place.
        backtrack: whether a training may go on from the last good state with smaller steps.

    Attributes:
        retreats: how often it did.
    """

    def __init__(self, tensors: Iterable[Tensor], *, backtrack: bool) -> None:
        self.tensors, self.backtrack = list(tensors), backtrack
        self.retreats = 0
        self._good = self._candidate = self._copies()

    def note(self) -> None:
        """Remember the state as it is, in case it proves to be good."""
        self._candidate = self._copies()

    def confirm(self) -> None:
        """What was noted last is good."""
        self._good = self._candidate

    @torch.no_grad()
    def retreat(self) -> bool:
        """Go back to the last good state; whether the training is to go on from there."""
        for tensor, good in zip(self.tensors, self._good, strict=True):
            tensor.copy_(good)
        if not self.backtrack or self.retreats == MOST_RETREATS:
            return False
        self.retreats += 1
        return True

    @property
    def tried(self) -> str:
        """What has been tried in vain, for a message."""
        if not self.backtrack:
            return ""
        return f" after going back {self.retreats} times, with ever smaller steps"

    @property
    def factor(self) -> float:
        """Of the learning rates, after the retreats so far."""
        return SHRINKAGE**self.retreats

    def state_dict(self) -> dict[str, Any]:
        """Where it stands."""
        return {"retreats": self.retreats, "good": self._good}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there; what is noted is noted anew before every step."""
        self.retreats, self._good = state["retreats"], state["good"]

    def _copies(self) -> list[Tensor]:
        return [tensor.detach().clone() for tensor in self.tensors]
