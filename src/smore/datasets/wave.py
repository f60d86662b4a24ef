"""u_tt = c² Δu on the periodic square [-1, 1)², from a Gaussian pulse at rest, solved exactly.

A pulse that is even about its centre (x₀, y₀) stays so. Hence, with k_m = π m,

    u(x, y, t) = Σ_mn a_mn cos(c |k_mn| t) cos k_m(x - x₀) cos k_n(y - y₀),

and the cosine coefficients a_mn of a periodised Gaussian fall like exp(-σ²|k_mn|²/2): a dozen modes
per axis are exact to round-off. There is no time stepping, and no grid but the one of the output.

The paper's text has a wave speed of 2 on [-1, 1]². The benchmark has 2 grid cells per second, 1/16:
the errors that the paper shows snapshot by snapshot peak once, at snapshots 7 to 9, as those of
SMORE-LRLQ do on these data; at a speed of 2 a wave of two periods across the domain turns by half a
revolution in a time step of 0.25 s, and all shorter ones are aliased. `LiteralWaveOptions` are the
text's.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from smore.datasets.ensemble import Ensemble
from smore.datasets.options import Options, PositiveRange

Array = NDArray[np.float64]

# exp(-9²/2) = 3e-18: cosine coefficients beyond k = 9/σ are below round-off.
LARGEST_WAVENUMBER_TIMES_WIDTH = 9.0


class WaveOptions(Options):
    """The Wave benchmark; lengths are in the units of the domain [-1, 1)²."""

    resolution: int = Field(default=64, ge=4, description="grid points per axis")
    speed: float = Field(
        default=1 / 16,
        gt=0,
        description="wave speed per second, in domain units; 1/16 is two cells of the 64-grid",
    )
    time_step: float = Field(default=0.25, gt=0, description="seconds between snapshots")
    sequences_per_trajectory: int = Field(
        default=2, ge=1, description="sequences cut from a trajectory"
    )
    amplitude: PositiveRange = Field(default=(2.0, 4.0), description="range of pulse heights")
    width: PositiveRange = Field(default=(0.25, 0.30), description="range of pulse widths σ")


class LiteralWaveOptions(WaveOptions):
    """The Wave benchmark with the wave speed of the paper's text."""

    speed: float = Field(default=2.0, gt=0, description="wave speed per second, in domain units")


def solution(
    amplitude: float,
    center: ArrayLike,
    width: float,
    coords: ArrayLike,
    times: ArrayLike,
    speed: float,
) -> tuple[Array, Array]:
    """u and u_t of a Gaussian pulse released at rest, exact at any points and times.

    u(x, 0) = amplitude · exp(-|x - center|² / 2 width²), summed over all periods.

    Args:
        amplitude: height of the pulse.
        center: (2,), where it is released.
        width: its standard deviation.
        coords: (points, 2), where to evaluate; the period is 2.
        times: (times,), when to evaluate, in seconds since the release.
        speed: the wave speed c.

    Returns:
        u and u_t, each (times, points).
    """
    pulse = Pulse(amplitude, np.asarray(center, float), width)
    x, y = pulse.cosines(np.asarray(coords, float))
    u_modes, u_t_modes = pulse.modes(np.asarray(times, float), speed)
    u = np.stack([((x @ modes) * y).sum(axis=1) for modes in u_modes])
    u_t = np.stack([((x @ modes) * y).sum(axis=1) for modes in u_t_modes])
    return u, u_t


@dataclass(frozen=True)
class Pulse:
    """Initial state, and with it the whole solution, in cosines about its centre."""

    amplitude: float
    center: Array
    width: float

    @property
    def wavenumbers(self) -> Array:
        """k_m = π m, as many as a pulse of this width needs: (modes,)."""
        return np.pi * np.arange(2 + LARGEST_WAVENUMBER_TIMES_WIDTH / (np.pi * self.width))

    def modes(self, times: Array, speed: float) -> tuple[Array, Array]:
        """Coefficients of u and of u_t in the products of cosines: (times, modes, modes) each."""
        k = self.wavenumbers
        profile = np.sqrt(2 * np.pi) * self.width * np.exp(-((self.width * k) ** 2) / 2)
        profile[0] /= 2
        start = self.amplitude * np.outer(profile, profile)
        frequency = speed * np.hypot.outer(k, k)
        phase = times[:, None, None] * frequency
        return start * np.cos(phase), -start * frequency * np.sin(phase)

    def cosines(self, coords: Array) -> tuple[Array, Array]:
        """cos k_m(x - x₀) and cos k_n(y - y₀) at (points, 2): (points, modes) each."""
        offset = coords - self.center
        k = self.wavenumbers
        return np.cos(np.outer(offset[:, 0], k)), np.cos(np.outer(offset[:, 1], k))


def simulate(options: WaveOptions, ensemble: Ensemble) -> xr.Dataset:
    """Trajectories of (u, u_t), each over its training standard deviation; training ones first."""
    train, test = options.random_streams()
    pulses = [_draw(stream, options) for stream in train + test]
    axis = -1 + 2 * np.arange(options.resolution) / options.resolution
    recorded = options.snapshots * options.sequences_per_trajectory
    times = options.time_step * np.arange(recorded, dtype=float)

    def trajectory(pulse: Pulse) -> Iterator[NDArray[np.float32]]:
        x, y = pulse.cosines(np.stack([axis, axis], axis=1))
        for u, u_t in zip(*pulse.modes(times, options.speed), strict=True):
            yield np.stack([x @ u @ y.T, x @ u_t @ y.T]).astype(np.float32)

    fields = np.stack(
        ensemble.record(
            trajectory, pulses, intervals=recorded, keep=recorded, description="wave equation"
        )
    )
    return xr.Dataset(
        {
            "u": _channel(fields[:, :, 0], options.num_train, "displacement", "1"),
            "u_t": _channel(fields[:, :, 1], options.num_train, "du/dt", "s-1"),
        },
        coords={
            "time": ("time", times, {"units": "s"}),
            "x": ("x", axis, {"units": "1"}),
            "y": ("y", axis, {"units": "1"}),
            "trajectory": ("trajectory", np.arange(len(pulses))),
            "amplitude": ("trajectory", [pulse.amplitude for pulse in pulses]),
            "center_x": ("trajectory", [pulse.center[0] for pulse in pulses]),
            "center_y": ("trajectory", [pulse.center[1] for pulse in pulses]),
            "width": ("trajectory", [pulse.width for pulse in pulses]),
        },
    )


def _draw(stream: np.random.Generator, options: WaveOptions) -> Pulse:
    return Pulse(
        amplitude=stream.uniform(*options.amplitude),
        center=stream.uniform(-1.0, 1.0, size=2),
        width=stream.uniform(*options.width),
    )


def _channel(
    values: NDArray[np.float32], num_train: int, long_name: str, physical_units: str
) -> xr.Variable:
    scale = float(values[:num_train].std(dtype=float))
    return xr.Variable(
        ("trajectory", "time", "x", "y"),
        values / np.float32(scale),
        {
            "long_name": f"{long_name} over its training standard deviation",
            "units": "1",
            "scale": scale,
            "physical_units": physical_units,
        },
    )
