"""All records by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from smore.errors import SettingsError
from smore_paper.datasets.records.climates import monthly, oscillation, profiles, wandering
from smore_paper.datasets.records.equations import (
    advection_diffusion,
    burgers,
    korteweg_de_vries,
    kuramoto_sivashinsky,
    reaction,
)

RECORDS: dict[str, Callable[[], xr.Dataset]] = {
    "ks-short": partial(kuramoto_sivashinsky, 1, 12.0, 240),
    "ks-middle": partial(kuramoto_sivashinsky, 2, 22.0, 400),
    "ks-long": partial(kuramoto_sivashinsky, 3, 60.0, 600),
    "kdv-two": partial(korteweg_de_vries, 0, 160),
    "kdv-three": partial(korteweg_de_vries, 1, 240),
    "kdv-other": partial(korteweg_de_vries, 4, 120),
    "burgers-thick": partial(burgers, 1, 0.1, 100),
    "burgers-thin": partial(burgers, 2, 0.03, 160),
    "burgers-thinner": partial(burgers, 3, 0.02, 80),
    "allen-cahn": partial(reaction, 1, "allen-cahn", 150),
    "allen-cahn-other": partial(reaction, 2, "allen-cahn", 80),
    "allen-cahn-long": partial(reaction, 5, "allen-cahn", 300),
    "fisher": partial(reaction, 1, "fisher", 60),
    "fisher-other": partial(reaction, 2, "fisher", 100),
    "stripes": partial(reaction, 1, "swift-hohenberg", 120),
    "stripes-long": partial(reaction, 2, "swift-hohenberg", 300),
    "driven": partial(advection_diffusion, 1, 120),
    "driven-other": partial(advection_diffusion, 2, 240),
    "monthly-4": partial(monthly, 1, 4),
    "monthly-5": partial(monthly, 2, 5),
    "monthly-8": partial(monthly, 3, 8, memory=0.9),
    "monthly-30": partial(monthly, 4, 30, memory=0.6),
    "monthly-warming": partial(monthly, 5, 20, trend=0.08),
    "profiles": partial(profiles, 1, 10),
    "profiles-long": partial(profiles, 2, 40),
    "oscillation": partial(oscillation, 1, 200, noise=0.1),
    "oscillation-noisy": partial(oscillation, 2, 400, noise=0.5),
    "oscillation-clean": partial(oscillation, 3, 120, noise=0.0),
    "wandering": partial(wandering, 1, 150),
    "wandering-long": partial(wandering, 2, 600),
}
# Share of a record that is learned from; the rest is forecast.
TRAINING = 0.75


def make_record(name: str) -> tuple[xr.Dataset, xr.Dataset]:
    """Training part and test part."""
    if name not in RECORDS:
        raise SettingsError(f"unknown record {name!r}; choose one of {', '.join(RECORDS)}")
    whole = RECORDS[name]()
    cut = int(np.ceil(TRAINING * whole.sizes["time"]))
    return whole.isel(time=slice(None, cut)), whole.isel(time=slice(cut, None))
