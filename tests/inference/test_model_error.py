"""Variances of decoded fields, term by term."""

import torch

from smore.decoder import Basis
from smore.dynamics import StepError
from smore.inference.model_error import ModelError, code_blocks, field_variance


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_code_blocks_are_the_diagonal_blocks():
    covariance = random(2, 3, 6, 6)
    blocks = code_blocks(covariance, 2)
    assert blocks.shape == (2, 3, 2, 3, 3)
    torch.testing.assert_close(blocks[:, :, 0], covariance[:, :, :3, :3])
    torch.testing.assert_close(blocks[:, :, 1], covariance[:, :, 3:, 3:])


def test_field_variance_is_a_double_sum():
    modes, root = random(7, 3), random(2, 3, 3, seed=1)
    covariance = root @ root.mT
    found = field_variance([Basis(modes[:, 0], modes)] * 2, covariance)
    for channel in range(2):
        for point in range(7):
            expected = sum(
                modes[point, i] * covariance[channel, i, j] * modes[point, j]
                for i in range(3)
                for j in range(3)
            )
            torch.testing.assert_close(found[channel, point], expected)


def test_channels_with_one_code_have_its_covariance_and_their_own_modes():
    modes, root = random(2, 7, 3), random(4, 1, 3, 3, seed=1)
    covariance = root @ root.mT
    found = field_variance([Basis(each[:, 0], each) for each in modes], covariance)
    expected = torch.einsum("kxi,tij,kxj->tkx", modes, covariance[:, 0], modes)
    torch.testing.assert_close(found, expected)


def test_what_the_decoder_misses_grows_where_fields_vary():
    error = ModelError(
        floor=torch.tensor([1.0, 0.0]).double(),
        share=torch.tensor([0.0, 0.1]).double(),
        step=StepError(torch.zeros(2, 2).double(), 0.0, 1.0),
    )
    found = error.residual_variance(torch.tensor([[1.0, 5.0], [1.0, 5.0]]).double())
    torch.testing.assert_close(found, torch.tensor([[1.0, 1.0], [0.1, 0.5]]).double())
