"""Sparse gaps are filled as well as the field allows, and change nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from smore import SMORE
from smore.data import Trajectories
from smore.settings import Settings
from smore.training._filling import MOST_MISSING, filled
from smore.training.preparing import prepare

TIMES, POINTS = 120, 40


def waves(noise=0.0, seed=0, times=TIMES):
    """Two channels of very different size, five damped waves at scattered points."""
    random = np.random.default_rng(seed)
    places = random.uniform(size=(POINTS, 2))
    instants = 0.1 * np.arange(times)
    fields = np.zeros((times, 2, POINTS))
    for number in range(5):
        ways, rate = random.integers(-2, 3, size=2), random.uniform(0.5, 3.0)
        angle = 2 * np.pi * places @ ways - rate * instants[:, None] + number
        fields[:, 0] += np.sin(angle) / (number + 1)
        fields[:, 1] += 100 * np.cos(angle) / (number + 1)
    fields += noise * fields.std(axis=(0, 2))[:, None] * random.normal(size=fields.shape)
    return places, instants, fields


def trajectories(places, times, fields):
    return Trajectories.from_xarray(
        xr.Dataset(
            {name: (("time", "point"), fields[:, number]) for number, name in enumerate("uv")},
            {"time": times, "x": ("point", places[:, 0]), "y": ("point", places[:, 1])},
        ),
        missing="mask",
    )


def with_gaps(fields, share, seed=3):
    gaps = np.random.default_rng(seed).random(fields.shape) < share
    return np.where(gaps, np.nan, fields), gaps


@pytest.mark.parametrize("share", [1e-4, 0.02, 0.08])
def test_gaps_of_a_field_of_few_modes_are_found_exactly(share):
    places, times, fields = waves()
    given, gaps = with_gaps(fields, share)
    data, missing = filled(trajectories(places, times, given))
    assert missing == pytest.approx(gaps.mean())
    found = data.sequences[0].fields
    assert data.sequences[0].observed is None
    deviations = np.broadcast_to(fields.std(axis=(0, 2))[:, None], fields.shape)
    assert (np.abs(found - fields) / deviations)[gaps].max() < 0.02
    np.testing.assert_array_equal(found[~gaps], given.astype(found.dtype)[~gaps])


def test_noise_is_not_taken_for_modes():
    """Gaps are filled with the field, at a fraction of the noise of what is around."""
    places, times, fields = waves()
    noisy = waves(noise=0.2)[2]
    given, gaps = with_gaps(noisy, 0.05)
    found = filled(trajectories(places, times, given))[0].sequences[0].fields
    deviations = np.broadcast_to(fields.std(axis=(0, 2))[:, None], fields.shape)
    errors = ((found - fields) / deviations)[gaps]
    assert np.sqrt(np.square(errors).mean()) < 0.15


def test_points_without_any_value_stay_so():
    places, times, fields = waves()
    fields[:, :, :6] = np.nan
    fields[7, 0, 20] = np.nan
    data, missing = filled(trajectories(places, times, fields))
    observed = data.sequences[0].observed
    assert missing > 0
    assert not observed[:, :, :6].any()
    assert observed[:, :, 6:].all()


def too_many(fields):
    return with_gaps(fields, 1.5 * MOST_MISSING)[0]


def most_of_a_point(fields):
    fields = fields.copy()
    fields[:80, :, :3] = np.nan
    return fields


@pytest.mark.parametrize("gaps", [too_many, most_of_a_point])
def test_what_cannot_be_told_is_not_filled(gaps):
    places, times, fields = waves()
    data = trajectories(places, times, gaps(fields))
    found, missing = filled(data)
    assert found is data
    assert missing == 0.0


def test_one_blank_changes_hardly_anything_between_the_points():
    """It had switched a fit to other dynamics and a decoder that nobody had judged."""
    places, times, fields = waves()
    grid = np.stack(np.meshgrid(*2 * [np.linspace(0.2, 0.8, 8)]), -1).reshape(-1, 2)
    blank = fields.copy()
    blank[33, 0, 11] = np.nan
    whole, holed = (
        SMORE(seed=0).fit(trajectories(places, times, each), progress=False)
        for each in (fields, blank)
    )
    chosen = [model.surrogate_.description.settings for model in (whole, holed)]
    kinds = [(each.dynamics, each.decoder, each.latents) for each in chosen]
    assert kinds[0] == kinds[1]
    start = trajectories(places, times, fields).leading(1)
    ahead = [model.forecast(start, times[:5], points=grid)["u"].values for model in (whole, holed)]
    np.testing.assert_allclose(ahead[1], ahead[0], atol=0.02 * fields[:, 0].std())


def test_what_was_filled_is_told_whatever_dynamics_are_chosen(monkeypatch):
    monkeypatch.setattr("smore.training.preparing.asks_for_quadratic", lambda *_: True)
    places, times, fields = waves()
    given, gaps = with_gaps(fields[:40], 0.01)
    data = trajectories(places, times[:40], given)
    prepared = prepare(data, None, Settings(latent_dim=4), torch.device("cpu"))
    assert prepared.settings.dynamics == "lrlq"
    assert prepared.filled == pytest.approx(gaps.mean())
