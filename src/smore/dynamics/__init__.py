"""Latent dynamics dα/dt = f(α), the maps that advance them, and how they are rolled out."""

from smore.dynamics.conservative import ConservativeDynamics, FullConservative, LowRankConservative
from smore.dynamics.covariance import (
    StepError,
    carried_covariances,
    forecast_covariances,
    step_jacobians,
)
from smore.dynamics.forced import ForcedLinear, centre_functions, departures
from smore.dynamics.forecast import StepPlan, forecast_latents, forecast_path
from smore.dynamics.integrators import METHODS, StepMap, Tableau, affine_flow, step_map
from smore.dynamics.lead_error import WHERE_THEY_DIFFER, Disagreement, ForecastErrors, LeadError
from smore.dynamics.linear import LinearDynamics
from smore.dynamics.mlp import MLPDynamics
from smore.dynamics.quadratic import FullQuadratic, LowRankQuadratic, QuadraticDynamics
from smore.dynamics.rollout import rollout
from smore.dynamics.scheduled_sampling import (
    draw_anchors,
    sampled_rollout,
    teacher_forcing_probability,
)
from smore.dynamics.vector_field import LatentDynamics

__all__ = [
    "METHODS",
    "WHERE_THEY_DIFFER",
    "ConservativeDynamics",
    "Disagreement",
    "ForcedLinear",
    "ForecastErrors",
    "FullConservative",
    "FullQuadratic",
    "LatentDynamics",
    "LeadError",
    "LinearDynamics",
    "LowRankConservative",
    "LowRankQuadratic",
    "MLPDynamics",
    "QuadraticDynamics",
    "StepError",
    "StepMap",
    "StepPlan",
    "Tableau",
    "affine_flow",
    "carried_covariances",
    "centre_functions",
    "departures",
    "draw_anchors",
    "forecast_covariances",
    "forecast_latents",
    "forecast_path",
    "rollout",
    "sampled_rollout",
    "step_jacobians",
    "step_map",
    "teacher_forcing_probability",
]
