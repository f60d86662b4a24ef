"""Height and vorticity of unstable jets on the sphere, hourly, once the jets have broken up.

The paper's text has diffusion ν Δ. The benchmark has the fourth order of the example that comes
with Dedalus, the solver which the paper names: with it a plain linear model (POD + DMD) has errors
a little below those of the paper's SMORE-Koopman, with ν Δ a fifth of that, an eighth of the
paper's or less. `LiteralShallowWaterOptions` are the text's.
"""

from collections.abc import Iterator
from typing import Literal, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import Field, model_validator

from smore_paper.datasets.ensemble import Ensemble
from smore_paper.datasets.options import EvenInt, Options, PositiveRange, require_multiple
from smore_paper.datasets.shallow_water.earth import GRAVITY, METRE, RADIUS_IN_METRES, SECOND
from smore_paper.datasets.shallow_water.equations import ShallowWaterEquations
from smore_paper.datasets.shallow_water.galewsky import initial_state
from smore_paper.datasets.shallow_water.sphere import Sphere

# The paper's channels: height and vorticity in these multiples of the radius and of 1/hour.
HEIGHT_FACTOR = 3e3
VORTICITY_FACTOR = 2.0

# Degree at which diffusion of second and of fourth order are equally strong.
REFERENCE_DEGREE = 32

HEIGHT = {
    "long_name": "height above the mean depth",
    "units": f"{RADIUS_IN_METRES / HEIGHT_FACTOR:g} m",
    "scale": RADIUS_IN_METRES / HEIGHT_FACTOR,
    "physical_units": "m",
}
VORTICITY = {
    "long_name": "relative vorticity",
    "units": "0.5 h-1",
    "scale": SECOND / VORTICITY_FACTOR,
    "physical_units": "s-1",
}
LATITUDE = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"}
LONGITUDE = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"}


class ShallowWaterOptions(Options):
    """The shallow-water benchmark; every second point of the solver's grid is recorded."""

    num_train: int = Field(default=8, ge=1, description="simulated training trajectories")
    num_test: int = Field(default=2, ge=1, description="simulated test trajectories")
    resolution: EvenInt = Field(
        default=128, ge=16, description="latitudes of the solver's grid; longitudes are twice that"
    )
    hours: int = Field(default=320, ge=2, description="simulated hours")
    keep_last: int = Field(default=160, ge=2, description="recorded hours, hourly, at the end")
    jet_speed: PositiveRange = Field(default=(60.0, 80.0), description="range of u_max in m/s")
    bump_height: float = Field(default=120.0, ge=0, description="initial perturbation in metres")
    diffusion_order: Literal[2, 4] = Field(default=4, description="2: ν Δ; 4: -ν Δ² R²/32²")
    diffusivity: float = Field(default=1e5, ge=0, description="ν in m²/s")
    solver_step: float = Field(
        default=600.0,
        gt=0,
        description="seconds per time step; halving 600 changes the fields by 2e-3 (1%)",
    )

    @model_validator(mode="after")
    def _recording_fits(self) -> Self:
        if self.keep_last > self.hours:
            raise ValueError(f"keep_last = {self.keep_last} exceeds hours = {self.hours}")
        require_multiple(keep_last=self.keep_last, snapshots=self.snapshots)
        require_multiple(hour_in_seconds=3600, solver_step=self.solver_step)
        return self


class LiteralShallowWaterOptions(ShallowWaterOptions):
    """The shallow-water benchmark with the diffusion of the paper's text."""

    diffusion_order: Literal[2, 4] = Field(default=2, description="2: ν Δ; 4: -ν Δ² R²/32²")


def simulate(options: ShallowWaterOptions, ensemble: Ensemble) -> xr.Dataset:
    """Trajectories of scaled height and vorticity, training ones first."""
    sphere = Sphere(options.resolution)
    equations = ShallowWaterEquations(sphere, damping(sphere, options))
    steps_per_hour = round(3600 / options.solver_step)

    def trajectory(jet_speed: float) -> Iterator[NDArray[np.float32]]:
        state = initial_state(equations, jet_speed * METRE / SECOND, options.bump_height * METRE)
        while True:
            state = equations.advance(state, 1 / steps_per_hour, steps_per_hour)
            vorticity, _, geopotential = state
            height = sphere.synthesis(HEIGHT_FACTOR / GRAVITY * geopotential)
            fields = np.stack([height, sphere.synthesis(VORTICITY_FACTOR * vorticity)])
            yield fields[:, ::2, ::2].astype(np.float32)

    train, test = options.random_streams()
    jet_speeds = [stream.uniform(*options.jet_speed) for stream in train + test]
    fields = np.stack(
        ensemble.record(
            trajectory,
            jet_speeds,
            intervals=options.hours,
            keep=options.keep_last,
            description="shallow-water equations",
        )
    )
    times = np.arange(options.hours - options.keep_last + 1.0, options.hours + 1)
    dims = ("trajectory", "time", "lat", "lon")
    return xr.Dataset(
        {
            "height": (dims, fields[:, :, 0], HEIGHT),
            "vorticity": (dims, fields[:, :, 1], VORTICITY),
        },
        coords={
            "time": ("time", times, {"units": "h"}),
            "lat": ("lat", np.rad2deg(sphere.latitude[::2]), LATITUDE),
            "lon": ("lon", np.rad2deg(sphere.longitude[::2]), LONGITUDE),
            "trajectory": ("trajectory", np.arange(len(fields))),
            "jet_speed": ("trajectory", jet_speeds, {"units": "m s-1"}),
        },
    )


def damping(sphere: Sphere, options: ShallowWaterOptions) -> NDArray[np.float64]:
    """The decay rate of each harmonic per hour, (modes,): ν l(l+1), or ν (l(l+1))²/32²."""
    diffusivity = options.diffusivity * METRE**2 / SECOND
    if options.diffusion_order == 2:
        return -diffusivity * sphere.laplacian
    return diffusivity * sphere.laplacian**2 / REFERENCE_DEGREE**2
