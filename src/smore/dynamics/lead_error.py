"""What a forecast gets wrong after so many steps, as forecasts within a record show it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LeadError:
    """Covariance of the error of a forecast, by how far ahead it reaches.

    Errors of one record are too few to learn a process of them: their pattern is taken as one and
    the same at every lead, and their size as it was seen.

    Args:
        factor: (r, r) of the pattern's covariance, factor factorᵀ.
        leads: (leads,) model time, rising from 0.
        variances: (leads,) of the pattern at these.
    """

    factor: Tensor
    leads: Tensor
    variances: Tensor

    @property
    def pattern(self) -> Tensor:
        """(r, r)."""
        return self.factor @ self.factor.T

    def variance(self, lead: Tensor) -> Tensor:
        """At any leads (...); beyond the last one it goes on growing like a random walk."""
        beyond = (lead / self.leads[-1].clamp(min=1e-300)).clamp(min=1)
        place = torch.searchsorted(self.leads, lead.contiguous()).clamp(1, len(self.leads) - 1)
        before, after = self.leads[place - 1], self.leads[place]
        share = ((lead - before) / (after - before).clamp(min=1e-300)).clamp(0, 1)
        between = (1 - share) * self.variances[place - 1] + share * self.variances[place]
        return between * beyond
