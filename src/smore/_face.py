"""The public names of smore, where they come from."""

from smore.comparison import compare
from smore.data import Trajectories
from smore.errors import SmoreError
from smore.evaluation import Evaluation
from smore.inference import LatentState
from smore.model import SMORE
from smore.settings import Settings

__all__ = [
    "SMORE",
    "Evaluation",
    "LatentState",
    "Settings",
    "SmoreError",
    "Trajectories",
    "compare",
]
