"""A certificate in a picture: the spectra it rests on, and its bound beside rollouts."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from smore.analysis import ForecastBound, linearisation
from smore.dynamics import QuadraticDynamics, departures
from smore.plotting.sheet import sheet
from smore.stability import HEADLINES, SHOWN_STEPS, Certificate
from smore.surrogate import Surrogate, iterate

Array = NDArray[np.float64]

# What has decayed to less than this share is gone.
SMALLEST_SHOWN = 1e-6
# Rollouts that diverge are shown up to this many times where they started.
LARGEST_SHOWN = 1e6
SHOWN_STATES = 30


def certificate_figure(
    certificate: Certificate,
    linear: Array,
    path: Array,
    forecast: ForecastBound | None = None,
) -> Figure:
    """Spectra of W and of its symmetric part, the bound of V, and if given that of Theorem 3.

    Args:
        certificate: what was proved.
        linear: W (r, r), model time.
        path: (states, steps + 1, r) rollouts to show beside the bound.
        forecast: bound and measured error of forecasts.
    """
    num_panels = 2 if forecast is None else 3
    figure = sheet(4.6 * num_panels, 3.8)
    verdict = HEADLINES[certificate.claims.verdict].lower()
    figure.suptitle(f"Stability of the latent dynamics: {verdict}", fontsize=11)
    panels = figure.subplots(1, num_panels)
    _draw_spectra(panels[0], linear, certificate.claims.time_unit)
    _draw_bound(panels[1], certificate, path)
    if forecast is not None:
        _draw_forecast(panels[2], forecast)
    return figure


def linear_part(surrogate: Surrogate) -> Array:
    """W, or the derivative at the mean state of dynamics that have no linear part."""
    dynamics = surrogate.dynamics
    if isinstance(dynamics, QuadraticDynamics):
        return dynamics.linear.detach().numpy()
    return linearisation(surrogate)[0]


def rollouts(surrogate: Surrogate, num_steps: int = SHOWN_STEPS) -> Array:
    """Rollouts from states drawn from the prior of the training latents."""
    prior = surrogate.prior
    random = np.random.default_rng(0)
    draws = random.normal(size=(SHOWN_STATES, len(prior.mean)))
    states = prior.mean.numpy() + draws @ prior.factor.numpy().T
    now = torch.zeros(SHOWN_STATES, dtype=torch.float64)
    moving = departures(surrogate.dynamics, torch.as_tensor(states), now)
    return iterate(surrogate, moving.numpy(), num_steps)


def _draw_spectra(axes: Axes, linear: Array, time_unit: str) -> None:
    values = np.linalg.eigvals(linear)
    symmetric = np.linalg.eigvalsh((linear + linear.T) / 2)
    axes.axvspan(min(values.real.min(), symmetric[0]), 0.0, color="tab:green", alpha=0.1, lw=0)
    axes.axvline(0.0, color="0.4", lw=0.8)
    axes.plot(values.real, values.imag, "o", ms=4, alpha=0.6, label="$W$")
    axes.plot(symmetric, np.zeros_like(symmetric), "|", ms=9, color="tab:orange", label="$W_s$")
    axes.set_xlabel(f"growth rate (per {time_unit})")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_ylabel(f"angular frequency (per {time_unit})")
    _legend(axes)


def _draw_bound(axes: Axes, certificate: Certificate, path: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # what diverges is drawn as far as it goes
        distances = certificate.distance(path)
    distances[~np.isfinite(distances)] = np.nan
    steps = np.arange(distances.shape[1])
    axes.plot(steps, distances.T, color="tab:blue", alpha=0.25, lw=0.8)
    axes.plot([], [], color="tab:blue", label="rollouts")
    bound = certificate.bound(float(distances[:, 0].max()), len(steps) - 1)
    start = float(np.nanmax(distances[:, 0]))
    shown = _within(bound, LARGEST_SHOWN * start)
    axes.plot(steps, shown, color="tab:red", lw=1.5, label=_bound_label("bound", shown))
    tops = [float(np.nanmax(distances)), *shown[np.isfinite(shown)].tolist()]
    axes.set_yscale("log")
    axes.set_ylim(
        max(SMALLEST_SHOWN * start, float(np.nanmin(distances)) / 3),
        3 * min(max(tops), LARGEST_SHOWN * start),
    )
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, len(steps) - 1)
    axes.set_xlabel("steps")
    axes.set_ylabel("V, distance from the centre")
    _legend(axes)


def _draw_forecast(axes: Axes, forecast: ForecastBound) -> None:
    steps = np.arange(len(forecast.bound))
    shown = _within(forecast.bound, LARGEST_SHOWN * float(forecast.measured.max()))
    label = _bound_label("bound (Theorem 3)", shown)
    axes.plot(steps, shown, color="tab:red", label=label)
    axes.plot(steps, forecast.measured, color="tab:blue", label="largest measured")
    axes.set_yscale("log")
    axes.set_xlabel("steps")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("L2 error of the field")
    _legend(axes)


def _legend(axes: Axes) -> None:
    """Above the axes: curves that nobody can foresee are everywhere inside."""
    axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0))


def _within(bound: Array, largest: float) -> Array:
    """The bound where it is not too large to be drawn, infinite for instance; NaN elsewhere."""
    return np.where(bound <= largest, bound, np.nan)


def _bound_label(name: str, shown: Array) -> str:
    """What is drawn, and from which step on it is not."""
    beyond = np.isnan(shown)
    return f"{name}, too large from step {int(beyond.argmax())} on" if beyond.any() else name
