"""Do certified models keep their word? Long rollouts of trained models beside stated bounds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from smore.data import Trajectories
from smore.dynamics import LatentDynamics, step_map
from smore.model import SMORE
from smore.stability import Stepping, certify_dynamics
from smore.surrogate import iterate
from smore_paper import datasets
from smore_paper.datasets import Benchmark
from smore_paper.presets import from_preset, preset

NUM_STEPS = 10_000
STEPS_AT_ONCE = 500
RANDOM_STATES = 32
# How far out random states are drawn, as multiples of the training states' distance.
REACH = 3.0

# Benchmark, what makes its model certified, and what the same model is without that.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "wave-koopman": ({}, {"stabilise": "never"}),
    "ns-lrlq": ({"dynamics": "conservative", "rank": None, "dissipative": True}, {}),
    "sw-koopman": ({"stabilise": "always"}, {"stabilise": "never"}),
}


@dataclass(frozen=True)
class CertifiedResult:
    """A certified model, its price, and its longest rollouts.

    Attributes:
        full_mse: test error of the certified model, full window.
        uncertified_full_mse: that of the model fitted without a thought of certificates.
        margin: γ, per unit of model time.
        map_factor: ρ, per output interval.
        training_radius: largest V of a training state.
        largest_bound: of V over all rollouts that start from test states.
        largest_seen: V over the same rollouts.
        worst_ratio: largest V / bound over all steps of all rollouts, random states included.
        interval_seconds: to advance all test states by one output interval.
        rk4_substeps: Runge-Kutta substeps per interval that would be certified as well, for
            quadratic models that take Strang steps, and
        rk4_interval_seconds: what these would cost.
    """

    preset: str
    seed: int
    certified: bool
    reason: str
    full_mse: float | None
    uncertified_full_mse: float | None
    margin: float | None
    map_factor: float | None
    condition: float | None
    training_radius: float
    largest_bound: float
    largest_seen: float
    worst_ratio: float
    num_states: int
    num_steps: int
    seconds: float
    interval_seconds: float
    rk4_substeps: int | None
    rk4_interval_seconds: float | None


def check_certificates(
    names: list[str], seed: int, *, compare: bool, models: Path | None = None
) -> Iterator[CertifiedResult]:
    """Fit, certify and iterate.

    Args:
        names: keys of CASES.
        seed: of weights and of random states.
        compare: fit the uncertified models too.
        models: folder to keep the certified models in, as `PRESET-certified.smore`; one that is
            there already is not fitted again.
    """
    for name in names:
        benchmark = datasets.load(preset(name).dataset)
        certified, free = CASES[name]
        kept = None if models is None else models / f"{name}-certified.smore"
        if kept is not None and kept.exists():
            model = SMORE.load(kept)
        else:
            model = from_preset(name, seed=seed, **certified).fit(benchmark.train)
            if kept is not None:
                model.save(kept)
        other = None
        if compare:
            other = from_preset(name, seed=seed, **free).fit(benchmark.train)
        yield judge(name, seed, model, other, benchmark)


def judge(
    name: str, seed: int, model: SMORE, other: SMORE | None, benchmark: Benchmark
) -> CertifiedResult:
    """Iterate `model` beside its bound; score it and, if given, the uncertified one."""
    certificate = model.certify()
    claims = certificate.claims
    test = Trajectories.from_xarray(benchmark.test)
    states = _test_states(model, test)
    drawn = _random_states(model, REACH * claims.training_radius, seed)
    bound, seen, ratio = _extremes(model, states)
    ratio = max(ratio, _extremes(model, drawn)[2])
    return CertifiedResult(
        preset=name,
        seed=seed,
        certified=claims.certified,
        reason=claims.reason,
        full_mse=model.evaluate(test).full_mse,
        uncertified_full_mse=None if other is None else other.evaluate(test).full_mse,
        margin=claims.margin,
        map_factor=claims.map_factor,
        condition=claims.condition,
        training_radius=claims.training_radius,
        largest_bound=bound,
        largest_seen=seen,
        worst_ratio=ratio,
        num_states=len(states) + len(drawn),
        num_steps=NUM_STEPS,
        seconds=round(model.surrogate_.description.training.seconds, 1),
        **_costs(model, states),
    )


def _costs(model: SMORE, states: NDArray[np.float64]) -> dict[str, Any]:
    """Time of an interval as the model takes it, and with certified Runge-Kutta steps."""
    surrogate = model.surrogate_
    settings, description = surrogate.description.settings, surrogate.description
    interval = description.step
    costs: dict[str, Any] = {
        "interval_seconds": _seconds(
            surrogate.dynamics, states, interval, settings.stepping, settings.num_substeps
        ),
        "rk4_substeps": None,
        "rk4_interval_seconds": None,
    }
    if settings.stepping == "strang":
        claims = certify_dynamics(surrogate.dynamics, states, Stepping(interval, "rk4", 1)).claims
        needed = claims.substeps_needed
        if needed is not None:
            costs["rk4_substeps"] = needed
            costs["rk4_interval_seconds"] = _seconds(
                surrogate.dynamics, states, interval, "rk4", needed
            )
    return costs


@torch.no_grad()
def _seconds(
    dynamics: LatentDynamics,
    states: NDArray[np.float64],
    interval: float,
    method: str,
    substeps: int,
) -> float:
    """Of one interval for all states, the fastest of three."""
    start = torch.as_tensor(states)
    steps = torch.full((len(states), 1), interval, dtype=torch.float64)
    advance = step_map(dynamics, steps, method=method, substeps=substeps)
    found = []
    for _ in range(3):
        started = time.perf_counter()
        advance(start, 0)
        found.append(time.perf_counter() - started)
    return min(found)


def _test_states(model: SMORE, test: Trajectories) -> NDArray[np.float64]:
    """The states of all first snapshots of the test set."""
    return model.infer(test).flat.numpy()


def _random_states(model: SMORE, radius: float, seed: int) -> NDArray[np.float64]:
    """States inside the certified set, up to V = radius."""
    certificate = model.certify()
    limit = radius if certificate.claims.radius is None else min(radius, certificate.claims.radius)
    random = np.random.default_rng(seed)
    directions = random.normal(size=(RANDOM_STATES, len(certificate.centre)))
    states = certificate.centre + directions
    scale = limit * random.uniform(0, 1, RANDOM_STATES) / certificate.distance(states)
    return certificate.centre + scale[:, None] * directions


def _extremes(model: SMORE, states: NDArray[np.float64]) -> tuple[float, float, float]:
    """Largest bound, largest V and largest V / bound over NUM_STEPS steps."""
    certificate = model.certify()
    bounds = certificate.bound(certificate.distance(states), NUM_STEPS)
    seen = ratio = 0.0
    for start in range(0, NUM_STEPS, STEPS_AT_ONCE):
        path = iterate(model.surrogate_, states, STEPS_AT_ONCE)
        distances = certificate.distance(path)
        allowed = bounds[:, start : start + STEPS_AT_ONCE + 1]
        seen = max(seen, float(distances.max()))
        ratio = max(ratio, float((distances / np.maximum(allowed, 1e-300)).max()))
        states = path[:, -1]
    return float(bounds.max()), seen, ratio
