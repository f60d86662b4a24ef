"""The loop around Algorithm 1: which epoch is kept, and what is left after a divergence."""

import copy
import math

import numpy as np
import pytest
import torch

from smore.data import Trajectories
from smore.decoder.residual import squared_errors
from smore.dynamics import rollout, step_map
from smore.errors import DivergenceError
from smore.inference import infer_states, normal_equations
from smore.settings import Settings
from smore.surrogate.networks import build_dynamics, build_network
from smore.training._paper import train_paper
from smore.training.preparing import prepare

CPU = torch.device("cpu")


def trajectories(num_sequences=5, lengths=(6,), missing=False, seed=0):
    """Standing waves in 1-D; sequences take their lengths and steps in turn."""
    rng = np.random.default_rng(seed)
    coords = np.linspace(0, 1, 15)[:, None]
    times = [
        (0.3 + 0.1 * (i % 2)) * np.arange(lengths[i % len(lengths)]) for i in range(num_sequences)
    ]
    fields = []
    for when in times:
        a, b = rng.normal(size=2)
        u = a * np.cos(when)[:, None] * np.sin(np.pi * coords.T)
        u = u + b * np.cos(2 * when)[:, None] * np.sin(2 * np.pi * coords.T)
        fields.append(np.stack([2 * u, u**2 + 30.0], axis=1))
    if missing:
        for values in fields:
            values[rng.uniform(size=values.shape) < 0.2] = np.nan
    return Trajectories.from_arrays(fields, coords, times, missing="mask")


def run(data=None, select_on=None, progress=None, **settings):
    chosen = {
        "recipe": "paper",
        "latent_dim": 4,
        "hidden_dim": 8,
        "num_hidden": 1,
        "epochs": 12,
        "evaluate_every": 5,
        "fit_steps": 10,
        "dynamics_rate": 1e-2,
    }
    ready = prepare(data or trajectories(), select_on, Settings.of(**(chosen | settings)), CPU)
    generator = torch.Generator().manual_seed(0)
    decoder = build_network(ready.settings, ready.coordinate_map.decoder_dim, generator)
    dynamics = build_dynamics(ready.settings, ready.problem.num_channels, generator)
    trained = train_paper(
        ready.problem,
        decoder,
        dynamics,
        ready.settings,
        generator=generator,
        forecast_error=ready.forecast_error,
        progress=progress,
    )
    return trained, ready, (decoder, dynamics)


