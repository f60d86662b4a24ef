"""Fit in this process, one of a team perhaps, and keep what its first steps saw.

Run as `python steps.py RECIPE RESULT`, alone or by torchrun.
"""

import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from smore import SMORE
from smore.runtime.distribution import is_leader
from smore.training.algorithm1 import Algorithm1
from smore.training.checkpoints.checkpoints import Stage
from smore.training.decoder import _variable_projection
from waves import NUM_MODES, trajectories

torch.set_num_threads(1)
SIZES = {"latent_dim": NUM_MODES, "hidden_dim": 12, "num_hidden": 1, "device": "cpu", "seed": 3}
RECIPES = {
    "paper": {"recipe": "paper", "dynamics": "lrlq", "rank": 2, "epochs": 60, "fit_steps": 50},
    "fast": {"dynamics": "koopman", "decoder_steps": 60},
    "lrlq": {"dynamics": "lrlq", "rank": 2, "decoder_steps": 60, "dynamics_steps": 10},
}
NUM_STEPS = 10


def main(recipe: str, result: str) -> None:
    """Keep losses and gradients of the first steps, and errors of the model on new data."""
    gradients: list[np.ndarray] = []
    usual = Stage.step

    def noting(stage: Stage) -> None:
        decoder = stage.parts.get("decoder") or getattr(stage.parts.get("run"), "decoder", None)
        if decoder is not None and len(gradients) < NUM_STEPS:
            seen = [weight.grad.flatten() for weight in decoder.parameters()]
            gradients.append(torch.cat(seen).double().numpy().copy())
        usual(stage)

    Stage.step = noting
    losses: list[float] = []
    project, epoch = _variable_projection.accumulate_projection, Algorithm1.epoch

    def projecting(*arguments):
        losses.append(project(*arguments))
        return losses[-1]

    def running(*arguments):
        found = epoch(*arguments)
        losses.append(found.reconstruction + found.dynamics)
        return found

    _variable_projection.accumulate_projection, Algorithm1.epoch = projecting, running
    data = trajectories(8, 6, num_points=203)
    model = SMORE(**SIZES | RECIPES[recipe]).fit(data, progress=False)
    scores = model.evaluate(trajectories(3, 6, num_points=97, seed=5))
    if is_leader():
        description = model.surrogate_.description
        np.savez(
            result,
            gradients=np.stack(gradients),
            losses=losses[:NUM_STEPS],
            full_mse=scores.full_mse,
            residual=description.residual_variance,
            noise=description.noise_variance,
            growth=description.noise_growth,
            scale=description.normalization.scale,
            prior=model.surrogate_.prior.covariance.diagonal().numpy(),
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
