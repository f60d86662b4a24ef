"""Do proofs hold? Many random sensors and many random systems, each beside its bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from smore.analysis import forecast_bound
from smore.data import Trajectories
from smore.inference import FitMethod
from smore.model import SMORE
from smore.runtime import ProgressLine
from smore_paper.benches.calibration import with_noise
from smore_paper.benches.random_systems import EDGY, ROBUST, System
from smore_paper.datasets import load

# V and its bound are each computed with a few roundings.
ROUNDING = 1e-12
NUM_STEPS = 200  # of the integrator, so many output intervals as that makes
LATENTS = 8
# Standard deviation of what every other mask adds to the normalised observations.
NOISE = 0.1
# Few: a state that is fitted badly has to keep its bound too.
ADAM_STEPS = 50


@dataclass
class BoundsResult:
    """How often a bound was exceeded.

    Attributes:
        theorem: which one.
        kind: of masks or systems.
        proved: whether the bound is proved, or rests on an observed growth.
        count: how many were tried and had a finite bound.
        refused: how many more had none.
        violated: how many exceeded it somewhere.
        worst_ratio: largest error or distance over its bound.
    """

    theorem: str
    kind: str
    proved: bool
    seed: int
    count: int = 0
    refused: int = 0
    violated: int = 0
    worst_ratio: float = 0.0
    seconds: float = 0.0

    def add(self, ratio: float | None) -> None:
        """Take in one case: its largest ratio, or None where nothing was claimed."""
        if ratio is None:
            self.refused += 1
            return
        self.count += 1
        self.violated += not ratio <= 1 + ROUNDING
        self.worst_ratio = max(self.worst_ratio, ratio)


def check_masks(num_masks: int, seed: int) -> Iterator[BoundsResult]:
    """Theorem 3 for random masks of p to 3 p sensors, with and without noise.

    Linear dynamics by every way to infer a state, `num_masks` in all; then a tenth as many with
    linear-quadratic dynamics, where the growth of errors is only observed.
    """
    benchmark = load("wave", num_train=20, num_test=3, resolution=16)
    truth = Trajectories.from_xarray(benchmark.test)
    sizes: dict[str, Any] = {"latent_dim": LATENTS, "hidden_dim": 32, "num_hidden": 1}
    sizes |= {"decoder_steps": 200, "final_fit_steps": ADAM_STEPS, "seed": seed}
    models = {
        "linear": SMORE(dynamics="koopman", **sizes).fit(benchmark.train, progress=False),
        "linear-quadratic": SMORE(dynamics="lrlq", rank=3, **sizes).fit(
            benchmark.train, progress=False
        ),
    }
    methods: tuple[FitMethod, ...] = get_args(FitMethod)
    plan = [("linear", method, -(-num_masks // len(methods))) for method in methods]
    plan.append(("linear-quadratic", methods[0], num_masks // 10))
    for dynamics, method, count in plan:
        model = models[dynamics]
        kind = f"{dynamics}, {method}"
        result = BoundsResult("Theorem 3", kind, dynamics == "linear", seed)
        constants = model.decoder_constants(truth.sequences[0].mesh)

        def ratio(rng: np.random.Generator, number: int) -> float | None:
            seen = _observe(truth, rng, noisy=bool(number % 2))
            bound = forecast_bound(model.surrogate_, truth, seen, method, constants)  # noqa: B023
            if not np.isfinite(bound.bound).all():
                return None
            return float((bound.measured / bound.bound).max())

        yield _repeat(result, ratio, count)


def _observe(truth: Trajectories, rng: np.random.Generator, *, noisy: bool) -> Trajectories:
    """First snapshots at p to 3 p random points."""
    mesh = truth.sequences[0].mesh
    points = rng.choice(mesh.num_points, rng.integers(LATENTS, 3 * LATENTS + 1), replace=False)
    seen = truth.leading(1).at_points(points)
    if not noisy:
        return seen
    values = np.stack([sequence.fields for sequence in seen])
    return with_noise(seen, NOISE * values.std(axis=(0, 1, 3)), rng)


def check_systems(num_systems: int, seed: int) -> Iterator[BoundsResult]:
    """Theorem 1 for random systems for which something is claimed, half of them near rounding."""
    half = num_systems // 2
    for families, total in ((ROBUST, num_systems - half), (EDGY, half)):
        for name, draw in families.items():
            result = BoundsResult("Theorem 1", name, True, seed)

            def ratio(
                rng: np.random.Generator,
                _: int,
                draw: Callable[[np.random.Generator], System] = draw,
            ) -> float | None:
                system = draw(rng)
                return system.worst_ratio(NUM_STEPS // system.stepping.substeps)

            yield _repeat(result, ratio, -(-total // len(families)))


def _repeat(
    result: BoundsResult,
    ratio: Callable[[np.random.Generator, int], float | None],
    count: int,
) -> BoundsResult:
    """Draw cases until `count` of them had a bound."""
    rng = np.random.default_rng([result.seed, *result.kind.encode()])
    started = time.perf_counter()
    with ProgressLine(f"{result.theorem}, {result.kind}", count) as line:
        while result.count < count:
            result.add(ratio(rng, result.count + result.refused))
            line.update(result.count, f"{result.violated} bounds exceeded")
            if result.refused > 20 * (result.count + 50):
                break  # this family is hardly ever claimed anything for: the row says so
    result.seconds = round(time.perf_counter() - started, 1)
    return result
