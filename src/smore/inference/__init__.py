"""From observations to latent states."""

from smore.inference.border import check_observations
from smore.inference.cautions import cautions
from smore.inference.few_values import (
    ValueRows,
    WhitenedPosterior,
    has_few_values,
    value_rows,
    whitened_posterior,
)
from smore.inference.infer import FIT_METHODS, FitMethod, candidate_priors, infer_states
from smore.inference.latent_state import LatentState
from smore.inference.model_error import ModelError, code_blocks, field_variance
from smore.inference.noise import estimate_noise, noise_variance
from smore.inference.normal_equations import NormalEquations, chunk_equations, normal_equations
from smore.inference.observability import observabilities, observability
from smore.inference.placement import Candidates, Placement, one_row_each, place_sensors
from smore.inference.point_fits import adam, least_squares
from smore.inference.posterior import posterior
from smore.inference.prior import LatentPrior

__all__ = [
    "FIT_METHODS",
    "Candidates",
    "FitMethod",
    "LatentPrior",
    "LatentState",
    "ModelError",
    "NormalEquations",
    "Placement",
    "ValueRows",
    "WhitenedPosterior",
    "adam",
    "candidate_priors",
    "cautions",
    "check_observations",
    "chunk_equations",
    "code_blocks",
    "estimate_noise",
    "field_variance",
    "has_few_values",
    "infer_states",
    "least_squares",
    "noise_variance",
    "normal_equations",
    "observabilities",
    "observability",
    "one_row_each",
    "place_sensors",
    "posterior",
    "value_rows",
    "whitened_posterior",
]
