"""One epoch of the paper's Algorithm 1, as one step of linear algebra.

The decoder moves once per epoch and every sequence is visited once per epoch, so its minibatches do
nothing but scale the loss (the 1/|I| of each batch matters: clipping and Adam's epsilon are not
scale-free) and group the anchors of scheduled sampling. All batches are therefore worked through
together: one basis, one residual, one rollout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from smore.decoder import Decoder, accumulate_factored, accumulate_reconstruction, factored
from smore.dynamics import LatentDynamics, sampled_rollout, step_map
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.stability import conservation_penalty, eigenvalue_penalty
from smore.training.problem import TrainingProblem

# Rollouts keep every intermediate product for the backward pass: what bounds memory once points
# come in chunks.
SEQUENCES_AT_ONCE = 128
# Factors of the data cost as much as some fifty epochs.
FACTORED_FROM = 500  # epochs


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
        self._optimizers = (
            self.latent_optimizer,
            self.decoder_optimizer,
            self.dynamics_optimizer,
        )
        asks_for_little = settings.chunk_size is not None or settings.memory is not None
        pays = settings.epochs >= FACTORED_FROM and not asks_for_little
        self._factors = factored(problem.blocks) if pays else None
        self._rates = [optimizer.param_groups[0]["lr"] for optimizer in self._optimizers]

    def tensors(self) -> list[Tensor]:
        """Latents and weights, in a fixed order."""
        return [self.latents, *self.decoder.parameters(), *self.dynamics.parameters()]

    def restart(self, factor: float) -> None:
        """Forget all momentum and go on with learning rates times `factor`."""
        for optimizer, rate in zip(self._optimizers, self._rates, strict=True):
            optimizer.state.clear()
            for group in optimizer.param_groups:
                group["lr"] = factor * rate

    def state_dict(self) -> dict[str, Any]:
        """Everything that an epoch changes."""
        return {
            "tensors": [tensor.detach() for tensor in self.tensors()],
            "optimizers": [optimizer.state_dict() for optimizer in self._optimizers],
        }

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        for tensor, kept in zip(self.tensors(), state["tensors"], strict=True):
            tensor.copy_(kept)
        for optimizer, kept in zip(self._optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(kept)

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
        totals = 1 / _batch_totals(self.problem.num_values, batch_of)
        weights = timeline.scatter(totals[:, None].expand(timeline.valid.shape)).to(self.latents)
        latents = self.latents.detach()
        if self._factors is not None:
            reconstruction = accumulate_factored(self.decoder, self._factors, latents, weights)
        else:
            reconstruction = accumulate_reconstruction(
                self.decoder, self.problem.blocks, latents, weights, self.settings.chunk_size
            )
        loss, self.latents.grad = reconstruction
        _require_finite("reconstruction loss", loss)
        _require_finite("latent gradient", float(self.latents.grad.norm()))
        self.latent_optimizer.step()
        return loss

    def _accumulate_dynamics(self, batch_of: Tensor, anchors: Tensor) -> float:
        """L_dyn of every batch against the updated, detached latents, some sequences at a time."""
        timeline, settings = self.problem.timeline, self.settings
        lengths = timeline.valid.sum(1).double()
        dim = self.latents[0].numel()
        weight = 1 / (_batch_totals(lengths, batch_of) * dim)
        value = 0.0
        for rows in torch.arange(self.problem.num_sequences).split(SEQUENCES_AT_ONCE):
            loss = self._rollout_loss(rows, anchors[batch_of[rows]], weight[rows])
            value += self._backward(loss)
        if settings.eig_weight:
            value += self._backward(settings.eig_weight * eigenvalue_penalty(self.dynamics))
        if settings.cons_weight:
            value += self._backward(settings.cons_weight * conservation_penalty(self.dynamics))
        return value

    def _rollout_loss(self, rows: Tensor, restarts: Tensor, weight: Tensor) -> Tensor:
        """Weighted squared error of some sequences' rollouts with restarts."""
        timeline, settings = self.problem.timeline.select(rows), self.settings
        targets = timeline.gather(self.latents.detach().flatten(1))
        advance = step_map(
            self.dynamics,
            timeline.steps,
            method=settings.stepping,
            substeps=settings.num_substeps,
            gradient=settings.gradient,
        )
        predictions = sampled_rollout(advance, targets, restarts.to(targets.device))
        scored = (weight[:, None] * timeline.valid).to(targets)
        return ((predictions - targets).square().sum(-1) * scored).sum()

    def _backward(self, loss: Tensor) -> float:
        value = float(loss.detach())
        _require_finite("dynamics loss", value)
        if loss.requires_grad:  # a penalty may not apply to these dynamics
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
