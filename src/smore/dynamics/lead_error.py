"""What a forecast gets wrong after so many steps, as forecasts within a record show it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.dynamics.forced import ForcedLinear

# Share of an error's covariance that lies where younger selves differ; the rest is as errors were.
WHERE_THEY_DIFFER = 0.5


@dataclass(frozen=True, eq=False)
class Disagreement:
    """How errors go with the departures of younger selves of the model from its forecast.

    Younger selves learned as the model did, but not from the last snapshots. A transient takes all
    of them where none has been, and errors that differ by orders of magnitude from one forecast to
    the next differ as these departures δ do, and are where these are:

        E[e eᵀ] ≈ ratio(age, lead) · d² · (½ mean(δ δᵀ / |B δ|²) + ½ pattern),
        log d = mean(log |B δ|)

    Args:
        matrices: M' (selves, r, r) of α ↦ M' α + c' over a step.
        constants: c' (selves, r).
        measure: B (r, r).
        ages: (ages,) model time from the end of the record to the start of a forecast, rising.
        log_ratios: (ages, leads) at these, and at the leads of the `LeadError`.
        end: model time of the last snapshot of the record.
    """

    matrices: Tensor
    constants: Tensor
    measure: Tensor
    ages: Tensor
    log_ratios: Tensor
    end: Tensor

    def covariances(
        self,
        dynamics: ForcedLinear,
        states: Tensor,
        starts: Tensor,
        leads: Tensor,
        pattern: Tensor,
    ) -> Tensor:
        """(states, leads, r, r) of errors of forecasts.

        Args:
            dynamics: of the model, with a centre at rest.
            states: (states, r) that forecasts start from.
            starts: (states,) when, model time.
            leads: (leads,) whole steps, model time.
            pattern: (r, r) of errors as they were.
        """
        departures = self._departures(dynamics, states, leads)
        squares = (departures @ self.measure.T).square().sum(-1).clamp(min=1e-300)
        place, share = _between(self.ages, starts - self.end)
        ratios = torch.lerp(self.log_ratios[place - 1], self.log_ratios[place], share[:, None])
        sizes = (squares.log().mean(0) + ratios).exp().cummax(1).values
        each = departures / squares.sqrt()[..., None]
        where = torch.einsum("kslp,kslq->slpq", each, each) / len(each)
        return sizes[..., None, None] * torch.lerp(pattern, where, WHERE_THEY_DIFFER)

    def _departures(self, dynamics: ForcedLinear, states: Tensor, leads: Tensor) -> Tensor:
        """(selves, states, leads, r) of younger selves from the model."""
        rest, step = dynamics.centre_weights[0], float(dynamics.step)
        own, moved = dynamics.flow(step)
        apart, younger = states - rest, states.expand(len(self.matrices), -1, -1)
        found, before = [], 0
        for steps in (leads / step).round().int().tolist():
            for _ in range(before, steps):
                apart = apart @ own.T + moved
                younger = younger @ self.matrices.mT + self.constants[:, None]
            found.append(younger - apart - rest)
            before = steps
        return torch.stack(found, dim=2)


@dataclass(frozen=True, eq=False)
class LeadError:
    """Covariance of the error of a forecast, by how far ahead it reaches.

    Errors of one record are too few to learn a process of them: their pattern is taken as one and
    the same at every lead, and their size as it was seen.

    Args:
        factor: (r, r) of the pattern's covariance, factor factorᵀ.
        leads: (leads,) model time, rising from 0.
        variances: (leads,) of the pattern at these.
        disagreement: what tells more about forecasts that start after the record, if anything.
    """

    factor: Tensor
    leads: Tensor
    variances: Tensor
    disagreement: Disagreement | None = None

    @property
    def pattern(self) -> Tensor:
        """(r, r)."""
        return self.factor @ self.factor.T

    def variance(self, lead: Tensor) -> Tensor:
        """At any leads (...)."""
        place, share = _between(self.leads, lead)
        between = torch.lerp(self.variances[place - 1], self.variances[place], share)
        return between * _beyond(self.leads, lead)

    def covariance(self, lead: Tensor) -> Tensor:
        """(..., r, r) at any leads (...)."""
        return self.variance(lead)[..., None, None] * self.pattern

    def of_forecasts(
        self, dynamics: ForcedLinear, states: Tensor, starts: Tensor
    ) -> LeadError | ForecastErrors:
        """What is known of forecasts from `states` (states, r) at model times (states,)."""
        told = self.disagreement
        if told is None or bool((starts < told.end - 0.5 * dynamics.step).any()):
            return self
        found = told.covariances(dynamics, states, starts, self.leads, self.pattern)
        return ForecastErrors(self.leads, found)


@dataclass(frozen=True, eq=False)
class ForecastErrors:
    """Covariances of errors of single forecasts.

    Args:
        leads: (leads,) model time, rising from 0.
        covariances: (forecasts, leads, r, r).
    """

    leads: Tensor
    covariances: Tensor

    def covariance(self, lead: Tensor) -> Tensor:
        """(forecasts, n, r, r) at leads (forecasts or 1, n)."""
        lead = lead.expand(len(self.covariances), -1)
        row = torch.arange(len(lead))[:, None]
        place, share = _between(self.leads, lead)
        before, after = self.covariances[row, place - 1], self.covariances[row, place]
        between = torch.lerp(before, after, share[..., None, None])
        return between * _beyond(self.leads, lead)[..., None, None]


def _between(places: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
    """For each of `at` the first of the rising `places` (n,) behind it, and how near it is."""
    place = torch.searchsorted(places, at.contiguous()).clamp(1, len(places) - 1)
    before, after = places[place - 1], places[place]
    return place, ((at - before) / (after - before).clamp(min=1e-300)).clamp(0, 1)


def _beyond(leads: Tensor, lead: Tensor) -> Tensor:
    """Beyond the last lead errors go on growing like a random walk."""
    return (lead / leads[-1].clamp(min=1e-300)).clamp(min=1)
