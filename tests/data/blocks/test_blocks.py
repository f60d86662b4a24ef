"""Blocks hold every observed value once, at its place, for its snapshot."""

import numpy as np
import pytest
import torch

from smore.data import Block, Normalization, Trajectories, fit_coordinate_map, make_blocks
from smore.decoder import FilterNetwork
from smore.decoder.residual import accumulate_reconstruction, squared_errors

CHANNELS = 2


def trajectories(kind: str) -> Trajectories:
    """Sequences on the same points, on points of their own, or on selections of common points."""
    rng = np.random.default_rng(0)
    every = rng.uniform(size=(20, 2))
    lengths = [3, 2, 4, 2]
    if kind in ("shared", "masked", "land"):
        coords = [every] * 4
    elif kind == "own points":
        coords = [rng.uniform(size=(8 + number, 2)) for number in range(4)]
    elif kind == "some shared":
        coords = [every, every[:7] + 0.5, every, every[:7] + 0.5]
    elif kind == "repeated points":  # two sensors in one place
        coords = [every[[*range(12), 3, 3]], every[4:18], every, every[[5, *range(14)]]]
    else:
        coords = [every[rng.permutation(20)[:14]] for _ in range(4)]
    fields = [
        rng.normal(300.0, 5.0, size=(length, CHANNELS, len(points)))
        for length, points in zip(lengths, coords, strict=True)
    ]
    if kind == "land":
        for values in fields:
            values[..., ::3] = np.nan
    if kind == "masked":
        for values in fields:
            values[rng.uniform(size=values.shape) < 0.4] = np.nan
    times = [np.arange(float(length)) for length in lengths]
    return Trajectories.from_arrays(fields, coords, times, missing="mask")


KINDS = ["shared", "masked", "land", "own points", "some shared", "selections", "repeated points"]


def blocks_of(data: Trajectories) -> list[Block]:
    return make_blocks(data, Normalization.fit(data), fit_coordinate_map(data), dtype=torch.float64)


