"""u_tt = c² Δu on the periodic square [-1, 1)², from a Gaussian pulse at rest, solved exactly.

A pulse that is even about its centre (x₀, y₀) stays so. Hence, with k_m = π m,

    u(x, y, t) = Σ_mn a_mn cos(c |k_mn| t) cos k_m(x - x₀) cos k_n(y - y₀),

and the cosine coefficients a_mn of a periodised Gaussian fall like exp(-σ²|k_mn|²/2): a dozen modes
per axis are exact to round-off. There is no time stepping, and no grid but the one of the output.
"""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

# exp(-9²/2) = 3e-18: cosine coefficients beyond k = 9/σ are below round-off.
LARGEST_WAVENUMBER_TIMES_WIDTH = 9.0


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


def example(
    num_train: int, num_test: int, *, resolution: int = 64, snapshots: int = 20
) -> tuple[xr.Dataset, xr.Dataset]:
    """Waves to try things on: two sequences of every random pulse, one after the other.

    Args:
        num_train, num_test: how many pulses.
        resolution: points per axis.
        snapshots: of a sequence, a quarter of a second apart.

    Returns:
        Training and test data: channels u and u_t over (sequence, time, x, y), float32, each over
        its standard deviation in the training data.
    """
    random = np.random.default_rng(0)
    axis = -1 + 2 * np.arange(resolution) / resolution
    times = 0.25 * np.arange(2 * snapshots, dtype=float)
    count = num_train + num_test
    fields = np.empty((count, 2, 2 * snapshots, resolution, resolution), np.float32)
    for field in fields:
        pulse = Pulse(random.uniform(2, 4), random.uniform(-1, 1, 2), random.uniform(0.25, 0.3))
        x, y = pulse.cosines(np.stack([axis, axis], axis=1))
        for channel, modes in zip(field, pulse.modes(times, speed=1 / 16), strict=True):
            channel[:] = x @ modes @ y.T
    fields /= fields[:num_train].std(axis=(0, 2, 3, 4), keepdims=True)
    shape = (2 * count, snapshots, resolution, resolution)
    dims = ("sequence", "time", "x", "y")
    both = xr.Dataset(
        {name: (dims, fields[:, k].reshape(shape)) for k, name in enumerate(("u", "u_t"))},
        coords={
            "time": ("time", times[:snapshots], {"units": "s"}),
            "x": axis,
            "y": axis,
            "trajectory": ("sequence", np.repeat(np.arange(count), 2)),
        },
    )
    parts = (slice(2 * num_train), slice(2 * num_train, None))
    return both.isel(sequence=parts[0]), both.isel(sequence=parts[1])
