"""A linear PDE in closed form, and a model that solves it exactly.

Damped travelling waves, ∂u/∂t = -c·∇u - γ u, observed as u and v = ∂u/∂t. A field is a sum of a few
sines and cosines of wave vectors k, so a filter network can hold the modes exactly, and the codes
move by a rotation with damping: u has code z(t) = e^{At} z(0), v has A z(t).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import block_diag, expm

from smore import SMORE, Trajectories
from smore.data import Channel
from smore.dynamics import StepError
from smore.inference import LatentPrior
from smore.inference.model_error import ModelError
from smore.stability.certify import certify_dynamics
from smore.stability.stepping import Stepping

WAVES = np.pi * np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])
VELOCITY, DAMPING, STEP = np.array([0.3, 0.2]), 0.1, 0.5
NUM_MODES = 2 * len(WAVES)
CHANNELS = (Channel(name="u", units="m", long_name="height"), Channel(name="v", units="m/s"))
FREQUENCIES = np.diag(WAVES @ VELOCITY)
RATES = np.block([[0 * FREQUENCIES, FREQUENCIES], [-FREQUENCIES, 0 * FREQUENCIES]])
RATES -= DAMPING * np.eye(NUM_MODES)


def codes(num_sequences: int, seed: int = 0) -> NDArray[np.float64]:
    """Initial codes (sequences, modes) of u."""
    return np.random.default_rng(seed).normal(size=(num_sequences, NUM_MODES))


def places(num_points: int = 40, seed: int = 1) -> NDArray[np.float64]:
    """Scattered points in [-1, 1]², two corners included."""
    coords = np.random.default_rng(seed).uniform(-1, 1, size=(num_points, 2))
    coords[0], coords[1] = -1.0, 1.0
    return coords


def solution(initial: NDArray, coords: NDArray, times: ArrayLike) -> NDArray[np.float64]:
    """Fields (sequences, times, 2, points) at elapsed times."""
    phases = coords @ WAVES.T
    modes = np.concatenate([np.sin(phases), np.cos(phases)], axis=1)
    states = np.stack([initial @ expm(RATES * t).T for t in np.atleast_1d(times)], axis=1)
    return np.stack([states @ modes.T, states @ RATES.T @ modes.T], axis=2)


def trajectories(
    num_sequences: int = 6, num_times: int = 6, num_points: int = 40, seed: int = 0
) -> Trajectories:
    """The exact solution on common points, every STEP from time 0."""
    times, coords = STEP * np.arange(num_times), places(num_points)
    fields = solution(codes(num_sequences, seed), coords, times)
    return Trajectories.from_arrays(fields, coords, times, channels=CHANNELS)


def planted(data: Trajectories, **settings: object) -> SMORE:
    """A model fitted to `data` for an epoch, then given the exact modes, rates and prior."""
    chosen = {
        "latent_dim": NUM_MODES,
        "hidden_dim": NUM_MODES,
        "num_hidden": 1,
        "integrator": "exact",
        "normalization": "none",
        "recipe": "paper",
        "epochs": 1,
        "validation_fraction": 0.0,
    }
    model = SMORE(**(chosen | settings)).fit(data, progress=False)
    surrogate = model.surrogate_
    description = surrogate.description
    lower, upper = np.array(description.coordinate_map.lower), description.coordinate_map.upper
    shift = np.diag(WAVES @ lower)  # the decoder's coordinates are 0 at the lower corner
    turn = np.block([[np.cos(shift), -np.sin(shift)], [np.sin(shift), np.cos(shift)]])
    turn *= np.tile(np.eye(len(WAVES)), (2, 2))
    # A step of the data is STEP of the solution's time, whatever the clock calls it.
    unit = STEP * description.settings.time_scale / description.time_step
    decoder = surrogate.decoder
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.zero_()
        decoder.frequencies[1].copy_(
            torch.tensor(2 * WAVES * (upper - lower) / decoder.filter_scale)
        )
        decoder.modulations[1].copy_(torch.tensor(turn))
        decoder.output_weight.fill_(1.0)
        surrogate.dynamics.linear.copy_(torch.tensor(unit * block_diag(RATES, RATES)))
    # z ~ N(0, I) for u, and v's code follows from it.
    factor = torch.zeros(2 * NUM_MODES, 2 * NUM_MODES, dtype=torch.float64)
    factor[:, :NUM_MODES] = torch.tensor(np.vstack([np.eye(NUM_MODES), RATES]))
    states = np.random.default_rng(0).normal(size=(50, 2 * NUM_MODES)) @ factor.numpy().T
    step = description.time_step / description.settings.time_scale
    model.surrogate_ = replace(
        surrogate,
        certificate=certify_dynamics(
            surrogate.dynamics, states, Stepping(step, model.settings.stepping, 1)
        ),
        priors=(LatentPrior(torch.zeros(2 * NUM_MODES, dtype=torch.float64), factor),),
        error=ModelError(
            floor=torch.full((2,), 1e-12, dtype=torch.float64),
            share=torch.zeros(2, dtype=torch.float64),
            step=StepError(torch.zeros_like(factor), 0.0, step),
        ),
        description=description.model_copy(
            update={
                "noise_variance": (1e-12, 1e-12),
                "noise_growth": (1.0, 1.0),
                "latent_radius": float(np.linalg.norm(states, axis=1).max()),
            }
        ),
    )
    return model
