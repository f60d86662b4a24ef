"""The gradient of a network's parameters, summed over chunks of points and over processes."""

from __future__ import annotations

import torch
from torch import nn

from smore.runtime import Team


class GradientSum:
    """What `.grad` becomes, chunk by chunk.

    In double precision on the CPU: chunks may be many, and what they add up to must not depend on
    how processes share them.

    Args:
        network: its parameters hold the gradient of a chunk after each backward pass.
    """

    def __init__(self, network: nn.Module) -> None:
        self.parameters = list(network.parameters())
        self.totals = [torch.zeros(each.shape, dtype=torch.float64) for each in self.parameters]

    def take(self) -> None:
        """Add what `.grad` holds, and leave nothing there."""
        for parameter, total in zip(self.parameters, self.totals, strict=True):
            if parameter.grad is not None:
                total.add_(parameter.grad.cpu())
                parameter.grad = None

    def give(self, team: Team) -> None:
        """Leave the sum over all processes in `.grad`."""
        team.add_up(*self.totals)
        for parameter, total in zip(self.parameters, self.totals, strict=True):
            parameter.grad = total.to(parameter)
