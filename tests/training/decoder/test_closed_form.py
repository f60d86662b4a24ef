"""FiLM matrices in closed form, against projections written out and against descent."""

import numpy as np
import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.training.decoder._closed_form import FeatureSums, choose_ridge, solve_decoder
from smore.training.decoder._variable_projection import (
    accumulate_projection,
    fit_decoder,
    projection_error,
)
from smore.training.decoder.compression import compress
from smore.training.decoder.pieces import Piece

POINTS, COLUMNS, DIM = 300, 40, 4


def network(num_hidden=2, hidden_dim=12, seed=0, outputs=1):
    generator = torch.Generator().manual_seed(seed)
    sizes = (2, DIM, hidden_dim, num_hidden)
    return FilterNetwork(*sizes, 20.0, generator, num_outputs=outputs).double()


def block_of(points=POINTS):
    """Smooth fields of more modes than the decoder has, about a mean, with a constant in it."""
    generator = torch.Generator().manual_seed(1)
    coords = torch.rand(points, 2, generator=generator, dtype=torch.float64) / 2
    waves = torch.stack([torch.sin(4 * k * coords.sum(1) + k) for k in range(1, 9)], dim=1)
    codes = torch.randn(8, COLUMNS, generator=generator).double() / torch.arange(1, 9)[:, None]
    return Block(
        coords=coords,
        weights=torch.ones(points, dtype=torch.float64),
        values=waves @ codes + 2 + coords[:, :1],
        snapshots=torch.arange(COLUMNS),
        num_channels=1,
    )


def literal(decoder, block):
    """Orthonormal modes (points, p) of the best basis in the span of the features, and c₀."""
    features = decoder.features(block.coords).detach().numpy()
    span = np.linalg.qr(features)[0]
    factor, mean = block.values[:, :-1].numpy(), block.values[:, -1].numpy()
    directions = np.linalg.svd(span.T @ factor)[0][:, :DIM]
    with_constant = np.column_stack([features, np.ones(len(features))])
    return span @ directions, with_constant @ np.linalg.lstsq(with_constant, mean, rcond=None)[0]


@pytest.mark.parametrize("num_hidden", [0, 1, 2])
def test_it_is_the_best_basis_inside_the_span_of_the_features(num_hidden):
    decoder, block = network(num_hidden), compress(block_of(), DIM).block
    left_out = solve_decoder(decoder, block)
    basis = decoder.basis(block.coords).detach()
    modes, offset = literal(decoder, block)
    expected = torch.as_tensor(modes @ modes.T)
    # A ridge of 1e-10 may hide what has a singular value of 1e-5 and less.
    torch.testing.assert_close(basis.modes @ basis.modes.T / POINTS, expected, rtol=0, atol=1e-4)
    torch.testing.assert_close(basis.offset, torch.as_tensor(offset), rtol=0, atol=1e-4)
    factor = block.values[:, :-1].numpy()
    missed = ((factor - modes @ (modes.T @ factor)) ** 2).sum()
    assert left_out == pytest.approx(missed, rel=1e-5)


@pytest.mark.parametrize("outputs", [1, 3])
def test_features_times_matrices_are_modes_and_offset(outputs):
    decoder = network(outputs=outputs)
    coords = torch.rand(7, 2, dtype=torch.float64)
    generator = torch.Generator().manual_seed(3)
    matrix = torch.randn(outputs, decoder.num_features, DIM, generator=generator).double()
    offset = torch.randn(outputs, decoder.num_features, generator=generator).double()
    constant = torch.randn(outputs, generator=generator).double()
    decoder.set_matrices(matrix, offset, constant)
    features = decoder.features(coords)
    for number, basis in enumerate(decoder.channel_bases(coords, outputs)):
        torch.testing.assert_close(basis.modes, features @ matrix[number])
        torch.testing.assert_close(basis.offset, features @ offset[number] + constant[number])


def test_the_sums_do_not_depend_on_how_points_are_cut(monkeypatch):
    decoder, block = network(), compress(block_of(), DIM).block
    whole = FeatureSums.of(decoder, block)
    monkeypatch.setattr("smore.training.decoder._closed_form.NUMBERS_AT_ONCE", 1)  # 64 points
    for name, value in vars(FeatureSums.of(decoder, block)).items():
        expected = torch.as_tensor(getattr(whole, name))
        torch.testing.assert_close(torch.as_tensor(value), expected, msg=name)


def test_a_ridge_keeps_coefficients_small_and_errors_near():
    """Many features of few directions: without a ridge their coefficients would know no bound."""
    decoder, block = network(0, 200), compress(block_of(), DIM).block
    sums = FeatureSums.of(decoder, block)
    size = (sums.gram[0].diagonal() / sums.count).sqrt()[:, None]
    least, small, large = (sums.solve(DIM, ridge) for ridge in (1e-13, 1e-10, 1e-5))
    coefficients = [float((each.matrix * size).abs().max()) for each in (least, small, large)]
    assert coefficients[0] > 3 * coefficients[1] > 30 * coefficients[2]
    assert least.left_out <= small.left_out <= large.left_out
    modes = decoder.features(block.coords).detach() @ small.matrix[0]
    factor = block.values[:, :-1]
    missed = factor - modes @ torch.linalg.lstsq(modes, factor).solution
    assert small.left_out == pytest.approx(float(missed.square().sum()), rel=1e-6)


