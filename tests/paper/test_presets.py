"""The nine configurations of the paper, with its own numbers beside them."""

import numpy as np
import pytest

from smore import Trajectories
from smore.errors import SettingsError
from smore.surrogate.networks import build_dynamics, build_network, count_parameters
from smore_paper.presets import PRESETS, from_preset, preset, preset_settings

# The paper's table: name, channels, d, p, h_dec, l_dec, h_dyn, κ, batch, K_eval, parameters.
PAPER = [
    ("wave-dino", 2, 2, 100, 46, 3, 146, None, 32, 500, 126_928),
    ("wave-koopman", 2, 2, 100, 116, 3, None, None, 32, 500, 128_045),
    ("wave-lrlq", 2, 2, 40, 112, 3, None, 5, 32, 500, 127_265),
    ("ns-dino", 1, 2, 72, 64, 3, 368, None, 32, 300, 356_444),
    ("ns-koopman", 1, 2, 128, 260, 3, None, None, 32, 300, 355_165),
    ("ns-lrlq", 1, 2, 72, 160, 4, None, 18, 32, 300, 353_961),
    ("sw-dino", 2, 3, 100, 100, 3, 290, None, 4, 500, 356_674),
    ("sw-koopman", 2, 3, 100, 262, 3, None, None, 4, 500, 354_401),
    ("sw-lrlq", 2, 3, 60, 96, 3, None, 10, 4, 500, 354_553),
]
NAMES = [row[0] for row in PAPER]


def test_there_are_nine():
    assert list(PRESETS) == NAMES


@pytest.mark.parametrize("row", PAPER, ids=NAMES)
def test_parameters_and_zero_weights_add_up_to_the_papers_count(row):
    """Ours plus the d·h weights that the paper counts and fixes at zero."""
    name, channels, dim, *_, count = row
    chosen = preset(name)
    decoder = build_network(chosen.settings, dim)
    dynamics = build_dynamics(chosen.settings, channels)
    assert count_parameters(decoder, dynamics) + dim * chosen.settings.hidden_dim == count
    assert (chosen.num_channels, chosen.coordinate_dim) == (channels, dim)
    assert chosen.paper_parameters == count


@pytest.mark.parametrize("row", PAPER, ids=NAMES)
def test_settings_are_those_of_the_paper(row):
    name, _, _, latent, hidden, layers, width, rank, batch, fit_steps, _ = row
    settings = preset_settings(name, recipe="paper")
    expected = {
        "latent_dim": latent,
        "hidden_dim": hidden,
        "num_hidden": layers,
        "dynamics_hidden_dim": width,
        "rank": rank,
        "batch_size": batch,
        "fit_steps": fit_steps,
        "dynamics": {"dino": "mlp"}.get(name.split("-")[1], name.split("-")[1]),
        "frequency_scale": 64.0,
        "stepping": "rk4-38",
        "substeps": None,
        "gradient": "direct",
        "normalization": "none",
        "train_length": 10,
        "window": 10,
        "epochs": 5000,
        "decoder_learning_rate": 1e-2,
        "dynamics_learning_rate": 1e-3,
        "latent_rate": 1e-3,
        "fit_rate": 1e-2,
        "eig_weight": 1e-7,
        "cons_weight": 1e-8,
        "clip_norm": 1.0,
        "teacher_forcing_start": 0.99,
        "teacher_forcing_decay": 0.99,
        "evaluate_every": 100,
        "final_fit_steps": 1000,
    }
    assert {field: getattr(settings, field) for field in expected} == expected


@pytest.mark.parametrize("row", PAPER, ids=NAMES)
def test_a_model_from_a_preset_has_that_size(row):
    """Fitted for an epoch to a few points in the plane or on the sphere."""
    name, channels, dim, *_, count = row
    rng = np.random.default_rng(0)
    coords = rng.uniform([-80.0, 0.0], [80.0, 350.0], size=(6, 2))
    data = Trajectories.from_arrays(
        rng.normal(size=(2, 3, channels, 6)),
        coords,
        np.arange(3.0),
        geometry="sphere" if dim == 3 else "box",
    )
    model = from_preset(name, recipe="paper", epochs=1, validation_fraction=0.0)
    assert model.settings == preset_settings(
        name, recipe="paper", epochs=1, validation_fraction=0.0
    )
    model.fit(data, progress=False)
    assert model.num_parameters + dim * model.settings.hidden_dim == count


def test_overrides_are_validated_and_leave_the_preset_alone():
    assert from_preset("ns-lrlq", rank=7, seed=3).settings.rank == 7
    assert preset_settings("ns-lrlq").rank == 18
    with pytest.raises(SettingsError, match="rank"):
        from_preset("ns-koopman", rank=7)


def test_an_unknown_preset_lists_the_valid_ones():
    with pytest.raises(SettingsError, match=", ".join(NAMES)):
        from_preset("wave")
