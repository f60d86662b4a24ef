"""The one idea: the reverse sweep gives the decoder's affine form exactly."""

import pytest
import torch

from smore.decoder import FilterNetwork
from smore_paper.measuring.textbook import decode_snapshots


def make_decoder(dim=2, latent=7, hidden=10, layers=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(dim, latent, hidden, layers, generator=generator).to(dtype)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("layers", [1, 3, 4])
def test_basis_equals_per_snapshot_decoding(dim, layers):
    decoder = make_decoder(dim, layers=layers)
    coords = torch.rand(50, dim, dtype=torch.float64)
    codes = torch.randn(6, 7, dtype=torch.float64)
    expected = decode_snapshots(decoder, coords, codes)
    torch.testing.assert_close(
        decoder.basis(coords).decode(codes), expected, rtol=1e-12, atol=1e-12
    )


def test_gradients_equal_those_of_per_snapshot_decoding():
    decoder = make_decoder()
    coords = torch.rand(40, 2, dtype=torch.float64)
    codes = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    fields = torch.randn(5, 40, dtype=torch.float64)
    inputs = [*decoder.parameters(), codes]
    sweep = torch.autograd.grad(
        (decoder.basis(coords).decode(codes) - fields).square().mean(), inputs
    )
    textbook = torch.autograd.grad(
        (decode_snapshots(decoder, coords, codes) - fields).square().mean(), inputs
    )
    for ours, theirs in zip(sweep, textbook, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-13)


def test_modes_are_the_jacobian_and_offset_the_value_at_zero():
    decoder = make_decoder()
    coords = torch.rand(9, 2, dtype=torch.float64)
    basis = decoder.basis(coords)

    def decode(code):
        return decode_snapshots(decoder, coords, code[None])[0]

    zero = torch.zeros(7, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(decode, zero)
    torch.testing.assert_close(basis.modes, jacobian)
    torch.testing.assert_close(basis.offset, decode(zero))


def test_order_of_points_does_not_matter():
    decoder = make_decoder()
    coords = torch.rand(30, 2, dtype=torch.float64)
    order = torch.randperm(30)
    torch.testing.assert_close(
        decoder.basis(coords[order]).modes, decoder.basis(coords).modes[order], rtol=0, atol=1e-14
    )


def test_same_generator_gives_the_same_weights():
    first, second = make_decoder(), make_decoder()
    for ours, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(ours, theirs)
