"""Optional last stage: decoder and dynamics together, on decoded forecasts.

So far the decoder has been best for snapshots and the dynamics best for latents. What is scored is
the decoded forecast from a first snapshot, so both take some small steps down that error. The state
they start from is the least-squares fit to the first snapshot under the current decoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from smore.decoder import FilterNetwork
from smore.decoder.residual import accumulate_reconstruction, squared_errors
from smore.dynamics import LatentDynamics, rollout, step_map
from smore.errors import DivergenceError
from smore.inference import normal_equations
from smore.settings import Settings
from smore.training.checkpoints import Checkpoints
from smore.training.latent_table import latent_table
from smore.training.problem import TrainingProblem
from smore.training.rollout_fit import Standing
from smore.training.schedule import warm_cosine

# Both networks are near their best: rates as shares of those they were trained with.
DECODER_SHARE, DYNAMICS_SHARE = 0.02, 0.02
WARM_UP = 10
CHECK_EVERY = 10


class Finetuning:
    """Decoded forecasts of the training sequences, and the error of those held out.

    Args:
        problem: the training data.
        decoder: changed in place.
        dynamics: changed in place.
        held_out: (sequences,) booleans: they select, the others train.
        settings: integrator, rates, chunks.
    """

    def __init__(
        self,
        problem: TrainingProblem,
        decoder: FilterNetwork,
        dynamics: LatentDynamics,
        held_out: Tensor,
        settings: Settings,
    ) -> None:
        self.problem, self.decoder, self.dynamics = problem, decoder, dynamics
        self.settings = settings
        # The first snapshots were fitted; the others are forecasts.
        scored = problem.timeline.valid.clone()
        scored[:, 0] = False
        chosen = held_out if bool(held_out.any()) else ~held_out
        self.selecting = problem.timeline.scatter(scored & chosen[:, None])
        training = problem.timeline.scatter(scored & ~held_out[:, None])
        share = float(problem.num_values.sum()) * float(training.double().mean())
        weight = next(decoder.parameters())
        self.weights = training.to(weight) / share

    def run(
        self,
        num_steps: int,
        status: Callable[[int, str], None],
        checkpoints: Checkpoints | None = None,
    ) -> tuple[float, float]:
        """Take `num_steps` steps and keep the best state; the held-out error before and after."""
        rates = (
            DECODER_SHARE * self.settings.decoder_learning_rate,
            DYNAMICS_SHARE * self.settings.dynamics_learning_rate,
        )
        networks = nn.ModuleList([self.decoder, self.dynamics])
        optimizer = torch.optim.Adam([{"params": list(each.parameters())} for each in networks])
        before = self.error()
        standing = Standing(networks, before)
        stage = (checkpoints or Checkpoints()).stage(
            "finetuning", networks=networks, optimizer=optimizer, standing=standing
        )
        for step in range(standing.step, num_steps):
            standing.step = step + 1
            optimizer.zero_grad()
            loss = self._backward()
            if not math.isfinite(loss):
                break
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * warm_cosine(step, num_steps, WARM_UP)
            optimizer.step()
            if (step + 1) % CHECK_EVERY == 0 or step + 1 == num_steps:
                standing.judge(networks, self.error())
            stage.step()
            status(step + 1, f"forecast error {loss:.3e}, held out {standing.lowest:.3e}")
        stage.finish()
        standing.restore(networks)
        if not math.isfinite(standing.lowest):
            raise DivergenceError("the forecast to fine-tune is not finite", part="forecast")
        return before, standing.lowest

    def latents(self) -> Tensor:
        """Least-squares latents (snapshots, channels, p) under the current decoder, float64."""
        blocks, chunk_size = self.problem.blocks, self.settings.chunk_size
        return latent_table(normal_equations(self.decoder, blocks, chunk_size))

    def _forecast(self) -> Tensor:
        """Latents (snapshots, channels, p) of forecasts from each first snapshot."""
        timeline, settings = self.problem.timeline, self.settings
        start = timeline.gather(self.latents())[:, 0].flatten(1)
        advance = step_map(
            self.dynamics, timeline.steps, method=settings.stepping, substeps=settings.num_substeps
        )
        # Linear dynamics are in double precision, whatever the decoder is in.
        start = start.to(next(self.dynamics.parameters()))
        states = rollout(advance, start, timeline.steps.shape[1]).to(self.weights)
        return timeline.scatter(states).unflatten(-1, (-1, self.decoder.latent_dim))

    def _backward(self) -> float:
        forecast = self._forecast()
        loss, gradient = accumulate_reconstruction(
            self.decoder,
            self.problem.blocks,
            forecast.detach(),
            self.weights,
            self.settings.chunk_size,
        )
        if math.isfinite(loss):
            forecast.backward(gradient)
        return loss

    @torch.no_grad()
    def error(self) -> float:
        """Mean squared error of decoded forecasts of the held-out sequences."""
        squared, count = squared_errors(
            self.decoder, self.problem.blocks, self._forecast(), self.settings.chunk_size
        )
        error = float(squared[self.selecting].sum() / count[self.selecting].sum())
        return error if math.isfinite(error) else math.inf
