"""Training recipes: from trajectories to a decoder, its latents and their dynamics."""

from smore.training.fast import train_fast
from smore.training.paper import train_paper
from smore.training.problem import TrainingProblem
from smore.training.trained import Trained

__all__ = ["Trained", "TrainingProblem", "train_fast", "train_paper"]
