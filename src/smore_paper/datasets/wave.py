"""The Wave benchmark: Gaussian pulses on the periodic square [-1, 1)² (`smore.waves`).

The paper's text has a wave speed of 2 on [-1, 1]². The benchmark has 2 grid cells per second, 1/16:
the errors that the paper shows snapshot by snapshot peak once, at snapshots 7 to 9, as those of
SMORE-LRLQ do on these data; at a speed of 2 a wave of two periods across the domain turns by half a
revolution in a time step of 0.25 s, and all shorter ones are aliased. `LiteralWaveOptions` are the
text's.
"""

from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from pydantic import Field

from smore.waves import Pulse
from smore_paper.datasets.ensemble import Ensemble
from smore_paper.datasets.options import Options, PositiveRange


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
