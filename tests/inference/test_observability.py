"""c_S is the smallest singular value of the sensors' modes, however they come."""

from typing import ClassVar

import numpy as np
import pytest
import torch

from smore.data import Block
from smore.decoder import FilterNetwork
from smore.inference.observability import (
    observabilities,
    observability,
    smallest_singular_value,
)

LATENT, CHANNELS, POINTS = 3, 2, 20
EPS = np.finfo(float).eps


def random(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def network():
    return FilterNetwork(2, LATENT, 8, 1, generator=torch.Generator().manual_seed(0))


def literal(coords):
    """By a singular value decomposition of the modes in double precision."""
    modes = network().double().basis(coords.double()).modes.detach().numpy()
    return np.linalg.svd(modes, compute_uv=False)[-1] if len(coords) >= LATENT else 0.0


@pytest.mark.parametrize("sizes", [[LATENT], [9], [1, 1, 1], [2, 5, 1], [7, 1]])
@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_rows_in_parts_have_the_singular_value_of_all(sizes, size):
    rows = size * random(sum(sizes), LATENT)
    expected = np.linalg.svd(rows.numpy(), compute_uv=False)[-1]
    assert smallest_singular_value(rows.split(sizes)) == pytest.approx(expected, rel=1e-9)


def test_fewer_rows_than_columns_see_nothing_of_some_direction():
    assert smallest_singular_value(random(LATENT - 1, LATENT).split(1)) == 0.0
    assert smallest_singular_value([]) == 0.0


def test_what_round_off_cannot_tell_from_zero_is_zero():
    """Which is up to machine precision times the number of rows times the largest one."""
    for size in (1e-9, 1.0, 1e9):
        at_the_limit = size * torch.tensor([1.0, 2 * EPS], dtype=torch.float64).diag()
        assert smallest_singular_value([at_the_limit]) == 0.0
        above = size * torch.tensor([1.0, 3 * EPS], dtype=torch.float64).diag()
        assert smallest_singular_value([above]) == pytest.approx(EPS * size)
    alike = random(30, 1).expand(30, LATENT)
    assert smallest_singular_value([alike]) == 0.0


def test_modes_are_seen_in_double_precision_and_the_decoder_stays_as_it_is():
    decoder, coords = network(), random(POINTS, 2).float()
    assert observability(decoder, coords) == pytest.approx(literal(coords), rel=1e-9)
    assert decoder.output_bias.dtype == torch.float32


class Watched(FilterNetwork):
    """A network that remembers how many points it was asked for at once."""

    asked: ClassVar[list[int]] = []  # of all copies

    def basis(self, coords):
        self.asked.append(len(coords))
        return super().basis(coords)


def test_many_sensors_take_no_more_memory_than_four_thousand():
    coords = random(5000, 2)
    decoder = Watched(2, LATENT, 8, 1, generator=torch.Generator().manual_seed(0))
    assert observability(decoder, coords) == pytest.approx(literal(coords), rel=1e-9)
    assert sum(Watched.asked) == 5000
    assert max(Watched.asked) <= 4096


def block(snapshots, num_points, observed=None):
    columns = (num_points, len(snapshots) * CHANNELS)
    return Block(
        coords=random(num_points, 2, seed=num_points),
        weights=torch.ones(num_points),
        values=torch.zeros(columns, dtype=torch.float64),
        snapshots=torch.tensor(snapshots),
        num_channels=CHANNELS,
    ).with_mask(observed)


def test_every_channel_of_every_snapshot_is_seen_by_its_own_sensors():
    observed = random(POINTS, 3 * CHANNELS, seed=1) < 0
    observed[:, 1] = observed[:, 4]  # two columns with the same sensors
    observed[2:, 3] = False  # and one with too few
    masked, full = block([4, 0, 2], POINTS, observed), block([1, 3], 9)
    found = observabilities(network(), [masked, full])
    assert found.shape == (5, CHANNELS)
    for row, snapshot in enumerate([4, 0, 2]):
        for channel in range(CHANNELS):
            sensors = masked.coords[observed[:, row * CHANNELS + channel]]
            assert float(found[snapshot, channel]) == pytest.approx(literal(sensors), rel=1e-9)
    assert found[[1, 3]].flatten().tolist() == pytest.approx([literal(full.coords)] * 4, rel=1e-9)
