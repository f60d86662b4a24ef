"""A network that has to be taken becomes as wide as the data ask for, and is not descended on."""

import numpy as np
import pytest

from smore import SMORE, Trajectories
from smore.training.decoder import fit
from smore.training.memory import bytes_per_point

POINTS, LENGTH, WAVES = 900, 40, 12


@pytest.fixture(scope="module")
def record():
    """Twelve plane waves at scattered points: 24 directions, finer than a narrow network has."""
    random = np.random.default_rng(0)
    coords, times = random.uniform(size=(POINTS, 2)), 0.1 * np.arange(LENGTH)
    waves = 9.0 * random.normal(size=(WAVES, 2))
    speeds = random.uniform(1, 3, size=WAVES)
    phases = coords @ waves.T - times[:, None, None] * speeds
    return Trajectories.from_arrays([np.cos(phases).sum(2)[:, None]], coords, [times])


def fitted(record, **settings):
    model = SMORE(decoder="network", **settings).fit(record, progress=False)
    description = model.surrogate_.description
    return description.settings.hidden_dim, description.training.findings


def test_width_is_chosen_where_the_user_leaves_it_open(record, monkeypatch):
    wide, findings = fitted(record)
    assert findings["decoder_steps"] == 0
    assert findings["decoder_error"] < fit.NEARLY_EXACT
    monkeypatch.setattr(fit, "WIDER", (1,))
    monkeypatch.setattr(fit, "ELIMINATED_STEPS", 1)
    narrow, others = fitted(record)
    assert wide > narrow
    assert others["decoder_error"] > 10 * findings["decoder_error"]


def test_fewer_points_of_a_wider_network_are_decoded_at_once(record):
    model = SMORE(decoder="network", memory="10MB").fit(record, progress=False)
    settings = model.surrogate_.description.settings
    taken = settings.chunk_size * bytes_per_point(settings, LENGTH)
    assert settings.hidden_dim > 64
    assert 0.45 * settings.memory < taken <= 0.5 * settings.memory


def test_a_width_that_is_told_is_kept(record):
    width, _ = fitted(record, hidden_dim=64, decoder_steps=1)
    assert width == 64


def test_a_few_points_are_enough_to_learn_a_network_from(record, monkeypatch):
    whole = fitted(record)[1]["decoder_error"]
    monkeypatch.setattr(fit, "MOST_LEARNED", POINTS - 100)
    some = fitted(record)[1]["decoder_error"]
    assert some < 30 * whole + 1e-7
