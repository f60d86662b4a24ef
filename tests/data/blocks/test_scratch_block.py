"""A stored block is the block in memory, read a chunk at a time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from smore.data import Block, Normalization, StoredBlock, fit_coordinate_map, make_blocks, stored
from smore.data.blocks.scratch_block import DEFAULT_CHUNK
from smore.data.fields.column_store import ColumnStore
from streamed import both, flow

pytestmark = pytest.mark.usefixtures("small_tiles")


def blocks_of(tmp_path, land=False, dtype="f4", kind="standard"):
    data = flow(dtype)
    if land:
        data = data.where((data["x"] < 0.2) | (data["y"] > 0.7))
    memory, lazy = both(data, tmp_path, missing="mask" if land else "refuse")
    normalization, places = Normalization.fit(memory, kind), fit_coordinate_map(memory)
    assert fit_coordinate_map(lazy) == places
    (block,) = make_blocks(memory, normalization, places)
    (copy,) = make_blocks(stored(lazy), normalization, places)
    assert isinstance(block, Block)
    assert isinstance(copy, StoredBlock)
    return block, copy


def joined(chunks):
    chunks = list(chunks)
    return replace(
        chunks[0],
        **{
            name: torch.cat([getattr(chunk, name) for chunk in chunks])
            for name in ("coords", "weights", "values")
        },
    )


def assert_equal(one, other, tolerance=0.0):
    for name in ("coords", "weights", "values", "snapshots"):
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours, theirs, rtol=0, atol=tolerance)
    assert one.num_channels == other.num_channels


@pytest.mark.parametrize("land", [False, True])
@pytest.mark.parametrize("kind", ["standard", "none"])
@pytest.mark.parametrize("size", [1, 5, 16, 33, 1000, None])
def test_chunks_are_those_of_the_block(land, kind, size, tmp_path):
    block, copy = blocks_of(tmp_path, land, kind=kind)
    assert copy.num_points == block.num_points
    assert copy.num_columns == block.num_columns
    assert copy.num_values == block.num_values
    chunks = list(copy.chunks(size))
    assert max(chunk.num_points for chunk in chunks) <= (size or DEFAULT_CHUNK)
    assert_equal(joined(chunks), block)


def test_double_precision(tmp_path):
    block, copy = blocks_of(tmp_path, dtype="f8")
    assert_equal(joined(copy.chunks(16)), block, tolerance=1e-6)


def test_only_some_sequences(tmp_path):
    memory, lazy = both(flow(), tmp_path)
    normalization, places = Normalization.fit(memory), fit_coordinate_map(memory)
    copy = stored(lazy)
    for select in (lambda d: d.select([3, 1]), lambda d: d.leading(1), lambda d: d.cut(2)):
        (expected,) = make_blocks(select(memory), normalization, places)
        (found,) = make_blocks(select(copy), normalization, places)
        assert_equal(joined(found.chunks(20)), expected)


def test_points_in_any_order(tmp_path):
    block, copy = blocks_of(tmp_path)
    points = torch.randperm(126, generator=torch.Generator().manual_seed(0))[:50]
    assert_equal(copy.at(points), block.at(points))


def test_stacked_rows_are_those_of_the_block(tmp_path):
    block, copy = blocks_of(tmp_path)
    expected, found = block.stacked(), copy.stacked()
    assert found.num_points == expected.num_points == 2 * 126
    assert found.num_columns == expected.num_columns
    for size in (None, 7, 64):
        assert_equal(joined(found.chunks(size)), expected)
    points = torch.randperm(252, generator=torch.Generator().manual_seed(0))[:50]
    assert_equal(found.at(points), expected.at(points))


def test_another_store_on_the_same_points(tmp_path):
    _, copy = blocks_of(tmp_path)
    store = ColumnStore(126, 3, tmp_path, copy.store.tile)
    numbers = np.arange(3 * 126, dtype="f4").reshape(3, 126)
    store.write(0, 0, numbers)
    other = copy.on_store(store)
    assert torch.equal(joined(other.chunks(10)).coords, joined(copy.chunks(10)).coords)
    assert np.array_equal(joined(other.chunks(10)).values, numbers.T)


def test_another_store_on_stacked_rows(tmp_path):
    block, copy = blocks_of(tmp_path)
    store = ColumnStore(252, 3, tmp_path, copy.stacked().tile)
    numbers = np.arange(3 * 252, dtype="f4").reshape(3, 252)
    store.write(0, 0, numbers)
    found = joined(copy.stacked().on_store(store).chunks(10))
    assert torch.equal(found.coords, block.stacked().coords)
    assert np.array_equal(found.values, numbers.T)


def test_codes_are_those_of_the_block(tmp_path):
    block, copy = blocks_of(tmp_path)
    latents = torch.randn(24, 2, 3)
    assert torch.equal(copy.codes(latents), block.codes(latents))


def test_whoever_stops_early_can_start_again(tmp_path):
    block, copy = blocks_of(tmp_path)
    for _ in range(3):
        first = next(iter(copy.chunks(7)))
        assert torch.equal(first.values, block.values[:7])
    assert_equal(joined(copy.chunks(7)), block)
