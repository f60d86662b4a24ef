"""Stability of the latent dynamics: what training promotes and what can be certified."""

from smore.stability.certificate import HEADLINES, SHOWN_STEPS, Certificate, Claims, Verdict
from smore.stability.certify import certify_dynamics
from smore.stability.lyapunov import EPSILON, SAFETY, project_spectrum
from smore.stability.regularisers import conservation_penalty, eigenvalue_penalty
from smore.stability.stepping import Stepping

__all__ = [
    "EPSILON",
    "HEADLINES",
    "SAFETY",
    "SHOWN_STEPS",
    "Certificate",
    "Claims",
    "Stepping",
    "Verdict",
    "certify_dynamics",
    "conservation_penalty",
    "eigenvalue_penalty",
    "project_spectrum",
]