def same_weights(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_evaluation_is_due_every_so_often_and_at_the_end():
    trained, _, _ = run()
    assert [epoch for epoch, _ in trained.history] == [4, 9, 11]
    assert trained.epochs_run == 12


def test_the_epoch_of_lowest_error_is_kept():
    """Its networks still have the error that was measured."""
    for seed in range(3):
        trained, ready, _ = run(evaluate_every=1, decoder_rate=0.1, seed=seed)
        epoch, lowest = min(trained.history, key=lambda entry: entry[1])
        assert trained.epoch == epoch
        assert ready.forecast_error(trained.decoder, trained.dynamics) == lowest


def test_without_data_to_select_on_the_last_epoch_is_kept():
    trained, _, (decoder, dynamics) = run(validation_fraction=0.0)
    assert trained.epoch == 11
    assert trained.history == []
    assert same_weights(trained.decoder, decoder)
    assert same_weights(trained.dynamics, dynamics)


def test_evaluating_more_often_changes_nothing_that_is_learned():
    losses = {"rare": [], "often": []}
    rare, _, _ = run(evaluate_every=12, progress=lambda *news: losses["rare"].append(news[1]))
    often, _, _ = run(evaluate_every=1, progress=lambda *news: losses["often"].append(news[1]))
    assert losses["rare"] == losses["often"]
    assert often.history[-1] == rare.history[-1]


def test_the_kept_networks_are_not_trained_on():
    """Training for longer does not reach into the state that was kept."""
    long, _, _ = run(evaluate_every=1, decoder_rate=0.5)
    assert long.epoch < 11
    short, _, _ = run(evaluate_every=1, decoder_rate=0.5, epochs=long.epoch + 1)
    assert same_weights(long.decoder, short.decoder)
    assert same_weights(long.dynamics, short.dynamics)
    assert torch.equal(long.latents, short.latents)
    assert all(parameter.grad is None for parameter in long.decoder.parameters())


def test_progress_hears_of_every_epoch_and_of_errors_when_measured():
    heard = []
    trained, _, _ = run(progress=lambda *news: heard.append(news))
    assert [epoch for epoch, _, _ in heard] == list(range(12))
    assert [(epoch, error) for epoch, _, error in heard if error is not None] == trained.history
    assert heard[-1][1].reconstruction < heard[0][1].reconstruction


@pytest.mark.parametrize("missing", [False, True])
def test_forecast_error_is_the_mean_over_decoded_values(missing):
    """Adam's latents, one training step after another, decoded value by value, in data units."""
    select_on = trajectories(4, lengths=(6, 3), missing=missing, seed=1)
    trained, ready, _ = run(select_on=select_on)
    decoder, dynamics = copy.deepcopy(trained.decoder), trained.dynamics
    state = infer_states(
        normal_equations(decoder, ready.forecast_error.initial),
        torch.zeros(4),
        method="adam",
        num_steps=10,
        rate=ready.settings.fit_rate,
    )
    errors = []
    for number, sequence in enumerate(select_on):
        code = state.flat[number].float()
        basis = decoder.basis(torch.tensor(ready.coordinate_map(sequence.mesh.coords)).float())
        for time in range(1, sequence.num_snapshots):
            length = (sequence.times[time] - sequence.times[time - 1]) / ready.settings.time_scale
            pieces = math.ceil(length / ready.forecast_error.longest_step - 1e-6)
            for _ in range(pieces):
                k1 = dynamics(code)
                k2 = dynamics(code + length / pieces * k1 / 3)
                k3 = dynamics(code + length / pieces * (k2 - k1 / 3))
                k4 = dynamics(code + length / pieces * (k1 - k2 + k3))
                code = code + length / pieces * (k1 + 3 * k2 + 3 * k3 + k4) / 8
            fields = basis.decode(code.view(2, -1)).detach().numpy()
            difference = ready.normalization.undo(fields) - sequence.fields[time]
            known = True if sequence.observed is None else sequence.observed[time]
            errors += difference[np.broadcast_to(known, difference.shape)].tolist()
    literal = float(np.mean(np.square(errors)))
    assert ready.forecast_error(decoder, dynamics) == pytest.approx(literal, rel=1e-3)


def test_a_divergence_keeps_the_best_epoch_so_far():
    """The loss explodes in the end; the epoch that forecast best is what is returned."""
    trained, ready, _ = run(
        epochs=500, dynamics_rate=3.0, clip_norm=None, evaluate_every=1, teacher_forcing_start=0.0
    )
    assert isinstance(trained.divergence, DivergenceError)
    assert trained.divergence.epoch == trained.epochs_run == len(trained.history)
    assert str(trained.divergence.epoch) in str(trained.divergence)
    assert "loss" in trained.divergence.part or "gradient" in trained.divergence.part
    epoch, lowest = min(trained.history, key=lambda entry: entry[1])
    assert math.isfinite(lowest)
    assert trained.epoch == epoch
    assert ready.forecast_error(trained.decoder, trained.dynamics) == lowest


@pytest.mark.parametrize(
    "rates", [{"decoder_rate": 1e6}, {"latent_rate": 1e25}, {"dynamics_rate": 1e12}]
)
def test_after_a_divergence_the_kept_state_is_a_good_one(rates):
    """Nothing to select on: what is kept is from before the update that spoilt it.

    Its latents, the fields they decode to and a rollout over the training window are finite.
    """
    trained, ready, _ = run(validation_fraction=0.0, clip_norm=None, **rates)
    assert isinstance(trained.divergence, DivergenceError)
    assert torch.isfinite(trained.latents).all()
    squared, _ = squared_errors(trained.decoder, ready.problem.blocks, trained.latents)
    assert torch.isfinite(squared).all()
    timeline = ready.problem.timeline
    with torch.no_grad():
        advance = step_map(trained.dynamics, timeline.steps)
        initial = timeline.gather(trained.latents.flatten(1))[:, 0]
        assert torch.isfinite(rollout(advance, initial, timeline.steps.shape[1])).all()
