"""One epoch of the engine against the textbook: losses, gradients, updated latents and weights."""

import copy

import numpy as np
import pytest
import torch

from oracles.textbook import Textbook
from smore.data import Normalization, Pace, Trajectories, fit_coordinate_map
from smore.dynamics import draw_anchors
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.surrogate.networks import build_dynamics, build_network
from smore.training import TrainingProblem
from smore.training.algorithm1 import Algorithm1, draw_batches

LENGTH = 5


def trajectories(
    meshes="shared", lengths="equal", missing=False, sequences=7, points=23, directions=None
):
    """Random fields; what matters is that both sides see the same."""
    random = np.random.default_rng(0)
    sizes = [points + (i if meshes == "differ" else 0) for i in range(sequences)]
    num_times = [LENGTH - (i % 3 if lengths == "differ" else 0) for i in range(sequences)]
    fields = [random.normal(size=(t, 2, n)) for t, n in zip(num_times, sizes, strict=True)]
    if directions is not None:
        basis = np.linalg.qr(random.normal(size=(points, directions)))[0]
        fields = [field @ basis @ basis.T for field in fields]
    if missing:
        for field in fields:
            field[random.random(field.shape) < 0.2] = np.nan
    coords = [random.random((n, 2)) for n in sizes]
    times = [0.3 * np.arange(t) + 0.01 * np.arange(t) ** 2 for t in num_times]
    data = Trajectories.from_arrays(
        fields,
        coords if meshes == "differ" else coords[0],
        times,
        missing="mask" if missing else "refuse",
    )
    if meshes == "halves":  # of one mesh: the engine works on their union
        return data.at_points([random.permutation(points)[: points // 2] for _ in range(sequences)])
    return data


def both(data, dtype, **options):
    settings = Settings.of(
        **{
            "recipe": "paper",
            "dynamics": "lrlq",
            "rank": 2,
            "latent_dim": 4,
            "hidden_dim": 12,
            "time_scale": 1.0,
            "eig_weight": 1e-2,
            "cons_weight": 1e-1,
        }
        | options
    )
    generator = torch.Generator().manual_seed(1)
    coordinate_map = fit_coordinate_map(data)
    normalization = Normalization.fit(data, "standard")
    decoder = build_network(settings, coordinate_map.decoder_dim, generator).to(dtype)
    dynamics = build_dynamics(settings, data.num_channels, generator).to(dtype)
    problem = TrainingProblem.of(data, normalization, coordinate_map, Pace(scale=1.0), dtype=dtype)
    engine = Algorithm1(problem, copy.deepcopy(decoder), copy.deepcopy(dynamics), settings)
    textbook = Textbook(data, normalization, coordinate_map, decoder, dynamics, settings)
    return engine, textbook


def relative(ours, theirs):
    return float(((ours - theirs).norm() / theirs.norm().clamp(min=1e-300)).detach())


def run_epoch(engine, textbook, generator, batch_size, probability):
    num_sequences = engine.problem.num_sequences
    batches = draw_batches(num_sequences, batch_size, generator)
    anchors = draw_anchors(len(batches), LENGTH, probability, generator)
    return engine.epoch(batches, anchors), textbook.epoch(batches, anchors)


CASES = {
    "plain": ({}, {}),
    "chunks": ({}, {"chunk_size": 5}),
    "no clipping, no regularisers": ({}, {"clip_norm": None, "eig_weight": 0, "cons_weight": 0}),
    "meshes differ": ({"meshes": "differ"}, {"chunk_size": 8}),
    "halves of one mesh": ({"meshes": "halves"}, {"chunk_size": 8}),
    "lengths differ": ({"lengths": "differ"}, {}),
    "missing values": ({"missing": True, "meshes": "differ"}, {"chunk_size": 6}),
    "koopman": ({}, {"dynamics": "koopman", "rank": None}),
    "full quadratic": ({}, {"dynamics": "quadratic", "rank": None}),
    "mlp": ({}, {"dynamics": "mlp", "rank": None, "dynamics_hidden_dim": 9}),
}


@pytest.mark.parametrize("batch_size", [7, 3])  # one batch of all; an unequal last batch
@pytest.mark.parametrize("case", CASES)
def test_epochs_equal_the_textbook(case, batch_size):
    kind, options = CASES[case]
    engine, textbook = both(trajectories(**kind), torch.float64, **options)
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        losses, expected = run_epoch(engine, textbook, generator, batch_size, 0.5)
        assert losses.reconstruction == pytest.approx(expected.reconstruction, rel=1e-10)
        assert losses.dynamics == pytest.approx(expected.dynamics, rel=1e-10)
    latents = torch.cat(list(textbook.latents))
    assert relative(engine.latents, latents) < 1e-10
    for ours, theirs in zip(
        engine.decoder.parameters(), textbook.decoder.parameters(), strict=True
    ):
        assert relative(ours, theirs) < 1e-10
    for ours, theirs in zip(
        engine.dynamics.parameters(), textbook.dynamics.parameters(), strict=True
    ):
        assert relative(ours, theirs) < 1e-10


@pytest.mark.parametrize("batch_size", [7, 3])
def test_epochs_from_factors_of_the_data_equal_the_textbook(batch_size):
    """Long trainings factor their data; these fill 4 of 23 directions."""
    data = trajectories(sequences=7, points=23, directions=4)
    engine, textbook = both(data, torch.float64, epochs=5000)
    assert engine._factors is not None
    generator = torch.Generator().manual_seed(2)
    for _ in range(3):
        losses, expected = run_epoch(engine, textbook, generator, batch_size, 0.5)
        assert losses.reconstruction == pytest.approx(expected.reconstruction, rel=1e-8)
    assert relative(engine.latents, torch.cat(list(textbook.latents))) < 1e-8
    for ours, theirs in zip(
        engine.decoder.parameters(), textbook.decoder.parameters(), strict=True
    ):
        assert relative(ours, theirs) < 1e-8


@pytest.mark.parametrize("case", ["plain", "chunks", "meshes differ", "missing values"])
def test_gradients_equal_the_textbook_in_single_precision(case):
    kind, options = CASES[case]
    engine, textbook = both(trajectories(**kind), torch.float32, **options)
    with torch.no_grad():  # away from zero, where most gradients vanish
        start = torch.randn(engine.latents.shape, generator=torch.Generator().manual_seed(3))
        engine.latents.copy_(start)
        position = 0
        for table in textbook.latents:
            table.copy_(start[position : position + len(table)])
            position += len(table)
    run_epoch(engine, textbook, torch.Generator().manual_seed(4), 3, 0.5)
    latent_gradients = [textbook.latent_gradients[i] for i in range(len(textbook.latents))]
    assert relative(engine.latents.grad, torch.cat(latent_gradients)) < 1e-5
    for network, oracle in (
        (engine.decoder, textbook.decoder),
        (engine.dynamics, textbook.dynamics),
    ):
        for ours, theirs in zip(network.parameters(), oracle.parameters(), strict=True):
            assert relative(ours.grad, theirs.grad) < 1e-5


def test_batches_partition_the_sequences():
    batches = draw_batches(10, 4, torch.Generator().manual_seed(0))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert sorted(torch.cat(batches).tolist()) == list(range(10))


def test_divergence_names_its_part_and_updates_nothing():
    engine, _ = both(trajectories(), torch.float64)
    with torch.no_grad():
        engine.dynamics.linear.fill_(1e200)
    before = copy.deepcopy(engine.decoder.state_dict())
    with torch.no_grad():
        engine.latents.normal_()
    with pytest.raises(DivergenceError, match="dynamics loss") as caught:
        run_epoch(engine, engine, torch.Generator(), 7, 0.0)
    assert caught.value.part == "dynamics loss"
    for name, value in engine.decoder.state_dict().items():
        assert torch.equal(value, before[name])