def test_joint_modes_are_the_best_of_all_channels_together():
    """Two channels with fields of their own that move together."""
    one, other = block_of(), block_of()
    values = torch.stack([one.values, other.values.flip(0) ** 2], dim=2).flatten(1)
    block = Block(one.coords, one.weights, values, one.snapshots, 2).stacked()
    small, decoder = compress(block, DIM), network(0, 24, outputs=2)
    left_out = solve_decoder(decoder, small.block)
    features = decoder.features(one.coords).detach().numpy()
    span = np.linalg.qr(features)[0]
    factor = small.block.values[:, :-1].numpy()
    rows = [np.arange(2 * POINTS) % 2 == number for number in range(2)]
    inside = np.concatenate([span.T @ factor[own] for own in rows])
    energies = np.linalg.svd(inside, compute_uv=False) ** 2
    expected = (factor**2).sum() - energies[:DIM].sum()
    assert left_out == pytest.approx(expected, rel=1e-3)
    basis = decoder.basis(small.block.coords).detach()
    missed = factor - basis.modes.numpy() @ np.linalg.lstsq(basis.modes.numpy(), factor)[0]
    assert (missed**2).sum() == pytest.approx(left_out, rel=1e-6)


def test_few_points_for_many_features_choose_a_larger_ridge():
    """With as many features as points anything fits, and what is between them is open."""
    decoder, small = network(0, 80), compress(block_of(points=80), DIM).block
    assert choose_ridge(decoder, small) > 1e-10
    assert choose_ridge(network(0, 20), compress(block_of(points=400), DIM).block) == 1e-10
    between = block_of(points=1000)
    chosen, smallest = network(0, 80), network(0, 80)
    solve_decoder(chosen, small)
    found = FeatureSums.of(smallest, small).solve(DIM)
    smallest.set_matrices(found.matrix, found.offset, found.constant)
    errors = [projection_error(each, between, None) for each in (chosen, smallest)]
    assert errors[0] < errors[1]


def test_no_descent_on_film_matrices_gets_below_it():
    block = block_of()
    small = compress(block, DIM)
    piece = Piece(small.block, 1 / POINTS, small.rest)
    solved, descended = network(), network()
    error = solve_decoder(solved, small.block) / POINTS
    for parameter in [*descended.frequencies, *descended.weights, descended.output_weight]:
        parameter.requires_grad_(False)
    optimizer = torch.optim.Adam(descended.modulations, 3e-2)
    losses = []
    for _ in range(300):
        descended.zero_grad()
        losses.append(accumulate_projection(descended, [piece]))
        optimizer.step()
    assert error <= min(losses) < 0.2 * losses[0]


def test_without_an_offset_there_is_none():
    decoder, block = network(), compress(block_of(), DIM, centred=False).block
    solve_decoder(decoder, block, with_offset=False)
    assert not decoder.basis(block.coords).offset.any()


def test_descent_on_filters_with_the_rest_solved_for_gains():
    small = compress(block_of(), DIM)
    decoder = network(1, 6)
    before = solve_decoder(decoder, small.block)
    judged = []

    def judge():
        judged.append(solve_decoder(decoder, small.block))
        return judged[-1]

    steps = fit_decoder(
        decoder,
        [Piece(small.block, 1 / POINTS, small.rest)],
        num_steps=60,
        rate=2e-2,
        generator=torch.Generator().manual_seed(0),
        eliminate=True,
        judge=judge,
    )
    assert steps == 60
    assert judged[0] == pytest.approx(before)
    # The state that was judged best is kept.
    assert solve_decoder(decoder, small.block) == pytest.approx(min(judged))
    assert min(judged) < 0.5 * before


def test_descent_ends_when_left_out_data_gain_nothing():
    small = compress(block_of(), DIM)
    rising = iter(range(1000))
    steps = fit_decoder(
        network(1, 6),
        [Piece(small.block, 1 / POINTS, small.rest)],
        num_steps=500,
        rate=1e-3,
        generator=torch.Generator().manual_seed(0),
        eliminate=True,
        judge=lambda: float(next(rising)),
    )
    assert steps == 61


def test_errors_and_the_rounding_of_coefficients_are_weighed_together():
    """Fields that the features hold exactly: the least ridge has the largest coefficients."""
    decoder, small = network(0, 200), compress(block_of(points=2000), 8).block
    sums = FeatureSums.of(decoder, small)
    tried = [sums.solve(DIM, ridge) for ridge in (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)]
    best = min(tried, key=lambda each: each.left_out + sums.rounding(each))
    assert solve_decoder(decoder, small, ridge=1e-10) == pytest.approx(best.left_out)
