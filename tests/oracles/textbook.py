"""Algorithm 1 as the paper prints it: every snapshot through the network, batch by batch.

Slow on purpose. It shares only the parameters with the engine, none of its algebra, and serves as
its oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from smore.data import CoordinateMap, Normalization, Trajectories
from smore.decoder import FilterNetwork
from smore.dynamics import LatentDynamics, LinearDynamics, QuadraticDynamics
from smore.settings import Settings
from smore.training.algorithm1 import Losses
from smore_paper.measuring.textbook import decode_snapshots


def integrate(field: Callable[[Tensor], Tensor], state: Tensor, times: Tensor) -> list[Tensor]:
    """States at times[1:], one step of Kutta's 3/8 rule per interval."""
    states = []
    for before, after in pairwise(times):
        h = (after - before).to(state)
        k1 = field(state)
        k2 = field(state + h * k1 / 3)
        k3 = field(state + h * (k2 - k1 / 3))
        k4 = field(state + h * (k1 - k2 + k3))
        state = state + h * (k1 + 3 * k2 + 3 * k3 + k4) / 8
        states.append(state)
    return states


def scheduled_sampling_ode_solve(
    field: Callable[[Tensor], Tensor], targets: Tensor, times: Tensor, anchors: list[bool]
) -> Tensor:
    """The appendix's algorithm: integrate from anchor to anchor, return predictions (length, r)."""
    start = 0
    solution = [targets[0]]
    for index in range(1, len(times) - 1):
        if anchors[index]:
            solution += integrate(field, targets[start], times[start : index + 1])
            start = index
    solution += integrate(field, targets[start], times[start:])
    return torch.stack(solution)


def regularisation(dynamics: LatentDynamics, settings: Settings) -> Tensor:
    """β_eig L_reg,eig + β_cons L_reg,cons with the whole tensor Q written out."""
    total = torch.zeros(())
    if isinstance(dynamics, LinearDynamics | QuadraticDynamics):
        eigenvalues = torch.linalg.eigvalsh((dynamics.linear + dynamics.linear.T) / 2)
        growth = torch.relu(eigenvalues).sum()
        total = total + settings.eig_weight * growth / (1 + growth)
    if isinstance(dynamics, QuadraticDynamics):
        q = dynamics.slices(slice(None))
        defect = q + torch.einsum("kij->ijk", q) + torch.einsum("jki->ijk", q)
        total = total + settings.cons_weight * defect.square().sum()
    return total


class Textbook:
    """The same state as `training.Algorithm1`, moved by the literal algorithm."""

    def __init__(
        self,
        trajectories: Trajectories,
        normalization: Normalization,
        coordinate_map: CoordinateMap,
        decoder: FilterNetwork,
        dynamics: LatentDynamics,
        settings: Settings,
    ) -> None:
        self.decoder, self.dynamics, self.settings = decoder, dynamics, settings
        dtype = decoder.output_bias.dtype
        self.sequences = [
            (
                torch.as_tensor(coordinate_map(sequence.mesh.coords)).to(dtype),
                torch.as_tensor(normalization.apply(sequence.fields)).to(dtype),
                torch.ones(sequence.fields.shape, dtype=torch.bool)
                if sequence.observed is None
                else torch.tensor(sequence.observed),
                torch.tensor(sequence.times) / (settings.time_scale or 1.0),
            )
            for sequence in trajectories.sequences
        ]
        self.latents = [
            nn.Parameter(torch.zeros(*fields.shape[:2], decoder.latent_dim, dtype=dtype))
            for _, fields, _, _ in self.sequences
        ]
        # Without a gradient a tensor is passed over: a latent steps only when its batch is visited.
        self.latent_optimizer = torch.optim.Adam(self.latents, lr=settings.latent_rate)
        self.decoder_optimizer = torch.optim.Adam(
            decoder.parameters(), lr=settings.decoder_learning_rate
        )
        self.dynamics_optimizer = torch.optim.Adam(
            dynamics.parameters(), lr=settings.dynamics_learning_rate
        )

    def epoch(self, batches: list[Tensor], anchors: Tensor) -> Losses:
        reconstruction = dynamics = 0.0
        self.latent_gradients: dict[int, Tensor] = {}
        self.decoder_optimizer.zero_grad()
        self.dynamics_optimizer.zero_grad()
        for batch, batch_anchors in zip(batches, anchors, strict=True):
            indices = batch.tolist()
            self.latent_optimizer.zero_grad(set_to_none=True)
            reconstruction += self._reconstruct(indices)
            for index in indices:
                gradient = self.latents[index].grad
                assert gradient is not None
                self.latent_gradients[index] = gradient.clone()
            self.latent_optimizer.step()
            loss = self._dynamics_loss(indices, batch_anchors.tolist())
            loss = loss + regularisation(self.dynamics, self.settings) / len(batches)
            loss.backward()
            dynamics += float(loss.detach())
        if self.settings.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.decoder.parameters(), self.settings.clip_norm)
            nn.utils.clip_grad_norm_(self.dynamics.parameters(), self.settings.clip_norm)
        self.decoder_optimizer.step()
        self.dynamics_optimizer.step()
        return Losses(reconstruction, dynamics)

    def _reconstruct(self, indices: list[int]) -> float:
        """L_dec of one batch, backpropagated chunk by chunk (Algorithm 2)."""
        entries = sum(int(self.sequences[index][2].sum()) for index in indices)
        total = 0.0
        for index in indices:
            coords, fields, observed, _ = self.sequences[index]
            size = self.settings.chunk_size or len(coords)
            for start in range(0, len(coords), size):
                chunk = slice(start, start + size)
                codes = self.latents[index].flatten(0, 1)
                decoded = decode_snapshots(self.decoder, coords[chunk], codes)
                error = decoded - fields[..., chunk].flatten(0, 1)
                squared = torch.where(observed[..., chunk].flatten(0, 1), error.square(), 0.0)
                loss = squared.sum() / entries
                loss.backward()
                total += float(loss.detach())
        return total

    def _dynamics_loss(self, indices: list[int], anchors: list[bool]) -> Tensor:
        """L_α of one batch against the detached latents."""
        total = torch.zeros(())
        entries = 0
        for index in indices:
            times = self.sequences[index][3]
            targets = self.latents[index].detach().flatten(1)
            predicted = scheduled_sampling_ode_solve(self.dynamics, targets, times, anchors)
            total = total + (predicted - targets).square().sum()
            entries += targets.numel()
        return total / entries
