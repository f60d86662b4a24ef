"""SMORE as scikit-learn expects an estimator to be."""

import pytest
from sklearn.base import clone

from smore import SMORE, Settings
from smore.errors import NotFittedError, SettingsError
from waves import planted, trajectories

GIVEN = {
    "dynamics": "linear",
    "periods": (1.5, 700.25),
    "latent_dim": 1234,
    "memory": "500MB",
    "frequency_scale": 17.5,
}


def test_parameters_are_those_that_were_given_and_defaults_for_the_others():
    params = SMORE(**GIVEN).get_params()
    assert list(params) == list(Settings.model_fields)
    assert {name: params[name] for name in GIVEN} == GIVEN
    assert params["epochs"] == Settings().epochs


@pytest.mark.parametrize("given", [{}, GIVEN, {"recipe": "paper", "epochs": 7000}])
def test_a_clone_has_the_same_settings_and_nothing_learned(given):
    model = SMORE(**given)
    twin = clone(model)
    assert twin is not model
    assert twin.settings == model.settings
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.certify()


def test_a_clone_of_a_model_from_a_file_asks_for_the_choices_that_were_made(tmp_path):
    planted(trajectories()).save(tmp_path / "model.smore")
    loaded = SMORE.load(tmp_path / "model.smore")
    assert clone(loaded).settings == loaded.settings


def test_settings_can_be_changed_and_are_checked():
    model = SMORE(latent_dim=4)
    assert model.set_params(latent_dim=8, dynamics="koopman") is model
    assert (model.settings.latent_dim, model.settings.dynamics) == (8, "koopman")
    assert model.get_params()["latent_dim"] == 8
    with pytest.raises(SettingsError, match="no_such is not a setting"):
        model.set_params(no_such=1)
    with pytest.raises(SettingsError, match="latent_dim"):
        model.set_params(latent_dim=0)
    assert model.get_params()["latent_dim"] == 8  # as before


def test_what_a_user_sets_must_still_have_an_effect():
    with pytest.raises(SettingsError, match="epochs belongs to recipe 'paper'"):
        SMORE(epochs=6000)
