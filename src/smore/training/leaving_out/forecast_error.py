"""The evaluation stage: how well the current networks forecast data they do not learn from."""

from __future__ import annotations

import math

import torch

from smore.data import CoordinateMap, Normalization, Pace, Timeline, Trajectories, make_blocks
from smore.decoder import Decoder, squared_errors
from smore.dynamics import LatentDynamics, forecast_latents
from smore.evaluation import score
from smore.inference import infer_states, normal_equations
from smore.runtime import ALONE, Team
from smore.settings import Settings


class ForecastError:
    """Full-window MSE of free forecasts from the first snapshot, in the data's units.

    The initial latents come from K_eval Adam steps with frozen networks, as in Algorithm 1.
    """

    def __init__(
        self,
        trajectories: Trajectories,
        normalization: Normalization,
        coordinate_map: CoordinateMap,
        pace: Pace,
        longest_step: float,
        settings: Settings,
        device: torch.device,
        team: Team = ALONE,
    ) -> None:
        first = trajectories.leading(1)
        self.blocks, self.initial = (
            make_blocks(each, normalization, coordinate_map, device=device, team=team)
            for each in (trajectories, first)
        )
        self.timeline = Timeline.of(trajectories, pace)
        self.scale = torch.tensor(normalization.scale, dtype=torch.float64)
        self.settings = settings
        self.longest_step = longest_step

    @torch.no_grad()
    def __call__(self, decoder: Decoder, dynamics: LatentDynamics) -> float:
        settings, timeline = self.settings, self.timeline
        state = infer_states(
            normal_equations(decoder, self.initial, settings.chunk_size),
            torch.zeros(len(timeline.valid)),
            method="adam",
            num_steps=settings.fit_steps,
            rate=settings.fit_rate,
            keeps=settings.fit_keeps,
        )
        forecast = forecast_latents(
            dynamics,
            state.flat.to(next(dynamics.parameters())),
            timeline.steps,
            longest_step=self.longest_step,
            method=settings.stepping,
            substeps=settings.num_substeps,
        )
        latents = timeline.scatter(forecast).unflatten(-1, (-1, decoder.latent_dim))
        squared, count = squared_errors(decoder, self.blocks, latents, settings.chunk_size)
        error = score(squared * self.scale**2, count, timeline, settings.window).full
        return math.nan if error is None else error
