"""Training recipes: from trajectories to a decoder, its latents and their dynamics."""

from smore.training.paper import Trained, train_paper
from smore.training.problem import TrainingProblem

__all__ = ["Trained", "TrainingProblem", "train_paper"]