def values_in_blocks(blocks: list[Block]) -> dict[tuple[int, int], list[tuple]]:
    """(snapshot, channel) -> sorted (coordinates, value) of what was observed."""
    found: dict[tuple[int, int], list[tuple]] = {}
    for block in blocks:
        for column in range(block.values.shape[1]):
            snapshot = int(block.snapshots[column // block.num_channels])
            entries = found.setdefault((snapshot, column % block.num_channels), [])
            for point in range(block.num_points):
                if block.observed is None or block.observed[point, column]:
                    where = tuple(block.coords[point].tolist())
                    entries.append((*where, float(block.values[point, column])))
    return {key: sorted(entries) for key, entries in found.items() if entries}


def values_in_data(data: Trajectories) -> dict[tuple[int, int], list[tuple]]:
    normalization, coordinate_map = Normalization.fit(data), fit_coordinate_map(data)
    found: dict[tuple[int, int], list[tuple]] = {}
    snapshot = 0
    for sequence in data:
        coords = coordinate_map(sequence.mesh.coords)
        for time in range(sequence.num_snapshots):
            for channel in range(CHANNELS):
                shift, scale = normalization.shift[channel], normalization.scale[channel]
                found[snapshot, channel] = sorted(
                    (*coords[point].tolist(), (value - shift) / scale)
                    for point, value in enumerate(sequence.fields[time, channel].tolist())
                    if sequence.observed is None or sequence.observed[time, channel, point]
                )
            snapshot += 1
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_observed_value_is_there_once(kind: str) -> None:
    data = trajectories(kind)
    found, expected = values_in_blocks(blocks_of(data)), values_in_data(data)
    assert found.keys() == expected.keys()
    for key, entries in expected.items():
        assert len(found[key]) == len(entries)
        np.testing.assert_allclose(found[key], entries, rtol=1e-12, atol=1e-12)


def test_a_shared_mesh_is_one_block() -> None:
    (block,) = blocks_of(trajectories("shared"))
    assert block.observed is None
    assert block.snapshots.tolist() == list(range(11))


@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_blocks_are_sums_over_values(kind: str) -> None:
    """Squared errors and their number, one decoded value at a time."""
    data = trajectories(kind)
    generator = torch.Generator().manual_seed(0)
    decoder = FilterNetwork(2, 3, 8, 1, generator=generator).double()
    latents = torch.randn(11, CHANNELS, 3, generator=generator).double()
    squared, count = squared_errors(decoder, blocks_of(data), latents)
    for (snapshot, channel), entries in values_in_data(data).items():
        table = torch.tensor(entries, dtype=torch.float64)
        decoded = decoder.basis(table[:, :2]).decode(latents[snapshot, channel]).detach()
        expected = (decoded - table[:, 2]).square().sum()
        torch.testing.assert_close(squared[snapshot, channel], expected)
        assert count[snapshot, channel] == len(entries)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_do_not_depend_on_how_values_are_blocked(kind: str) -> None:
    """All sequences together, or each in blocks of its own."""
    data = trajectories(kind)
    normalization, coordinate_map = Normalization.fit(data), fit_coordinate_map(data)
    generator = torch.Generator().manual_seed(1)
    decoder = FilterNetwork(2, 3, 8, 1, generator=generator).double()
    latents = torch.randn(11, CHANNELS, 3, generator=generator).double()
    weights = torch.rand(11, generator=generator).double()

    together, gradient = accumulate_reconstruction(decoder, blocks_of(data), latents, weights)
    decoder_gradient = [parameter.grad.clone() for parameter in decoder.parameters()]
    decoder.zero_grad()
    apart, start = 0.0, 0
    for number, sequence in enumerate(data):
        rows = slice(start, start + sequence.num_snapshots)
        blocks = make_blocks(
            data.select([number]), normalization, coordinate_map, dtype=torch.float64
        )
        loss, part = accumulate_reconstruction(decoder, blocks, latents[rows], weights[rows])
        torch.testing.assert_close(gradient[rows], part)
        apart, start = apart + loss, rows.stop
    assert together == pytest.approx(apart)
    for ours, parameter in zip(decoder_gradient, decoder.parameters(), strict=True):
        torch.testing.assert_close(ours, parameter.grad)


@pytest.mark.parametrize("kind", ["shared", "masked"])
@pytest.mark.parametrize("size", [1, 3, 19, 20, 50, None])
def test_chunks_are_the_block_in_pieces(kind: str, size: int | None) -> None:
    (block,) = blocks_of(trajectories(kind))
    chunks = list(block.chunks(size))
    assert all(chunk.num_points <= (size or 20) for chunk in chunks)
    for name in ("coords", "weights", "values", "observed"):
        if getattr(block, name) is not None:
            joined = torch.cat([getattr(chunk, name) for chunk in chunks])
            assert torch.equal(joined, getattr(block, name))
    for chunk in chunks:
        assert torch.equal(chunk.snapshots, block.snapshots)


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_the_rows_of_a_blocks_columns(kind: str) -> None:
    latents = torch.randn(11, CHANNELS, 3)
    for block in blocks_of(trajectories(kind)):
        codes = block.codes(latents)
        for column, code in enumerate(codes):
            snapshot = block.snapshots[column // CHANNELS]
            assert torch.equal(code, latents[snapshot, column % CHANNELS])


def test_data_are_left_as_they_are() -> None:
    data = trajectories("selections")
    before = [sequence.fields.copy() for sequence in data]
    for block in blocks_of(data):
        block.values.zero_()
    for sequence, fields in zip(data, before, strict=True):
        np.testing.assert_array_equal(sequence.fields, fields)


def test_points_that_nobody_observed_are_left_out() -> None:
    (block,) = blocks_of(trajectories("land"))
    assert block.observed is None
    assert block.num_points == 13


def test_columns_share_a_pattern_exactly_when_they_share_a_mask() -> None:
    (block,) = blocks_of(trajectories("selections"))
    assert block.observed is not None
    assert block.patterns is not None
    assert set(block.patterns.tolist()) == {0, 1, 2, 3}  # four sequences, four selections
    for first, one in enumerate(block.observed.T):
        for second, other in enumerate(block.observed.T):
            alike = bool(block.patterns[first] == block.patterns[second])
            assert alike == torch.equal(one, other)
