"""Other latent coordinates, the same fields; Gram matrices against sums written out."""

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.decoder.gauge import mode_gram, orthonormal_gauge

LATENT = 4


def random(*shape, seed):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def network():
    return FilterNetwork(2, LATENT, 8, 2, generator=torch.Generator().manual_seed(0)).double()


def block(num_points, seed):
    """Points whose weights differ; what was seen there does not matter."""
    return Block(
        coords=random(num_points, 2, seed=seed),
        weights=random(num_points, seed=seed + 1).exp(),
        values=torch.zeros(num_points, 1, dtype=torch.float64),
        snapshots=torch.zeros(1, dtype=torch.int64),
        num_channels=1,
    )


def test_new_coordinates_leave_every_field_as_it_was():
    decoder, points, new = network(), random(30, 2, seed=1), random(5, LATENT, seed=2)
    matrix, shift = random(LATENT, LATENT, seed=3), random(LATENT, seed=4)
    before = decoder.basis(points).decode(new @ matrix.T + shift).detach()
    decoder.change_gauge(matrix, shift)
    torch.testing.assert_close(decoder.basis(points).decode(new).detach(), before)


@pytest.mark.parametrize("chunk_size", [None, 3])
def test_the_gram_matrix_is_a_weighted_mean_over_the_points_of_all_blocks(chunk_size):
    decoder, blocks = network(), [block(7, seed=1), block(4, seed=5)]
    gram, offset, measure = torch.zeros(LATENT, LATENT), torch.zeros(LATENT), 0.0
    for each in blocks:
        basis = decoder.basis(each.coords).detach()
        for weight, modes, value in zip(each.weights, basis.modes, basis.offset, strict=True):
            gram = gram + weight * torch.outer(modes, modes)
            offset = offset + weight * modes * value
            measure += float(weight)
    found = mode_gram(decoder, blocks, chunk_size)
    torch.testing.assert_close(found, (gram / measure, offset / measure))


def gram_of(num_directions):
    """Of LATENT modes in a space of so many directions."""
    modes = random(num_directions, LATENT, seed=1)
    return modes.T @ modes


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_modes_of_any_size_become_orthonormal_and_ordered_by_energy(size):
    gram, codes = size * gram_of(10), random(3, 5, LATENT, seed=2)
    matrix = orthonormal_gauge(gram, codes)
    identity = torch.eye(LATENT, dtype=torch.float64)
    torch.testing.assert_close(matrix.T @ gram @ matrix, identity, rtol=0, atol=1e-10)
    new = torch.linalg.solve(matrix, codes.reshape(-1, LATENT).T)
    moment = new @ new.T
    energies = moment.diagonal()
    torch.testing.assert_close(moment, energies.diag(), rtol=0, atol=1e-10 * float(energies[0]))
    assert (energies[:-1] > energies[1:]).all()


def test_modes_that_depend_on_each_other_have_a_gauge_too():
    gram, codes = gram_of(LATENT - 1), random(9, LATENT, seed=2)
    gram -= 1e-15 * gram.diagonal().mean() * torch.eye(LATENT)  # round-off may do this
    matrix = orthonormal_gauge(gram, codes)
    orthonormal = matrix.T @ gram @ matrix
    assert torch.linalg.eigvalsh(orthonormal)[1:].tolist() == pytest.approx([1.0] * 3, rel=1e-6)


def test_a_mode_that_vanishes_counts_as_a_hundred_trillionth_of_the_mean_energy():
    """So that no code of it is larger than 1e7 times the others."""
    gram, codes = torch.tensor([1.5, 0.0, 1.5]).double().diag(), random(9, 3, seed=2)
    matrix = orthonormal_gauge(gram, codes)
    expected = torch.tensor([1 / 1.5, 1e14, 1 / 1.5]).double()
    torch.testing.assert_close((matrix @ matrix.T).diagonal(), expected)
