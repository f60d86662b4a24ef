"""Does the mesh matter? Wave, trained on the full grid and on another half of it per sequence.

The first model is also asked for a grid four times as fine, inside the extent it was trained on,
and compared there with the exact solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data import Mesh, Trajectories
from smore.model import SMORE
from smore.surrogate import advance, decode
from smore.waves import solution
from smore_paper.datasets import Benchmark
from smore_paper.datasets.wave import WaveOptions
from smore_paper.presets import from_preset

FINE = 256


@dataclass(frozen=True)
class MeshStudy:
    """Full-window errors of the same configuration on different meshes.

    Attributes:
        full_grid_mse: trained and scored on the 64 x 64 grid.
        halves_mse: trained on a random half of the points, another for each sequence; test states
            are inferred from one half and scored on the other.
        fine_mse: the first model at 256 x 256 points against the exact solution.
        halves_ratio, fine_ratio: of the latter two to the first.
    """

    epochs: int
    num_sequences: int
    full_grid_mse: float
    halves_mse: float
    fine_mse: float
    persistence_mse: float | None
    seconds_full_grid: float
    seconds_halves: float
    halves_ratio: float
    fine_ratio: float


def study_meshes(
    benchmark: Benchmark, say: Callable[[str], None], *, seed: int = 0, **settings: Any
) -> MeshStudy:
    """Train wave-koopman twice by Algorithm 1 and compare; `settings` override the preset's."""
    settings = {"recipe": "paper", "seed": seed} | settings
    training = Trajectories.from_xarray(benchmark.train)
    test = Trajectories.from_xarray(benchmark.test)
    say("training on the full grid")
    full = from_preset("wave-koopman", **settings).fit(training)
    on_grid = full.evaluate(test)

    random = np.random.default_rng(seed)
    num_points = test.sequences[0].mesh.num_points

    def halves(count: int) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        orders = [random.permutation(num_points) for _ in range(count)]
        return [o[: num_points // 2] for o in orders], [o[num_points // 2 :] for o in orders]

    say("training on another half of the points for each sequence")
    seen, _ = halves(len(training))
    half = from_preset("wave-koopman", **settings).fit(training.at_points(seen))
    seen, unseen = halves(len(test))
    on_halves = half.evaluate(test.at_points(unseen), observations=test.leading(1).at_points(seen))
    description = full.surrogate_.description
    fine_mse = fine_error(full, benchmark.test, benchmark.options)
    assert on_grid.full_mse is not None
    assert on_halves.full_mse is not None
    return MeshStudy(
        epochs=description.training.epochs_run,
        num_sequences=len(training),
        full_grid_mse=on_grid.full_mse,
        halves_mse=on_halves.full_mse,
        fine_mse=fine_mse,
        persistence_mse=on_grid.persistence_mse,
        seconds_full_grid=description.training.seconds,
        seconds_halves=half.surrogate_.description.training.seconds,
        halves_ratio=on_halves.full_mse / on_grid.full_mse,
        fine_ratio=fine_mse / on_grid.full_mse,
    )


def fine_error(model: SMORE, test: xr.Dataset, options: Any) -> float:
    """Full-window MSE at FINE x FINE points within the training extent, against the exact waves."""
    assert isinstance(options, WaveOptions)
    axes = [np.linspace(float(test[name].min()), float(test[name].max()), FINE) for name in "xy"]
    coords = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    mesh = Mesh.scattered(coords, np.full(len(coords), 1.0))
    times = test["time"].to_numpy()
    state = model.infer(test)
    surrogate = model.surrogate_
    latents = advance(surrogate, state, np.tile(times[1:], (len(state), 1)))
    errors = []
    for number, row in enumerate(latents):
        pulse = test.isel(sequence=number)
        exact = solution(
            float(pulse["amplitude"]),
            [float(pulse["center_x"]), float(pulse["center_y"])],
            float(pulse["width"]),
            coords,
            times[1:] + float(pulse["start_time"]),
            options.speed,
        )
        truth = np.stack(
            [values / test[name].attrs["scale"] for name, values in zip(test, exact, strict=True)],
            axis=1,
        )
        errors.append(np.mean((decode(surrogate, row[1:], mesh) - truth) ** 2))
    return float(np.mean(errors))
