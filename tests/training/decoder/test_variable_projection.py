"""Variable projection against the loss it eliminates latents from, written out."""

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.decoder.gauge import mode_gram, orthonormal_gauge
from smore.training.decoder._muon import orthogonalise
from smore.training.decoder._variable_projection import (
    accumulate_projection,
    fit_decoder,
    solve_codes,
)
from smore.training.decoder.compression import compress
from smore.training.decoder.pieces import Piece

POINTS, COLUMNS, DIM = 50, 30, 4


def decoder_of(dtype=torch.float64):
    return FilterNetwork(2, DIM, 8, 2, generator=torch.Generator().manual_seed(0)).to(dtype)


def block_of(points=POINTS, columns=COLUMNS, rank=None, dtype=torch.float64):
    generator = torch.Generator().manual_seed(1)
    values = torch.randn(points, columns, generator=generator, dtype=torch.float64)
    if rank is not None:
        values = values[:, :rank] @ torch.randn(rank, columns, generator=generator).double()
    return Block(
        coords=torch.rand(points, 2, generator=generator, dtype=torch.float64).to(dtype) / 2,
        weights=0.5 + torch.rand(points, generator=generator, dtype=torch.float64).to(dtype),
        values=(values + 3).to(dtype),
        snapshots=torch.arange(columns),
        num_channels=1,
    )


def literal_loss(decoder, block):
    """min over all latents of the mean squared error, differentiated through the solve."""
    basis = decoder.basis(block.coords)
    target = block.values - basis.offset[:, None]
    codes = torch.linalg.lstsq(basis.modes, target).solution
    return (target - basis.modes @ codes).square().mean()


@pytest.mark.parametrize("chunk_size", [None, 7])
@pytest.mark.parametrize("compressed", [False, True])
def test_loss_and_gradient_are_those_of_the_projection_error(chunk_size, compressed):
    decoder, block = decoder_of(), block_of()
    expected = literal_loss(decoder, block)
    gradients = torch.autograd.grad(expected, list(decoder.parameters()))
    if compressed:
        smaller = compress(block, DIM)
        piece = Piece(smaller.block, 1 / POINTS, smaller.rest)
    else:
        piece = Piece(block, 1 / block.values.numel())
    decoder.zero_grad()
    loss = accumulate_projection(decoder, [piece], chunk_size)
    # What the factor leaves out is not in the gradient: a thousandth of the POD residual.
    assert loss + piece.rest == pytest.approx(
        float(expected.detach()), rel=1e-3 if compressed else 1e-9
    )
    for parameter, gradient in zip(decoder.parameters(), gradients, strict=True):
        difference = (parameter.grad - gradient).norm() / gradient.norm()
        assert difference < (5e-3 if compressed else 1e-6)


def test_no_basis_beats_the_pod_limit_and_training_comes_near_it():
    """Four smooth waves: a decoder of four modes can hold them."""
    generator = torch.Generator().manual_seed(2)
    block = block_of(points=200, dtype=torch.float32)
    waves = torch.stack([torch.sin(12 * k * block.coords[:, 0]) for k in (1, 2)])
    waves = torch.cat([waves, torch.stack([torch.cos(9 * k * block.coords[:, 1]) for k in (1, 2)])])
    values = waves.T @ torch.randn(4, COLUMNS, generator=generator)
    values += 0.01 * torch.randn(200, COLUMNS, generator=generator)
    block = Block(block.coords, block.weights, values, block.snapshots, 1)
    small = compress(block, DIM)
    decoder = FilterNetwork(2, DIM, 48, 2, 32.0, generator=generator)
    losses = []
    fit_decoder(
        decoder,
        [Piece(small.block, 1 / 200, small.rest)],
        num_steps=600,
        rate=5e-3,
        generator=generator,
        progress=lambda _, loss: losses.append(loss),
    )
    limit = small.pod_limit(DIM)
    assert limit <= losses[-1] <= 1.2 * limit


def test_a_decoder_without_offset_keeps_none():
    decoder = decoder_of(torch.float32)
    block = block_of(dtype=torch.float32)
    fit_decoder(
        decoder,
        [Piece(block, 1 / block.values.numel())],
        num_steps=3,
        rate=1e-2,
        generator=torch.Generator(),
        with_offset=False,
    )
    assert not decoder.basis(block.coords).offset.any()


def test_solved_codes_are_least_squares():
    from smore.inference import normal_equations

    decoder, block = decoder_of(), block_of()
    (equations,) = normal_equations(decoder, [block])
    basis = decoder.basis(block.coords).detach()
    expected = torch.linalg.lstsq(basis.modes, block.values - basis.offset[:, None]).solution.T
    torch.testing.assert_close(solve_codes(equations)[:, 0], expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (6, 6)])
def test_orthogonalised_updates_have_singular_values_near_one(shape):
    matrix = torch.randn(*shape, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonalise(matrix))
    assert values.min() > 0.5
    assert values.max() < 1.3
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    assert torch.trace(left.T @ orthogonalise(matrix) @ right.T) > 0.7 * min(shape)


def test_a_change_of_gauge_leaves_every_field_as_it_was():
    decoder, block = decoder_of(), block_of()
    generator = torch.Generator().manual_seed(3)
    codes = torch.randn(COLUMNS, DIM, generator=generator, dtype=torch.float64)
    matrix = torch.randn(DIM, DIM, generator=generator, dtype=torch.float64)
    shift = torch.randn(DIM, generator=generator, dtype=torch.float64)
    before = decoder.basis(block.coords).decode(codes @ matrix.T + shift)
    decoder.change_gauge(matrix, shift)
    after = decoder.basis(block.coords).decode(codes)
    torch.testing.assert_close(after, before, rtol=1e-12, atol=1e-12)


def test_the_orthonormal_gauge_makes_modes_orthonormal_and_orders_them():
    decoder, block = decoder_of(), block_of()
    codes = torch.randn(COLUMNS, DIM, generator=torch.Generator().manual_seed(4)).double()
    gram, _ = mode_gram(decoder, [block], None)
    matrix = orthonormal_gauge(gram, codes)
    decoder.change_gauge(matrix, torch.zeros(DIM, dtype=torch.float64))
    after, _ = mode_gram(decoder, [block], 7)
    torch.testing.assert_close(after, torch.eye(DIM, dtype=torch.float64), rtol=0, atol=1e-10)
    moved = torch.linalg.solve(matrix, codes.T).T
    moment = moved.T @ moved
    energies = moment.diagonal()
    torch.testing.assert_close(moment, torch.diag(energies), rtol=0, atol=1e-8 * float(energies[0]))
    assert (energies.diff() <= 0).all()
