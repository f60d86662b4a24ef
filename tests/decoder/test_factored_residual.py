"""The loss and its gradients from the data's factors, against those from the data."""

from dataclasses import replace

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork, accumulate_factored, accumulate_reconstruction, factored

CHANNELS, LATENT_DIM = 2, 5


def block_of(points, snapshots, rank, dtype=torch.float64, noise=0.0):
    random = torch.Generator().manual_seed(0)
    columns = snapshots * CHANNELS
    values = torch.randn(points, rank, generator=random, dtype=torch.float64) @ torch.randn(
        rank, columns, generator=random, dtype=torch.float64
    )
    values += noise * torch.randn(points, columns, generator=random, dtype=torch.float64)
    return Block(
        coords=torch.rand(points, 2, generator=random, dtype=torch.float64).to(dtype),
        weights=torch.ones(points, dtype=dtype),
        values=values.to(dtype),
        snapshots=torch.arange(snapshots),
        num_channels=CHANNELS,
    )


def gradients(accumulate, data, dtype):
    random = torch.Generator().manual_seed(1)
    decoder = FilterNetwork(2, LATENT_DIM, 12, 2, generator=random).to(dtype)
    snapshots = len(data.coefficients if hasattr(data, "coefficients") else data[0].values.T)
    shape = (snapshots // CHANNELS, CHANNELS, LATENT_DIM)
    latents = torch.randn(shape, generator=random, dtype=torch.float64).to(dtype)
    weights = torch.rand(len(latents), generator=random, dtype=torch.float64).to(dtype)
    loss, gradient = accumulate(decoder, data, latents, weights)
    return [torch.tensor(loss), gradient, *(each.grad for each in decoder.parameters())]


def relative(ours, theirs):
    return float((ours.double() - theirs).norm() / theirs.norm())


@pytest.mark.parametrize(("points", "snapshots"), [(90, 60), (60, 700)])
def test_gradients_are_those_of_the_data(points, snapshots):
    block = block_of(points, snapshots, rank=7)
    factors = factored([block])
    assert factors.directions.shape == (points, 7)
    expected = gradients(accumulate_reconstruction, [block], torch.float64)
    for ours, theirs in zip(
        gradients(accumulate_factored, factors, torch.float64), expected, strict=True
    ):
        assert relative(ours, theirs) < 1e-9


def test_what_is_left_out_counts_in_the_loss():
    block = block_of(80, 60, rank=7, noise=1e-7)
    factors = factored([block])
    left_out = block.values.T - factors.coefficients @ factors.directions.T
    assert factors.left_out.sum() == pytest.approx(float(left_out.square().sum()), rel=1e-2)
    assert float(left_out.square().sum()) <= 1e-13 * float(block.values.square().sum())


def test_single_precision_loses_no_more_than_without_factors():
    block = block_of(90, 400, rank=7, dtype=torch.float32)
    exactly = replace(
        block, **{name: getattr(block, name).double() for name in ("coords", "weights", "values")}
    )
    exact = gradients(accumulate_reconstruction, [exactly], torch.float64)
    plain = gradients(accumulate_reconstruction, [block], torch.float32)
    short = gradients(accumulate_factored, factored([block]), torch.float32)
    for truth, with_data, with_factors in zip(exact, plain, short, strict=True):
        assert relative(with_factors, truth) < 5 * relative(with_data, truth) + 1e-6


@pytest.mark.parametrize(
    "why", ["full rank", "gaps", "several blocks", "another order", "partly loaded"]
)
def test_data_without_thin_factors_have_none(why):
    block = block_of(40, 30, rank=40 if why == "full rank" else 3)
    blocks = [block]
    if why == "gaps":
        blocks = [block.with_mask(torch.rand(block.values.shape) < 0.9)]
    if why == "several blocks":
        blocks = [block, block]
    if why == "another order":
        blocks = [replace(block, snapshots=block.snapshots.flip(0))]
    if why == "partly loaded":
        blocks = [replace(block, loading=torch.zeros(block.num_columns))]
    assert factored(blocks) is None
