"""How good a forecast is, and whether it beats doing nothing."""

from smore.evaluation.calibration import CURVE, LEVELS, Calibration
from smore.evaluation.evaluation import Evaluation, evaluate_latents
from smore.evaluation.fields import evaluate_fields
from smore.evaluation.origins import NUM_ORIGINS, Origin, chosen_horizon, spread_origins
from smore.evaluation.references import persistence_errors, truth_energy
from smore.evaluation.rolling import rolling_skill
from smore.evaluation.scores import Scores, score
from smore.evaluation.skill import NAMES, LeadScores, Skill
from smore.evaluation.surrogate import evaluate_surrogate

__all__ = [
    "CURVE",
    "LEVELS",
    "NAMES",
    "NUM_ORIGINS",
    "Calibration",
    "Evaluation",
    "LeadScores",
    "Origin",
    "Scores",
    "Skill",
    "chosen_horizon",
    "evaluate_fields",
    "evaluate_latents",
    "evaluate_surrogate",
    "persistence_errors",
    "rolling_skill",
    "score",
    "spread_origins",
    "truth_energy",
]
