"""A small model and a small checkpoint, as the checks begin with."""

from __future__ import annotations

from pathlib import Path

import torch

from smore import SMORE
from smore.model_file.container import CHECKPOINT, save_file
from waves import trajectories


def save_model(path: Path) -> None:
    """A model that was really fitted, if not for long."""
    sizes = {"latent_dim": 4, "hidden_dim": 16, "num_hidden": 2, "dynamics": "lrlq", "rank": 2}
    model = SMORE(**sizes, recipe="paper", epochs=1, fit_steps=1)
    model.fit(trajectories(4, 4), progress=False).save(path)


def save_checkpoint(path: Path, size: int = 2000, seed: int = 0) -> None:
    """Tensors of all kinds that a checkpoint may hold."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {
        "0": torch.randn(size, generator=generator),
        "1": torch.randn(7, 11, dtype=torch.float64, generator=generator),
        "2": generator.get_state(),
        "3": torch.tensor(17),
    }
    save_file(path, tensors, '{"dict": [["epoch", 17]]}', CHECKPOINT)
