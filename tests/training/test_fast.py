"""The fast recipe on a PDE whose solution is known."""

import numpy as np
import pytest
import torch

from smore import SMORE, Trajectories
from smore.decoder.gauge import mode_gram
from smore.errors import SettingsError
from smore.training.preparing import prepare
from waves import DAMPING, STEP, VELOCITY, WAVES, codes, places, solution, trajectories

DATA = trajectories(num_sequences=30, num_times=8, num_points=150)
TEST = trajectories(num_sequences=5, num_times=15, num_points=150, seed=9)
SIZES = {"latent_dim": 8, "hidden_dim": 32, "num_hidden": 2, "frequency_scale": 16.0}


def fitted(data=DATA, **settings):
    chosen = {"recipe": "fast", "decoder_steps": 400, "dynamics_steps": 60} | SIZES | settings
    return SMORE(**chosen).fit(data, progress=False)


@pytest.fixture(scope="module")
def koopman():
    return fitted(dynamics="koopman", decoder_steps=1500)


def test_linear_dynamics_are_found_to_the_accuracy_of_the_decoder(koopman):
    evaluation = koopman.evaluate(TEST)
    findings = koopman.surrogate_.description.training.findings
    assert evaluation.full_nmse < 1e-4
    assert evaluation.extrapolation_nmse < 3 * findings["decoder_error"]


def test_the_generator_has_the_spectrum_of_the_pde(koopman):
    """-γ ± i k·c, and zero for directions the data never moved in."""
    linear = koopman.surrogate_.dynamics.linear.detach().double()
    found = torch.linalg.eigvals(linear).numpy() / STEP
    moving = found[found.real < -0.05]
    frequencies = WAVES @ VELOCITY
    np.testing.assert_allclose(
        np.sort(np.abs(moving.imag)), np.sort(np.tile(frequencies, 2)), atol=1e-3
    )
    np.testing.assert_allclose(moving.real, -DAMPING, atol=1e-3)
    np.testing.assert_allclose(np.abs(found[found.real >= -0.05]), 0.0, atol=1e-5)


def test_a_channel_that_never_changes_is_forecast_as_it_is():
    fields = np.stack([sequence.fields for sequence in DATA])
    fields[:, :, 1] = 300.0
    data = Trajectories.from_arrays(
        fields, DATA.sequences[0].mesh.coords, STEP * np.arange(8), channels=["u", "v"]
    )
    forecast = fitted(data, decoder_steps=800).forecast(data.leading(1), [0.5, 3.0])
    np.testing.assert_allclose(forecast["v"], 300.0, atol=0.02)


def test_the_decoder_is_judged_by_the_best_possible_basis(koopman):
    findings = koopman.surrogate_.description.training.findings
    assert findings["decoder_error"] >= findings["pod_limit"] * (1 - 1e-6)


def test_modes_are_orthonormal_and_ordered_in_the_end(koopman):
    surrogate = koopman.surrogate_
    ready = prepare(DATA, None, surrogate.description.settings, torch.device("cpu"))
    gram, offset = mode_gram(surrogate.decoder, ready.problem.blocks, None)
    torch.testing.assert_close(gram, torch.eye(8, dtype=torch.float64), rtol=0, atol=1e-4)
    assert offset.abs().max() < 1e-4
    energies = (surrogate.prior.covariance.diagonal() + surrogate.prior.mean**2).view(2, 8).sum(0)
    assert (energies.diff() <= 1e-6 * energies[0]).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"dynamics": "lrlq"},
        {"dynamics": "quadratic"},
        {"dynamics": "mlp"},
        {"dynamics": "conservative"},
        {"dynamics": "conservative", "dissipative": True},
        {"dynamics": "conservative", "rank": 12},
        {"dynamics": "conservative", "rank": 12, "dissipative": True},
    ],
    ids=str,
)
def test_other_dynamics_learn_by_rollouts(settings, tmp_path):
    model = fitted(decoder_steps=1000, dynamics_steps=300, dynamics_rate=1e-2, **settings)
    evaluation = model.evaluate(DATA)
    assert evaluation.full_nmse < evaluation.climatology_nmse
    model.save(tmp_path / "model.smore")
    again = SMORE.load(tmp_path / "model.smore").evaluate(DATA)
    assert again.full_mse == evaluation.full_mse


def test_a_conservative_model_decodes_nothing_from_nothing():
    model = fitted(dynamics="conservative", rank=4, decoder_steps=20, dynamics_steps=5)
    basis = model.surrogate_.decoder.basis(torch.rand(20, 2))
    assert not basis.offset.any()


def test_meshes_lengths_and_steps_may_differ():
    times = [STEP * np.arange(n) * factor for n, factor in ((8, 1.0), (6, 0.5), (7, 1.0))]
    every = [places(90 + 20 * number, seed=number) for number in range(3)]
    fields = [
        solution(codes(3)[number : number + 1], every[number], times[number])[0]
        for number in range(3)
    ]
    data = Trajectories.from_arrays(fields, every, times)
    model = fitted(data, decoder_steps=60, dynamics_steps=20)
    assert np.isfinite(model.evaluate(data).full_mse)


def test_the_same_seed_gives_the_same_model():
    first, second = (fitted(decoder_steps=10, dynamics="koopman") for _ in range(2))
    for ours, theirs in zip(
        first.surrogate_.decoder.parameters(), second.surrogate_.decoder.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs)


def test_contradictions_are_refused():
    with pytest.raises(SettingsError, match="recipe 'paper'"):
        SMORE(recipe="fast", **SIZES).fit(DATA, select_on=TEST, progress=False)
    with pytest.raises(SettingsError, match="need recipe 'fast'"):
        SMORE(dynamics="conservative", recipe="paper")
    with pytest.raises(SettingsError, match="whole field"):
        SMORE(dynamics="conservative", recipe="fast", normalization="standard")
