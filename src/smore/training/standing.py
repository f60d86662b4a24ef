"""Steps done, and the best of the states that left-out data have judged."""

from __future__ import annotations

import copy
import math

from torch import nn

from smore.training.checkpoints.checkpoints import Variables


class Standing(Variables):
    """Where a loop stands.

    Args:
        network: judged in the state it has.
        error: its error on data that are left out.

    Attributes:
        step: steps done.
        retreats: how often it went back to the best state.
        error: of the state that was judged last.
        lowest: of the best one.
        waited: judgements since then.
    """

    def __init__(self, network: nn.Module, error: float) -> None:
        self.step = self.retreats = self.waited = 0
        self.lowest = self.error = error
        self.best = copy.deepcopy(network.state_dict())

    def judge(self, network: nn.Module, error: float) -> None:
        """Keep the state of `network` if it is the best so far."""
        self.error, self.waited = error, self.waited + 1
        if error < self.lowest or not math.isfinite(self.lowest):
            self.lowest, self.waited = error, 0
            self.best = copy.deepcopy(network.state_dict())

    def restore(self, network: nn.Module) -> None:
        """Go back to the best state."""
        network.load_state_dict(self.best)
