"""Stable, mesh-agnostic surrogates of time-dependent PDEs."""

from smore.data import Trajectories
from smore.errors import SmoreError
from smore.evaluation import Evaluation
from smore.inference import LatentState
from smore.model import SMORE
from smore.settings import Settings

__version__ = "0.1.0"

__all__ = ["SMORE", "Evaluation", "LatentState", "Settings", "SmoreError", "Trajectories"]
