"""Inference in closed form against the paper's thousand Adam steps, on the same observations."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from smore.data import Block, Trajectories
from smore.decoder import FilterNetwork
from smore.inference import infer_states, normal_equations
from smore.model import SMORE
from smore_paper.measuring.textbook import decode_snapshots
from smore_paper.tables.sparse.sweep import nested_masks

# Repetitions of the fast side, of which the median counts.
REPETITIONS = 11


@dataclass(frozen=True)
class InferenceBench:
    """Seconds and mean squared residuals at the observed values, normalised units.

    Attributes:
        adam_seconds: num_steps steps of Adam, every step through the whole network.
        posterior_seconds: normal equations and posterior mean and covariance, from the same data.
        adam_residual, least_squares_residual, posterior_residual: means over all observed values.
    """

    points: int
    sequences: int
    latent_directions: int
    num_steps: int
    adam_seconds: float
    posterior_seconds: float
    least_squares_seconds: float
    speedup: float
    adam_residual: float
    least_squares_residual: float
    posterior_residual: float


def bench_inference(
    model: SMORE, test: Trajectories, *, visible: float, num_sequences: int, num_steps: int
) -> InferenceBench:
    """Infer the first states of some sequences from a random mask, both ways."""
    surrogate = model.surrogate_
    decoder = surrogate.decoder
    assert isinstance(decoder, FilterNetwork)
    first = surrogate.aligned(test).leading(1).select(range(min(num_sequences, len(test))))
    points = nested_masks(first.sequences[0].mesh.num_points, [visible], 0)[visible]
    (block,) = surrogate.blocks(first.at_points(points))
    assert isinstance(block, Block)
    times = torch.zeros(len(first), dtype=torch.float64)
    settings = surrogate.description.settings

    def closed_form(method: Any) -> tuple[float, float]:
        seconds = []
        for _ in range(REPETITIONS):
            started = time.perf_counter()
            equations = normal_equations(decoder, [block])
            state = infer_states(
                equations,
                times,
                method=method,
                priors=surrogate.priors,
                noise=surrogate.expected_noise,
            )
            seconds.append(time.perf_counter() - started)
        return sorted(seconds)[REPETITIONS // 2], _residual(decoder, block, state.mean)

    posterior_seconds, posterior_residual = closed_form("posterior")
    exact_seconds, exact_residual = closed_form("least-squares")
    started = time.perf_counter()
    codes = adam_through_network(decoder, block, num_steps, settings.fit_rate)
    adam_seconds = time.perf_counter() - started
    return InferenceBench(
        points=len(points),
        sequences=len(first),
        latent_directions=int(surrogate.prior.mean.numel()),
        num_steps=num_steps,
        adam_seconds=adam_seconds,
        posterior_seconds=posterior_seconds,
        least_squares_seconds=exact_seconds,
        speedup=adam_seconds / posterior_seconds,
        adam_residual=_residual(decoder, block, codes),
        least_squares_residual=exact_residual,
        posterior_residual=posterior_residual,
    )


def adam_through_network(
    decoder: FilterNetwork, block: Block, num_steps: int, rate: float
) -> Tensor:
    """Codes (snapshots, channels, p) after Adam from zero, best iterate kept (as DINo's code)."""
    targets = block.values.T
    codes = torch.zeros(len(targets), decoder.latent_dim).to(targets).requires_grad_()
    optimizer = torch.optim.Adam([codes], lr=rate)
    lowest, best = torch.inf, codes.detach().clone()
    for step in range(num_steps + 1):
        optimizer.zero_grad()
        loss = (decode_snapshots(decoder, block.coords, codes) - targets).square().mean()
        if float(loss.detach()) < lowest:
            lowest, best = float(loss.detach()), codes.detach().clone()
        if step < num_steps:
            (codes.grad,) = torch.autograd.grad(loss, codes)
            optimizer.step()
    return best.unflatten(0, (-1, block.num_channels))


@torch.no_grad()
def _residual(decoder: FilterNetwork, block: Block, codes: Tensor) -> float:
    """Mean squared misfit at the observed values, in float64."""
    basis = decoder.basis(block.coords)
    decoded = codes.flatten(0, 1).double() @ basis.modes.double().T + basis.offset.double()
    return float((decoded - block.values.T.double()).square().mean())
