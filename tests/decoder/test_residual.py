"""Residuals and their gradients, against sums over single values and autograd."""

from dataclasses import replace

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.decoder.residual import (
    accumulate_reconstruction,
    backpropagate_residual,
    scaled_residual,
    squared_errors,
)
from smore.runtime.distribution import ALONE

LATENT, CHANNELS, POINTS = 3, 2, 23


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def network():
    return FilterNetwork(2, LATENT, 8, 1, generator=torch.Generator().manual_seed(0)).double()


def block(snapshots, masked=False, num_points=POINTS):
    columns = (num_points, len(snapshots) * CHANNELS)
    made = Block(
        coords=random(num_points, 2, seed=num_points),
        weights=torch.ones(num_points, dtype=torch.float64),
        values=random(*columns, seed=num_points + 1),
        snapshots=torch.tensor(snapshots),
        num_channels=CHANNELS,
    )
    return made.with_mask(random(*columns, seed=num_points + 2) < 0.5 if masked else None)


def several_blocks(masked=False):
    """Two meshes that share the five snapshots of one table."""
    return [block([0, 3, 4], masked), block([1, 2], masked, num_points=9)]


def literal_errors(decoder, blocks, latents):
    """(J₀ z + c₀ - u)² of every value that was observed, with its snapshot and channel."""
    for each in blocks:
        basis = decoder.basis(each.coords)
        for row, snapshot in enumerate(each.snapshots.tolist()):
            for channel in range(CHANNELS):
                column = row * CHANNELS + channel
                for point in range(each.num_points):
                    if each.observed is None or each.observed[point, column]:
                        decoded = basis.modes[point] @ latents[snapshot, channel]
                        error = decoded + basis.offset[point] - each.values[point, column]
                        yield snapshot, channel, error.square()


@pytest.mark.parametrize("masked", [False, True])
def test_the_residual_carries_as_much_of_the_offset_as_its_column_says(masked):
    data = replace(block([0, 1], masked), loading=torch.tensor([1.0, 0.0, 0.5, 1.0]).double())
    basis = network().basis(data.coords).detach()
    codes, scale = random(4, LATENT, seed=5), random(4, seed=6).exp()
    found = scaled_residual(basis, data, codes, scale)
    for point in range(POINTS):
        for column in range(4):
            error = basis.modes[point] @ codes[column] - data.values[point, column]
            error = error + float(data.loading[column]) * basis.offset[point]
            if masked and not data.observed[point, column]:
                error = torch.zeros(())
            assert float(found[point, column]) == pytest.approx(float(error * scale[column]))


@pytest.mark.parametrize("chunk_size", [None, 4, 1000])
@pytest.mark.parametrize("masked", [False, True])
def test_reconstruction_loss_and_gradients_are_those_of_autograd(masked, chunk_size):
    decoder, blocks = network(), several_blocks(masked)
    latents, weights = random(5, CHANNELS, LATENT, seed=7), random(5, seed=8).exp()
    known = latents.clone().requires_grad_()
    expected = sum(weights[row] * error for row, _, error in literal_errors(decoder, blocks, known))
    slopes = torch.autograd.grad(expected, [known, *decoder.parameters()])
    loss, gradient = accumulate_reconstruction(decoder, blocks, latents, weights, chunk_size)
    assert loss == pytest.approx(expected.item())
    for found, slope in zip(
        [gradient, *(each.grad for each in decoder.parameters())], slopes, strict=True
    ):
        torch.testing.assert_close(found, slope)


def test_directions_without_offset_have_their_own_gradients():
    """Columns that carry a part of the offset: backward through (c₀, J₀) is that of autograd."""
    decoder = network()
    data = replace(block([0, 1]), loading=torch.tensor([1.0, 0.0, 0.5, 2.0]).double())
    codes, scale = random(4, LATENT, seed=5).requires_grad_(), random(4, seed=6).exp()
    basis = decoder.basis(data.coords)
    fields = basis.modes @ codes.T + torch.outer(basis.offset, data.loading)
    expected = ((fields - data.values) * scale).square().sum()
    slopes = torch.autograd.grad(expected, [codes, *decoder.parameters()])
    gradient = torch.zeros_like(codes)
    loss = backpropagate_residual(decoder.basis(data.coords), data, codes.detach(), scale, gradient)
    assert loss == pytest.approx(expected.item())
    found = [gradient, *(each.grad for each in decoder.parameters())]
    for ours, slope in zip(found, slopes, strict=True):
        torch.testing.assert_close(ours, slope)


@pytest.mark.parametrize("chunk_size", [None, 4])
@pytest.mark.parametrize("masked", [False, True])
def test_squared_errors_are_sums_over_what_was_observed(masked, chunk_size):
    decoder, blocks = network(), several_blocks(masked)
    latents = random(5, CHANNELS, LATENT, seed=7)
    totals, counts = torch.zeros(5, CHANNELS).double(), torch.zeros(5, CHANNELS).double()
    for snapshot, channel, error in literal_errors(decoder, blocks, latents):
        totals[snapshot, channel] += error.detach()
        counts[snapshot, channel] += 1
    torch.testing.assert_close(
        squared_errors(decoder, blocks, latents, chunk_size), (totals, counts)
    )


class Watched(FilterNetwork):
    """A network that remembers how many points it was asked for at once."""

    def __init__(self):
        super().__init__(2, LATENT, 8, 1, generator=torch.Generator().manual_seed(0))
        self.double()
        self.asked = []

    def basis(self, coords):
        self.asked.append(len(coords))
        return super().basis(coords)


def points_at_once(blocks, chunk_size):
    decoder, num = Watched(), sum(len(each.snapshots) for each in blocks)
    latents, weights = torch.zeros(num, CHANNELS, LATENT).double(), torch.ones(num).double()
    accumulate_reconstruction(decoder, blocks, latents, weights, chunk_size)
    return decoder.asked


def test_one_mesh_is_summed_in_the_parts_that_a_team_would_share():
    """The same summands, whether one process or four hold the points."""
    num_points = 100
    one_mesh = [block([0, 1], num_points=num_points)]
    parts = [part.stop - part.start for part in ALONE.parts(num_points)]
    assert len(parts) == 12
    assert points_at_once(one_mesh, None) == parts
    assert points_at_once(one_mesh, num_points - 1) == parts
    cut = points_at_once(one_mesh, 5)
    assert cut == [size for part in parts for size in (5, part - 5)]


@pytest.mark.parametrize("chunk_size", [100, 101])
def test_all_points_asked_for_are_one_chunk(chunk_size):
    assert points_at_once([block([0, 1], num_points=100)], chunk_size) == [100]


def test_several_meshes_which_no_team_shares_are_not_cut_further():
    assert points_at_once(several_blocks(), None) == [POINTS, 9]
