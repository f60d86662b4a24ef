"""From observations to latent states."""

from smore.inference.fits import adam, least_squares, posterior
from smore.inference.infer import FIT_METHODS, FitMethod, infer_states
from smore.inference.latent_state import LatentState
from smore.inference.noise import estimate_noise, noise_variance
from smore.inference.normal_equations import NormalEquations, normal_equations
from smore.inference.prior import LatentPrior

__all__ = [
    "FIT_METHODS",
    "FitMethod",
    "LatentPrior",
    "LatentState",
    "NormalEquations",
    "adam",
    "estimate_noise",
    "infer_states",
    "least_squares",
    "noise_variance",
    "normal_equations",
    "posterior",
]
