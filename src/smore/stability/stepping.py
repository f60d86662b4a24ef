"""The map that forecasts iterate, as certificates see it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stepping:
    """The map that forecasts iterate.

    Args:
        step: output interval, model time.
        method: integrator.
        substeps: its steps per output interval.
        time_unit: what a unit of model time is to the user.
    """

    step: float
    method: str
    substeps: int
    time_unit: str = "unit of time"

    def __str__(self) -> str:
        parts = "" if self.method == "exact" else f", {self.substeps} per interval"
        return f"{self.method} steps over an interval of {self.step:.6g}{parts}"


def as_array(tensor: Tensor | Array) -> Array:
    """In float64 on the CPU."""
    if isinstance(tensor, np.ndarray):
        return tensor
    return tensor.detach().to("cpu", torch.float64).numpy()
