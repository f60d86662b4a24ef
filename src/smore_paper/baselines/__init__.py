"""Methods that SMORE is compared with, behind one small interface."""

from smore_paper.baselines.base import Baseline, Budget
from smore_paper.baselines.cno import CNO
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.rollout_operator import RolloutOperator
from smore_paper.baselines.sfno import SFNO
from smore_paper.baselines.sizes import BASELINE_SIZES, BaselineSize, paper_operator
from smore_paper.baselines.transolver import Transolver

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
