"""Normal equations are sums over points: the same in one piece or in many."""

import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.inference import normal_equations

SNAPSHOTS, CHANNELS, DIM, POINTS = 3, 2, 5, 23


def decoder():
    return FilterNetwork(2, DIM, 8, 1, generator=torch.Generator().manual_seed(0)).double()


def random_codes():
    generator = torch.Generator().manual_seed(2)
    return torch.randn(SNAPSHOTS, CHANNELS, DIM, dtype=torch.float64, generator=generator)


def block(masked):
    generator = torch.Generator().manual_seed(1)
    columns = (POINTS, SNAPSHOTS * CHANNELS)
    return Block(
        coords=torch.rand(POINTS, 2, dtype=torch.float64, generator=generator),
        weights=torch.ones(POINTS, dtype=torch.float64),
        values=torch.randn(columns, dtype=torch.float64, generator=generator),
        snapshots=torch.tensor([7, 2, 4]),
        num_channels=CHANNELS,
    ).with_mask(torch.rand(columns, generator=generator) < 0.5 if masked else None)


@pytest.mark.parametrize("masked", [False, True])
def test_sums_over_points(masked):
    network, data = decoder(), block(masked)
    basis = network.basis(data.coords).detach()
    (equations,) = normal_equations(network, [data])
    assert equations.snapshots.tolist() == [7, 2, 4]
    grams = equations.gram[equations.pattern]
    for snapshot in range(SNAPSHOTS):
        for channel in range(CHANNELS):
            column = snapshot * CHANNELS + channel
            gram, moment = torch.zeros(DIM, DIM).double(), torch.zeros(DIM).double()
            energy = count = 0.0
            for point in range(POINTS):
                if masked and not data.observed[point, column]:
                    continue
                modes = basis.modes[point]
                target = float(data.values[point, column] - basis.offset[point])
                gram += torch.outer(modes, modes)
                moment += modes * target
                energy += target**2
                count += 1
            torch.testing.assert_close(grams[snapshot, channel], gram)
            torch.testing.assert_close(equations.moment[snapshot, channel], moment)
            assert float(equations.energy[snapshot, channel]) == pytest.approx(energy)
            assert float(equations.count[snapshot, channel]) == count


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("chunk_size", [1, 5, 22, 23, 1000])
def test_any_chunk_size_gives_the_same(masked, chunk_size):
    network, data = decoder(), block(masked)
    (whole,) = normal_equations(network, [data])
    (pieces,) = normal_equations(network, [data], chunk_size)
    for name in ("gram", "moment", "energy", "count"):
        torch.testing.assert_close(
            getattr(pieces, name), getattr(whole, name), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("masked", [False, True])
def test_squared_residual_is_that_of_the_decoded_fields(masked):
    network, data = decoder(), block(masked)
    codes = random_codes()
    (equations,) = normal_equations(network, [data])
    residual = network.basis(data.coords).decode(codes.flatten(0, 1)).detach() - data.values.T
    if masked:
        residual = residual * data.observed.T
    direct = residual.square().sum(1).view(SNAPSHOTS, CHANNELS)
    torch.testing.assert_close(equations.squared_residual(codes), direct)


def test_squared_residual_of_a_perfect_fit_is_not_negative():
    network, data = decoder(), block(False)
    codes = 1e4 * random_codes()
    data.values.copy_(network.basis(data.coords).decode(codes.flatten(0, 1)).T.detach())
    (equations,) = normal_equations(network, [data])
    squared = equations.squared_residual(codes)
    assert (squared >= 0).all()
    assert (squared <= 1e-12 * equations.energy).all()
