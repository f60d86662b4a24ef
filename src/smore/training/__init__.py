"""Training recipes: from trajectories to a decoder, its latents and their dynamics."""

from smore.training.problem import TrainingProblem
from smore.training.recipes import train
from smore.training.trained import Trained

__all__ = ["Trained", "TrainingProblem", "train"]
