"""∂ω/∂t + v·∇ω = ν Δω + f,   f = 0.1 (sin 2π(x+y) + cos 2π(x+y)), from random initial states.

The paper's text has the domain [-1, 1]², its source of equation, forcing and initial states (Li et
al. 2021) the unit torus. The benchmark is on the unit torus: there a plain linear model (POD + DMD)
has the errors of the paper's SMORE-Koopman, on the text's domain two to three times as large ones.
`LiteralNavierStokesOptions` are the text's.
"""

from collections.abc import Iterator
from typing import ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import Field, model_validator

from smore_paper.datasets.ensemble import Ensemble
from smore_paper.datasets.navier_stokes.vorticity import VorticityEquation
from smore_paper.datasets.options import EvenInt, Options, require_multiple

Array = NDArray[np.float64]

# Eight 64 x 64 spectra and what a step needs beside them stay in a core's cache. The batches are
# the same whatever the number of threads, and so are the results.
BATCH = 8

CHANNEL = {"long_name": "vorticity", "units": "s-1", "scale": 1.0, "physical_units": "s-1"}


class NavierStokesOptions(Options):
    """The Navier-Stokes benchmark on the unit torus; time is in seconds."""

    # Not a field: what is cached under today's fields stays valid.
    domain: ClassVar[tuple[float, float]] = (0.0, 1.0)

    resolution: EvenInt = Field(default=64, ge=8, description="grid points per axis")
    viscosity: float = Field(default=1e-3, gt=0, description="ν")
    forcing: float = Field(default=0.1, ge=0, description="amplitude of f")
    smoothness: float = Field(
        default=2.5, gt=1, description="α: the initial spectrum falls like |k|^-α"
    )
    inverse_length: float = Field(
        default=7.0, gt=0, description="τ: the initial spectrum is flat below |k| = τ"
    )
    spin_up: float = Field(default=30.0, ge=0, description="seconds before the first snapshot")
    time_step: float = Field(default=1.0, gt=0, description="seconds between snapshots")
    sequences_per_trajectory: int = Field(
        default=2, ge=1, description="sequences cut from a trajectory"
    )
    solver_step: float = Field(
        default=0.05,
        gt=0,
        description="seconds per Runge-Kutta step; halving 0.05 changes the fields by 5e-8",
    )

    @model_validator(mode="after")
    def _steps_fit_into_each_other(self) -> Self:
        require_multiple(time_step=self.time_step, solver_step=self.solver_step)
        require_multiple(spin_up=self.spin_up, time_step=self.time_step)
        return self

    @property
    def steps_per_snapshot(self) -> int:
        """Runge-Kutta steps between snapshots."""
        return round(self.time_step / self.solver_step)

    @property
    def skipped(self) -> int:
        """Snapshots that the spin-up takes and nobody sees."""
        return round(self.spin_up / self.time_step)

    @property
    def recorded(self) -> int:
        """Snapshots per trajectory."""
        return self.snapshots * self.sequences_per_trajectory

    @property
    def length(self) -> float:
        """Side of the torus."""
        return self.domain[1] - self.domain[0]

    @property
    def axis(self) -> Array:
        """Where the grid points of an axis are, (resolution,)."""
        return self.domain[0] + self.length * np.arange(self.resolution) / self.resolution


class LiteralNavierStokesOptions(NavierStokesOptions):
    """The Navier-Stokes benchmark on [-1, 1)², as the paper's text has it."""

    domain: ClassVar[tuple[float, float]] = (-1.0, 1.0)


def gaussian_random_field(
    stream: np.random.Generator,
    resolution: int,
    smoothness: float,
    inverse_length: float,
    length: float = 1.0,
) -> Array:
    """A draw from N(0, τ^(2α-2) (-Δ + τ²)^-α) with zero mean on a torus of side L.

    The initial states of Li et al. (2021), "Fourier neural operator for parametric PDEs". Modes of
    norm one are exp(ik·x)/L, so that a larger torus holds more of them but no larger fields.

    Args:
        stream: where randomness comes from.
        resolution: grid points per axis.
        smoothness: α.
        inverse_length: τ.
        length: L.

    Returns:
        The field, (resolution, resolution).
    """
    kx = 2 * np.pi / length * np.fft.fftfreq(resolution, 1 / resolution)[:, None]
    ky = 2 * np.pi / length * np.fft.rfftfreq(resolution, 1 / resolution)[None, :]
    deviation = inverse_length ** (smoothness - 1) * (kx**2 + ky**2 + inverse_length**2) ** (
        -smoothness / 2
    )
    deviation[0, 0] = 0.0
    white = np.fft.rfft2(stream.standard_normal((resolution, resolution)))
    return resolution / length * np.fft.irfft2(deviation * white, s=(resolution, resolution))


def simulate(options: NavierStokesOptions, ensemble: Ensemble) -> xr.Dataset:
    """Trajectories of the vorticity, training ones first."""
    resolution, length, axis = options.resolution, options.length, options.axis
    phase = 2 * np.pi * (axis[:, None] + axis)
    forcing = options.forcing * (np.sin(phase) + np.cos(phase))
    equation = VorticityEquation(resolution, options.viscosity, forcing, length)

    def trajectories(streams: list[np.random.Generator]) -> Iterator[NDArray[np.float32]]:
        start = [
            gaussian_random_field(
                stream, resolution, options.smoothness, options.inverse_length, length
            )
            for stream in streams
        ]
        vorticity = equation.analysis(np.stack(start))
        while True:
            yield equation.synthesis(vorticity).astype(np.float32)
            vorticity = equation.advance(vorticity, options.solver_step, options.steps_per_snapshot)

    batches = ensemble.record(
        trajectories,
        [batch for streams in options.random_streams() for batch in _batched(streams)],
        intervals=options.skipped + options.recorded,
        keep=options.recorded,
        description="Navier-Stokes equations",
    )
    vorticity = np.concatenate([batch.swapaxes(0, 1) for batch in batches])
    times = options.spin_up + options.time_step * np.arange(options.recorded)
    return xr.Dataset(
        {"vorticity": (("trajectory", "time", "x", "y"), vorticity, CHANNEL)},
        coords={
            "time": ("time", times, {"units": "s"}),
            "x": ("x", axis, {"units": "1"}),
            "y": ("y", axis, {"units": "1"}),
            "trajectory": ("trajectory", np.arange(len(vorticity))),
        },
    )


def _batched(streams: list[np.random.Generator]) -> list[list[np.random.Generator]]:
    return [streams[start : start + BATCH] for start in range(0, len(streams), BATCH)]
