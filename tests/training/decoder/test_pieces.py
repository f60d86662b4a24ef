"""Pieces of the data stand for all of them, on average."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from smore import SMORE, Trajectories
from smore.data import Block
from smore.decoder import FilterNetwork
from smore.errors import SettingsError
from smore.training.decoder._variable_projection import accumulate_projection
from smore.training.decoder.pieces import draw, make_pieces
from smore.training.schedule import FALLING, PLATEAU_STEPS, Schedule
from waves import STEP, places, solution, trajectories

DIM, POINTS, COLUMNS = 4, 40, 60


def decoder():
    return FilterNetwork(2, DIM, 8, 2, generator=torch.Generator().manual_seed(0)).double()


def masked_block(num_masks, seed=0):
    """Columns with `num_masks` different masks, the first of them on every other column."""
    generator = torch.Generator().manual_seed(seed)
    masks = torch.rand(POINTS, num_masks, generator=generator) < 0.6
    which = torch.randint(num_masks, (COLUMNS,), generator=generator)
    which[::2] = 0
    return Block(
        coords=torch.rand(POINTS, 2, dtype=torch.float64, generator=generator) / 2,
        weights=torch.ones(POINTS, dtype=torch.float64),
        values=torch.randn(POINTS, COLUMNS, dtype=torch.float64, generator=generator),
        snapshots=torch.arange(COLUMNS),
        num_channels=1,
    ).with_mask(masks[:, which])


def literal_error(network, blocks):
    """Mean over all observed values of the squared misfit of each column's best code."""
    squared = count = 0.0
    for block in blocks:
        basis = network.basis(block.coords).detach()
        for column in range(block.values.shape[1]):
            seen = block.observed[:, column]
            target = (block.values[:, column] - basis.offset)[seen]
            code = torch.linalg.lstsq(basis.modes[seen], target[:, None]).solution
            squared += float((target[:, None] - basis.modes[seen] @ code).square().sum())
            count += int(seen.sum())
    return squared / count


def test_masks_with_many_columns_are_compressed_and_nothing_is_lost():
    network, block = decoder(), masked_block(9)
    pieces = make_pieces([block], DIM, centred=True)
    assert [piece.block.observed is None for piece in pieces].count(True) >= 1
    loss = accumulate_projection(network, pieces) + sum(piece.rest for piece in pieces)
    assert loss == pytest.approx(literal_error(network, [block]), rel=1e-3)


def test_a_sample_is_right_on_average(monkeypatch):
    monkeypatch.setattr("smore.training.decoder.pieces.MASKS_PER_STEP", 5)
    monkeypatch.setattr("smore.training.decoder.pieces.POINTS_PER_STEP", 2 * POINTS)
    network = decoder()
    blocks = [masked_block(50, seed) for seed in range(5)]
    for block in blocks:
        block.values.mul_(float(block.values[0, 0]))
    generator = torch.Generator().manual_seed(1)
    pieces = make_pieces(blocks, DIM, centred=True)
    network.zero_grad()
    everything = accumulate_projection(network, pieces)
    expected = [parameter.grad.clone() for parameter in network.parameters()]
    network.zero_grad()
    losses = [accumulate_projection(network, draw(pieces, generator)) for _ in range(1000)]
    assert np.mean(losses) == pytest.approx(everything, rel=4 * np.std(losses) / 1000**0.5)
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert (parameter.grad / 1000 - gradient).norm() < 0.3 * gradient.norm() + 1e-12


def test_masks_that_show_too_little_are_left_out_and_named_when_nothing_else_is_left():
    block = masked_block(9)
    poor = block.observed.clone()
    poor[4:, 1::2] = False  # four points for four latents
    pieces = make_pieces([block.with_mask(poor)], DIM, centred=True)
    assert sum(piece.block.observed is not None for piece in pieces) == 0
    poor[4:] = False
    with pytest.raises(SettingsError, match="latent_dim: 4 latents cannot be told"):
        make_pieces([block.with_mask(poor)], DIM, centred=True)


def test_data_with_gaps_are_learned_as_well_as_without():
    full = trajectories(num_sequences=30, num_times=8, num_points=150)
    rng = np.random.default_rng(0)
    sequences = []
    for sequence in full:
        seen = rng.uniform(size=sequence.fields.shape) < 0.6
        seen[0, :, 9:] = False  # of each first snapshot, fewer values than it takes
        fields = np.where(seen, sequence.fields, 0)
        sequences.append(replace(sequence, source=fields, mask=seen))
    gappy = replace(full, sequences=tuple(sequences))
    sizes = {"latent_dim": 8, "hidden_dim": 32, "num_hidden": 2, "frequency_scale": 16.0}
    model = SMORE(recipe="fast", decoder_steps=1500, **sizes).fit(gappy, progress=False)
    assert model.evaluate(full).full_nmse < 1e-3


def test_drifting_sensors_are_learned_from():
    """Every snapshot has its own points, and sequences share none."""
    every = [places(60, seed=number) for number in range(40)]
    rng = np.random.default_rng(1)
    states = rng.normal(size=(40, 8))
    times = STEP * np.arange(6)
    fields = [solution(states[[n]], every[n], times)[0] for n in range(40)]
    data = Trajectories.from_arrays(fields, every, [times] * 40)
    sizes = {"latent_dim": 8, "hidden_dim": 32, "num_hidden": 2, "frequency_scale": 16.0}
    model = SMORE(recipe="fast", decoder_steps=600, **sizes).fit(data, progress=False)
    assert model.evaluate(data).full_nmse < 1e-2


def test_a_plateau_starts_the_fall_of_the_rate():
    schedule = Schedule(2000, warm_up=50)
    while not schedule.done:
        schedule.step(1.0 / min(schedule.steps + 1, 300))  # nothing gained after 300 steps
    noticed = schedule.steps - round((1 - FALLING) * 2000)
    assert 300 + PLATEAU_STEPS < noticed <= 300 + 2 * PLATEAU_STEPS


def test_a_falling_loss_gets_every_step():
    schedule = Schedule(1000, warm_up=50)
    while not schedule.done:
        schedule.step(0.999**schedule.steps)
    assert schedule.steps == 1000
