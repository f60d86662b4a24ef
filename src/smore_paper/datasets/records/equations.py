"""Records of equations on a line: fronts, solitons, shocks, patterns, chaos."""

from __future__ import annotations

import numpy as np
import xarray as xr

from smore_paper.datasets.records.periodic_lines import Array, Line, solve


def _dataset(line: Line, fields: Array, step: float) -> xr.Dataset:
    return xr.Dataset(
        {"u": (("time", "x"), fields)},
        {"time": step * np.arange(len(fields)), "x": line.places},
    )


def kuramoto_sivashinsky(seed: int, length: float, snapshots: int) -> xr.Dataset:
    """u_t = -u_xx - u_xxxx - u u_x after a spin-up: chaos; on a short line a travelling wave."""
    line, random = Line(length, 128), np.random.default_rng(seed)
    k = line.wavenumbers
    linear = k**2 - k**4

    def advection(u: Array) -> Array:
        return -line.derivative(np.fft.rfft(u**2 / 2))

    def run(start: Array, count: int) -> Array:
        return solve(
            line, linear, advection, start, step=0.1, steps_per_snapshot=5, num_snapshots=count
        )

    return _dataset(line, run(run(line.smooth(random, 4), 400)[-1], snapshots), 0.5)


def korteweg_de_vries(seed: int, snapshots: int) -> xr.Dataset:
    """u_t = -6 u u_x - u_xxx: two or three solitons that pass through each other."""
    line, random = Line(40.0, 256), np.random.default_rng(seed)
    linear, fields = 1j * line.wavenumbers**3, np.zeros(256)
    for _ in range(2 + seed % 2):
        speed, place = random.uniform(0.4, 1.6), random.uniform(0, line.length)
        away = (line.places - place + line.length / 2) % line.length - line.length / 2
        fields += speed / 2 / np.cosh(np.sqrt(speed) / 2 * away) ** 2

    def advection(u: Array) -> Array:
        return -line.derivative(np.fft.rfft(3 * u**2))

    found = solve(
        line,
        linear,
        advection,
        fields,
        step=0.01,
        steps_per_snapshot=20,
        num_snapshots=snapshots,
    )
    return _dataset(line, found, 0.2)


def burgers(seed: int, viscosity: float, snapshots: int) -> xr.Dataset:
    """u_t = ν u_xx - u u_x from a few waves: shocks that form, merge and fade."""
    line, random = Line(2 * np.pi, 256), np.random.default_rng(seed)

    def advection(u: Array) -> Array:
        return -line.derivative(np.fft.rfft(u**2 / 2))

    found = solve(
        line,
        -viscosity * line.wavenumbers**2,
        advection,
        line.smooth(random, 3),
        step=0.005,
        steps_per_snapshot=10,
        num_snapshots=snapshots,
    )
    return _dataset(line, found, 0.05)


def reaction(seed: int, kind: str, snapshots: int) -> xr.Dataset:
    """Allen-Cahn, Fisher-KPP or Swift-Hohenberg: walls that creep, fronts that run, stripes."""
    random = np.random.default_rng(seed)
    line = Line({"allen-cahn": 20.0, "fisher": 60.0, "swift-hohenberg": 60.0}[kind], 256)
    k, start = line.wavenumbers, 0.5 * line.smooth(random, 6)
    linear = {
        "allen-cahn": 1 - 0.05 * k**2,
        "fisher": 1 - 0.5 * k**2,
        "swift-hohenberg": 0.3 - (1 - k**2) ** 2,
    }[kind]
    if kind == "fisher":
        start = np.exp(-((line.places - 30) ** 2) / 4) * random.uniform(0.2, 1)

    def term(u: Array) -> Array:
        return -(u**2) if kind == "fisher" else -(u**3)

    found = solve(
        line, linear, term, start, step=0.02, steps_per_snapshot=10, num_snapshots=snapshots
    )
    return _dataset(line, found, 0.2)


def advection_diffusion(seed: int, snapshots: int) -> xr.Dataset:
    """u_t = -u_x + ν u_xx with a source that turns: linear, driven, exactly forecastable."""
    line, random = Line(2 * np.pi, 128), np.random.default_rng(seed)
    times, rate = 0.1 * np.arange(snapshots), random.uniform(0.5, 2.0)
    fields = np.zeros((snapshots, 128))
    for number in range(1, 9):
        size, phase = random.normal() / number, random.uniform(0, 2 * np.pi)
        fade = np.exp(-0.01 * number**2 * times)[:, None]
        fields += size * fade * np.cos(number * (line.places - times[:, None]) + phase)
    fields += np.sin(rate * times)[:, None] * np.exp(np.cos(line.places))
    return _dataset(line, fields, 0.1)
