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
from smore.evaluation.words import ALIKE, beside_in_words, is_better, steps_in_words

__all__ = [
    "ALIKE",
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
    "beside_in_words",
    "chosen_horizon",
    "evaluate_fields",
    "evaluate_latents",
    "evaluate_surrogate",
    "is_better",
    "persistence_errors",
    "rolling_skill",
    "score",
    "spread_origins",
    "steps_in_words",
    "truth_energy",
]
