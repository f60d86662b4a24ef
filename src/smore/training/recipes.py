"""One door to all recipes: fresh networks, a progress line, and the recipe the settings name."""

from __future__ import annotations

import torch

from smore.runtime import ProgressLine
from smore.surrogate import build_dynamics, build_network
from smore.training._fast import train_fast
from smore.training._paper import train_paper
from smore.training.algorithm1 import Losses
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.preparing import Prepared
from smore.training.trained import Trained


def train(
    prepared: Prepared,
    device: torch.device,
    *,
    checkpoints: Checkpoints | None = None,
    show_progress: bool,
) -> Trained:
    """Train fresh networks on `prepared` data by the recipe of its settings.

    Args:
        prepared: data and settings.
        device: of the networks.
        checkpoints: where the state goes now and then; if they were resumed, training goes on
            where they stand.
        show_progress: whether to show a progress line.
    """
    checkpoints = checkpoints or Checkpoints()
    settings, problem = prepared.settings, prepared.problem
    generator = torch.Generator().manual_seed(settings.seed)
    if settings.recipe == "fast":
        total = settings.decoder_steps + settings.dynamics_steps
        with ProgressLine("training", total, shown=show_progress) as line:
            return train_fast(
                prepared,
                device,
                generator=generator,
                checkpoints=checkpoints,
                status=line.update,
            )
    decoder = build_network(settings, prepared.coordinate_map.decoder_dim, generator).to(device)
    dynamics = build_dynamics(settings, problem.num_channels, generator).to(device)
    latest = ""
    with ProgressLine("training", settings.epochs, shown=show_progress) as line:

        def show(epoch: int, losses: Losses, error: float | None) -> None:
            nonlocal latest
            if error is not None:
                latest = f"  forecast error {error:.2e}"
            status = f"loss {losses.reconstruction:.2e} + {losses.dynamics:.2e}{latest}"
            line.update(epoch + 1, status)

        return train_paper(
            problem,
            decoder,
            dynamics,
            settings,
            generator=generator,
            forecast_error=prepared.forecast_error,
            checkpoints=checkpoints,
            progress=show,
        )
