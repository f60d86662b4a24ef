"""Training recipes: from trajectories to a decoder, its latents and their dynamics."""

from smore.training.algorithm1 import Algorithm1, draw_batches
from smore.training.assembling import assemble
from smore.training.checkpoints.checkpoints import (
    EVERY_SECONDS,
    Checkpoints,
    Randomness,
    Stateful,
    Variables,
    open_checkpoints,
)
from smore.training.checkpoints.files import checkpoint_files, discard_checkpoints
from smore.training.checkpoints.identity import require_same_settings
from smore.training.preparing import Prepared, prepare
from smore.training.problem import TrainingProblem
from smore.training.recipes import train
from smore.training.session import RunOptions, run_training
from smore.training.trained import Trained

__all__ = [
    "EVERY_SECONDS",
    "Algorithm1",
    "Checkpoints",
    "Prepared",
    "Randomness",
    "RunOptions",
    "Stateful",
    "Trained",
    "TrainingProblem",
    "Variables",
    "assemble",
    "checkpoint_files",
    "discard_checkpoints",
    "draw_batches",
    "open_checkpoints",
    "prepare",
    "require_same_settings",
    "run_training",
    "train",
]
