"""DINo is SMORE with MLP dynamics and the paper's recipe, and keeps to its budget."""

import numpy as np
import pytest
import torch

from smore import SMORE
from smore.data import Trajectories
from smore.errors import SettingsError
from smore.settings import Settings
from smore_paper.baselines.dino import DINo
from smore_paper.presets import PRESETS
from waves import STEP, trajectories

SIZES = {
    "dynamics": "mlp",
    "latent_dim": 4,
    "hidden_dim": 8,
    "num_hidden": 1,
    "dynamics_hidden_dim": 6,
    "final_fit_steps": 20,
}


def dino(**settings):
    return DINo(Settings.of(**(SIZES | settings)))


@pytest.mark.filterwarnings("ignore::smore.errors.ForecastRangeWarning")
def test_it_equals_smore_with_mlp_dynamics():
    """Same weights after training to the last bit, and the same forecasts."""
    data, test = trajectories(8), trajectories(3, num_times=2, seed=7)
    baseline = dino().fit(data, seed=5, epochs=7)
    model = SMORE(recipe="paper", seed=5, epochs=7, **SIZES).fit(data, progress=False)
    surrogate = model.surrogate_
    for ours, theirs in (
        (baseline.model_.surrogate_.decoder, surrogate.decoder),
        (baseline.model_.surrogate_.dynamics, surrogate.dynamics),
    ):
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(one, other)
    forecast = model.forecast(test, STEP * np.arange(1, 6), method="adam")
    expected = Trajectories.from_xarray(forecast, channels=["u", "v"])
    np.testing.assert_allclose(
        baseline.forecast(test, 5),
        np.stack([sequence.fields for sequence in expected]),
        rtol=1e-6,
        atol=1e-6,
    )
    assert baseline.epochs_run == 7


def weights(baseline):
    surrogate = baseline.model_.surrogate_
    return [*surrogate.decoder.parameters(), *surrogate.dynamics.parameters()]


def test_it_selects_on_what_it_is_given_else_on_what_it_holds_out():
    """The same weights, whether it holds trajectories out or is told to select on them."""
    data, settings = trajectories(10), {"recipe": "paper", "evaluate_every": 2, "fit_steps": 5}
    rest, held_out = data.split(0.1, 5)
    alone = dino(**settings).fit(data, seed=5, epochs=7)
    told = dino(**settings).fit(rest, seed=5, epochs=7, select_on=held_out)
    assert all(map(torch.equal, weights(alone), weights(told)))
    history = told.model_.surrogate_.description.training.history
    assert [epoch for epoch, _ in history] == [1, 3, 5, 6]


@pytest.mark.parametrize("dataset", ["wave", "navier-stokes", "shallow-water"])
def test_sizes_are_those_of_the_paper(dataset):
    preset = next(
        each for name, each in PRESETS.items() if each.dataset == dataset and "dino" in name
    )
    assert DINo.for_dataset(dataset).settings == preset.settings


def test_parameters_are_counted_as_the_paper_does():
    """With the d·h weights of the first layer that it holds at zero."""
    baseline = dino().fit(trajectories(), seed=0, epochs=1)
    assert baseline.num_parameters == baseline.model_.num_parameters + 2 * 8


def test_every_snapshot_supervises_whatever_the_preset_says():
    data = trajectories(num_times=6)
    baseline = dino(train_length=3, validation_fraction=0.0).fit(data, seed=0, epochs=1)
    assert baseline.model_.surrogate_.description.training.num_snapshots == 6 * 6


def test_a_time_limit_becomes_as_many_epochs_as_fit_in(monkeypatch):
    monkeypatch.setattr("smore_paper.baselines.dino.seconds_per_epoch", lambda *_: 100.0)
    assert dino().fit(trajectories(), seed=0, seconds=1250.0).epochs_run == 12


def test_the_earlier_of_two_limits_counts(monkeypatch):
    monkeypatch.setattr("smore_paper.baselines.dino.seconds_per_epoch", lambda *_: 100.0)
    assert dino().fit(trajectories(), seed=0, seconds=1000.0, epochs=3).epochs_run == 3
    assert dino().fit(trajectories(), seed=0, seconds=1e-6, epochs=3).epochs_run == 1


def test_a_training_that_diverges_keeps_the_last_good_state():
    baseline = dino(dynamics_rate=1e12, clip_norm=None, validation_fraction=0.0)
    with pytest.warns(RuntimeWarning, match="diverged in epoch"):
        baseline.fit(trajectories(), seed=0, epochs=50)
    assert baseline.epochs_run < 50
    assert np.isfinite(baseline.forecast(trajectories(2), 1)).all()


def test_other_dynamics_are_refused():
    with pytest.raises(SettingsError, match="'koopman'"):
        DINo(Settings.of())
