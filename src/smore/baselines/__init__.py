"""Methods that SMORE is compared with, behind one small interface."""

from smore.baselines.base import Baseline, Budget
from smore.baselines.cno import CNO
from smore.baselines.fno import FNO
from smore.baselines.rollout_operator import RolloutOperator
from smore.baselines.sfno import SFNO
from smore.baselines.sizes import BASELINE_SIZES, BaselineSize, paper_operator
from smore.baselines.transolver import Transolver

__all__ = [
    "BASELINE_SIZES",
    "CNO",
    "FNO",
    "SFNO",
    "Baseline",
    "BaselineSize",
    "Budget",
    "RolloutOperator",
    "Transolver",
    "paper_operator",
]
