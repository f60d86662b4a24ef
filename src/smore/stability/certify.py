"""Is this model stable? Theorem 1 and beyond, for the ODE and for the map that is iterated.

A claim is made only where an inequality holds with room for rounding. Everything else is "not
certified", with the reason and the nearest remedy.
"""

from __future__ import annotations

import numpy as np

from smore.dynamics import LatentDynamics, LinearDynamics, QuadraticDynamics
from smore.runtime import one_thread
from smore.stability._certify_linear import certify_linear
from smore.stability._certify_quadratic import certify_quadratic
from smore.stability.certificate import Certificate, Claims
from smore.stability.stepping import Array, Stepping


@one_thread()
def certify_dynamics(dynamics: LatentDynamics, states: Array, stepping: Stepping) -> Certificate:
    """Prove what can be proved about the dynamics of a model.

    Args:
        dynamics: in float64, as it is iterated.
        states: (n, r) latents of training data; the claims should cover them.
        stepping: what is iterated.
    """
    if isinstance(dynamics, LinearDynamics):
        return certify_linear(dynamics, states, stepping)
    if isinstance(dynamics, QuadraticDynamics):
        return certify_quadratic(dynamics, states, stepping)
    claims = Claims(
        verdict="refused",
        reason="there is no theory for these dynamics",
        remedy="dynamics 'koopman', or 'conservative' with dissipative=True",
        dynamics=type(dynamics).__name__,
        metric="nothing",
        margin=None,
        forcing=None,
        defect=None,
        radius=None,
        condition=None,
        map_factor=None,
        map_forcing=None,
        step=stepping.step,
        integrator=str(stepping),
        time_unit=stepping.time_unit,
        training_radius=float(np.linalg.norm(states, axis=1).max()),
        conditions=(),
    )
    dim = states.shape[1]
    return Certificate(claims, np.zeros(dim), np.eye(dim))
