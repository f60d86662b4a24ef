"""How good a forecast is, and whether it beats doing nothing."""

from smore.evaluation.evaluation import Evaluation, evaluate_latents
from smore.evaluation.fields import evaluate_fields
from smore.evaluation.references import persistence_errors, truth_energy
from smore.evaluation.scores import Scores, score
from smore.evaluation.surrogate import evaluate_surrogate

__all__ = [
    "Evaluation",
    "Scores",
    "evaluate_fields",
    "evaluate_latents",
    "evaluate_surrogate",
    "persistence_errors",
    "score",
    "truth_energy",
]
