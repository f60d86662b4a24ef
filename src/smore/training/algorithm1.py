"""One epoch of the paper's Algorithm 1, as one step of linear algebra.

The decoder moves once per epoch and every sequence is visited once per epoch, so its minibatches do
nothing but scale the loss (the 1/|I| of each batch matters: clipping and Adam's epsilon are not
scale-free) and group the anchors of scheduled sampling. All batches are therefore worked through
together: one basis, one residual, one rollout.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from smore.decoder import Decoder
from smore.decoder.residual import accumulate_reconstruction
from smore.dynamics import LatentDynamics, sampled_rollout, step_map
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.stability import conservation_penalty, eigenvalue_penalty
from smore.training.problem import TrainingProblem


@dataclass(frozen=True)
class Losses:
    """Sums over the minibatches of an epoch, before its updates."""

    reconstruction: float
    dynamics: float


class Algorithm1:
    """Latent table, decoder and dynamics with an Adam optimiser each."""

    def __init__(
        self,
        problem: TrainingProblem,
        decoder: Decoder,
        dynamics: LatentDynamics,
        settings: Settings,
    ) -> None:
        self.problem = problem
        self.decoder = decoder
        self.dynamics = dynamics
        self.settings = settings
        weight = next(decoder.parameters())
        num_snapshots = problem.timeline.num_snapshots
        self.latents = nn.Parameter(
            weight.new_zeros(num_snapshots, problem.num_channels, decoder.latent_dim)
        )
        self.latent_optimizer = torch.optim.Adam([self.latents], lr=settings.latent_rate)
        self.decoder_optimizer = torch.optim.Adam(
            decoder.parameters(), lr=settings.decoder_learning_rate
        )
        self.dynamics_optimizer = torch.optim.Adam(
            dynamics.parameters(), lr=settings.dynamics_learning_rate
        )

    def state(self) -> list[Tensor]:
        """Copies of latents and weights, in a fixed order."""
        return [tensor.detach().clone() for tensor in self._tensors()]

    @torch.no_grad()
    def restore(self, state: list[Tensor]) -> None:
        """Go back to what `state` returned."""
        for tensor, kept in zip(self._tensors(), state, strict=True):
            tensor.copy_(kept)

    def _tensors(self) -> list[Tensor]:
        return [self.latents, *self.decoder.parameters(), *self.dynamics.parameters()]

    def epoch(self, batches: list[Tensor], anchors: Tensor) -> Losses:
        """Visit every sequence once.

        Args:
            batches: the sequences of each minibatch.
            anchors: (batches, longest sequence) teacher-forcing anchors of each minibatch.

        Raises:
            DivergenceError: a loss or gradient is not finite; nothing that depends on it was
                updated.
        """
        batch_of = torch.empty(self.problem.num_sequences, dtype=torch.int64)
        for number, batch in enumerate(batches):
            batch_of[batch] = number
        self.decoder_optimizer.zero_grad()
        self.dynamics_optimizer.zero_grad()
        reconstruction = self._update_latents(batch_of)
        dynamics = self._accumulate_dynamics(batch_of, anchors)
        self._clip("decoder", self.decoder)
        self._clip("dynamics", self.dynamics)
        self.decoder_optimizer.step()
        self.dynamics_optimizer.step()
        return Losses(reconstruction, dynamics)

    def _update_latents(self, batch_of: Tensor) -> float:
        """L_dec of every batch: decoder gradients accumulated, latents stepped."""
        timeline = self.problem.timeline
        weight = 1 / _batch_totals(self.problem.num_values, batch_of)
        loss, self.latents.grad = accumulate_reconstruction(
            self.decoder,
            self.problem.blocks,
            self.latents.detach(),
            timeline.scatter(weight[:, None].expand(timeline.valid.shape)).to(self.latents),
            self.settings.chunk_size,
        )
        _require_finite("reconstruction loss", loss)
        self.latent_optimizer.step()
        return loss

    def _accumulate_dynamics(self, batch_of: Tensor, anchors: Tensor) -> float:
        """L_dyn of every batch against the updated, detached latents."""
        timeline, settings = self.problem.timeline, self.settings
        targets = timeline.gather(self.latents.detach().flatten(1))
        advance = step_map(
            self.dynamics,
            timeline.steps,
            method=settings.stepping,
            substeps=settings.num_substeps,
            gradient=settings.gradient,
        )
        restarts = anchors[batch_of].to(targets.device)
        predictions = sampled_rollout(advance, targets, restarts)
        lengths = timeline.valid.sum(1).double()
        weight = 1 / (_batch_totals(lengths, batch_of) * targets.shape[-1])
        scored = (weight[:, None] * timeline.valid).to(targets)
        loss = ((predictions - targets).square().sum(-1) * scored).sum()
        if settings.eig_weight:
            loss = loss + settings.eig_weight * eigenvalue_penalty(self.dynamics)
        if settings.cons_weight:
            loss = loss + settings.cons_weight * conservation_penalty(self.dynamics)
        value = float(loss.detach())
        _require_finite("dynamics loss", value)
        loss.backward()
        return value

    def _clip(self, name: str, network: nn.Module) -> None:
        bound = self.settings.clip_norm or torch.inf
        norm = clip_grad_norm_(network.parameters(), bound)
        _require_finite(f"{name} gradient", float(norm))


def _batch_totals(per_sequence: Tensor, batch_of: Tensor) -> Tensor:
    """For each sequence, the sum of `per_sequence` over its minibatch."""
    totals = torch.zeros(int(batch_of.max()) + 1, dtype=per_sequence.dtype)
    return totals.index_add_(0, batch_of, per_sequence)[batch_of]


def _require_finite(part: str, value: float) -> None:
    if not torch.isfinite(torch.tensor(value)):
        raise DivergenceError(f"the {part} is {value}", part=part)


def draw_batches(num_sequences: int, batch_size: int, generator: torch.Generator) -> list[Tensor]:
    """A random partition of the sequences; the last batch may be smaller."""
    return list(torch.randperm(num_sequences, generator=generator).split(batch_size))
