"""Physics attention: slices of a field, against sums over points written out."""

from __future__ import annotations

import pytest
import torch

from smore_paper.baselines.transolver import EMPTY_SLICE, NUM_HEADS, PhysicsAttention

WIDTH, SLICES = 19, 5  # two channels per head, three left over
HEAD = WIDTH // NUM_HEADS


@pytest.fixture
def linear_attention():
    torch.manual_seed(0)
    return PhysicsAttention(WIDTH, SLICES, kernel_size=1)


def test_linear_projections_make_it_equivariant_to_the_order_of_points(linear_attention):
    v = torch.randn(2, 6, 7, WIDTH)
    order = torch.randperm(42)
    shuffled = linear_attention(v.flatten(1, 2)[:, order].unflatten(1, (6, 7)))
    expected = linear_attention(v).flatten(1, 2)[:, order]
    torch.testing.assert_close(shuffled.flatten(1, 2), expected, rtol=1e-4, atol=1e-6)


def test_points_need_no_grid(linear_attention):
    v = torch.randn(2, 6, 7, WIDTH)
    flat = linear_attention(v.reshape(2, 1, 42, WIDTH))
    torch.testing.assert_close(flat.reshape(v.shape), linear_attention(v), rtol=1e-4, atol=1e-6)


def test_convolutions_see_neighbours():
    torch.manual_seed(0)
    attention = PhysicsAttention(WIDTH, SLICES)
    v = torch.randn(1, 6, 7, WIDTH)
    order = torch.randperm(42)
    shuffled = attention(v.flatten(1, 2)[:, order].unflatten(1, (6, 7))).flatten(1, 2)
    assert (shuffled - attention(v).flatten(1, 2)[:, order]).abs().max() > 1e-3


def attention_by_hand(attention: PhysicsAttention, v: torch.Tensor) -> torch.Tensor:
    """Head by head, slice by slice, for points (points, width) and linear projections."""
    place = v @ attention.place.weight[..., 0, 0].T + attention.place.bias
    value = v @ attention.value.weight[..., 0, 0].T + attention.value.bias
    heads = []
    for head in range(NUM_HEADS):
        mine = slice(head * HEAD, (head + 1) * HEAD)
        scores = place[:, mine] @ attention.slice.weight.T + attention.slice.bias
        weights = torch.softmax(scores / attention.temperature[head], -1)
        tokens = torch.stack(
            [
                sum(weights[i, g] * value[i, mine] for i in range(len(v)))
                / (weights[:, g].sum() + EMPTY_SLICE)
                for g in range(SLICES)
            ]
        )
        query, key, answer = (
            tokens @ layer.weight.T for layer in (attention.query, attention.key, attention.answer)
        )
        attended = torch.softmax(query @ key.T / HEAD**0.5, -1) @ answer
        heads.append(weights @ attended)
    return torch.cat(heads, -1) @ attention.out.weight.T + attention.out.bias


def test_attention_equals_the_sums_written_out(linear_attention):
    attention = linear_attention.double()
    v = torch.randn(12, WIDTH, dtype=torch.float64, requires_grad=True)
    cotangent = torch.randn(12, WIDTH, dtype=torch.float64)
    inputs = [v, *attention.parameters()]
    out, expected = (
        attention(v.view(1, 3, 4, WIDTH)).view(12, WIDTH),
        attention_by_hand(attention, v),
    )
    torch.testing.assert_close(out, expected)
    for gradient, by_hand in zip(
        torch.autograd.grad(out, inputs, cotangent),
        torch.autograd.grad(expected, inputs, cotangent),
        strict=True,
    ):
        torch.testing.assert_close(gradient, by_hand)


def test_one_slice_gives_every_point_the_mean():
    torch.manual_seed(0)
    attention = PhysicsAttention(WIDTH, 1, kernel_size=1)
    out = attention(torch.randn(1, 4, 5, WIDTH))
    torch.testing.assert_close(out, out[:, :1, :1].expand_as(out))
