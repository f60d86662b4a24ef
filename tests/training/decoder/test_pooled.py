"""Snapshots with points of their own, regressed on features: as good as if they shared them."""

from dataclasses import replace

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.training.decoder._closed_form import solve_decoder
from smore.training.decoder._pooled import Regression, choose_regression, pool
from smore.training.decoder._variable_projection import projection_error
from smore.training.decoder.compression import compress

DIM, SEQUENCES, TIMES, POINTS = 3, 6, 7, 400


def network(scale=20.0, outputs=1):
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(2, DIM, 24, 2, scale, generator, num_outputs=outputs).double()


def field(coords, codes, channel=0):
    """Smooth functions of five modes about a mean with a constant in it, the last modes weak."""
    x, y = coords[:, 0], coords[:, 1]
    waves = [torch.sin((3 + k) * x + (2 * k + channel) * y + k) / 4**k for k in range(5)]
    return torch.stack(waves, dim=1) @ codes + 2 + x[:, None]


def codes():
    generator = torch.Generator().manual_seed(1)
    return torch.randn(5, SEQUENCES * TIMES, generator=generator, dtype=torch.float64)


def blocks(same=False, joint=False):
    """One block per sequence, each at points of its own unless they are to be the same."""
    found = []
    for number in range(SEQUENCES):
        generator = torch.Generator().manual_seed(0 if same else number)
        coords = torch.rand(POINTS, 2, generator=generator, dtype=torch.float64) / 2
        own = codes()[:, number * TIMES : (number + 1) * TIMES]
        channels = [field(coords, own, channel) for channel in range(1 + joint)]
        block = Block(
            coords=coords,
            weights=torch.ones(POINTS, dtype=torch.float64),
            values=torch.stack(channels, dim=2).flatten(1),
            snapshots=torch.arange(number * TIMES, (number + 1) * TIMES),
            num_channels=1 + joint,
        )
        found.append(block.stacked() if joint else block)
    return found


def masked():
    """The same snapshots on one mesh, each sequence seen at another half of its points."""
    generator = torch.Generator().manual_seed(5)
    coords = torch.rand(2 * POINTS, 2, generator=generator, dtype=torch.float64) / 2
    seen = torch.zeros(2 * POINTS, SEQUENCES * TIMES, dtype=torch.bool)
    for number in range(SEQUENCES):
        half = torch.randperm(2 * POINTS, generator=generator)[:POINTS]
        seen[half, number * TIMES : (number + 1) * TIMES] = True
    block = Block(
        coords=coords,
        weights=torch.ones(2 * POINTS, dtype=torch.float64),
        values=field(coords, codes()),
        snapshots=torch.arange(SEQUENCES * TIMES),
        num_channels=1,
    )
    return [block.with_mask(seen)]


def error(decoder, data):
    """Mean squared projection error, latents of every snapshot at its own points."""
    total = sum(projection_error(decoder, block, None) for block in data)
    return total / sum(block.num_values for block in data)


CASES = {
    "meshes": lambda: blocks(),
    "the same mesh": lambda: blocks(same=True),
    "gaps": masked,
    "joint": lambda: blocks(joint=True),
}


@pytest.mark.parametrize("case", CASES)
def test_it_decodes_as_well_as_the_best_basis_on_common_points(case):
    data, outputs = CASES[case](), 2 if case == "joint" else 1
    found = choose_regression(lambda scale: network(scale, outputs), data, 20.0)
    small = pool(found, data)
    solve_decoder(found.decoder, small.block)
    # All snapshots at all points of one fine mesh: what no basis can do better.
    generator = torch.Generator().manual_seed(9)
    coords = torch.rand(3000, 2, generator=generator, dtype=torch.float64) / 2
    whole = torch.cat([field(coords, codes(), channel) for channel in range(outputs)])
    singular = torch.linalg.svdvals(whole - whole.mean(1, keepdim=True))
    best = float(singular[DIM:].square().sum()) / whole.numel()
    assert error(found.decoder, data) == pytest.approx(best, rel=0.1)
    assert small.pod_limit(DIM) == pytest.approx(best, rel=0.1)
    assert found.missed < 1e-3 * best


def test_on_common_points_it_is_the_closed_form():
    data = blocks(same=True)
    one = replace(
        data[0],
        values=torch.cat([each.values for each in data], dim=1),
        snapshots=torch.arange(SEQUENCES * TIMES),
    )
    direct, pooled = network(), network()
    left_out = solve_decoder(direct, compress(one, DIM).block)
    small = pool(Regression(pooled, 20.0, 1e-10, 0.0), data)
    assert solve_decoder(pooled, small.block) / small.total_points == pytest.approx(
        left_out / POINTS, rel=1e-3
    )
    first, second = (each.basis(data[0].coords).modes.detach() for each in (direct, pooled))
    found = torch.linalg.lstsq(first, second).solution
    torch.testing.assert_close(first @ found, second, rtol=0, atol=1e-4)


def test_columns_are_in_the_order_of_snapshots_however_blocks_are_ordered():
    data = blocks()
    found = Regression(network(), 20.0, 1e-10, 0.0)
    ordered, turned = pool(found, data), pool(found, data[::-1])
    shape = (SEQUENCES * TIMES, SEQUENCES * TIMES)
    first, second = (each.coordinates @ each.coordinates.T for each in (ordered, turned))
    assert first.shape == shape
    # Points that the decoder is solved at are others, so energies differ a little, angles do not.
    torch.testing.assert_close(first / first.trace(), second / second.trace(), rtol=0, atol=1e-6)


def test_left_out_points_choose_scale_and_ridge():
    data = blocks()
    noise = torch.Generator().manual_seed(3)
    noisy = [
        replace(b, values=b.values + 0.3 * torch.randn(b.values.shape, generator=noise).double())
        for b in data
    ]
    clean, rough = (choose_regression(network, each, None) for each in (data, noisy))
    assert clean.missed < 1e-9
    assert rough.ridge >= clean.ridge
    assert rough.missed == pytest.approx(0.09, rel=0.35)


def test_too_few_points_for_the_features_are_refused():
    few = [block.at(slice(0, 60)) for block in blocks()]
    assert choose_regression(network, few, 20.0) is None
    assert choose_regression(network, [*blocks()[1:], few[0]], 20.0) is None
