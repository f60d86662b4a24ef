"""A column store gives back what was written, however it was written."""

import shutil

import numpy as np
import pytest

from smore.data.fields import column_store
from smore.data.fields.column_store import ColumnStore, tile_size
from smore.errors import DataError


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(7, 103)).astype("f4")


def read(store: ColumnStore, columns: list[int]) -> np.ndarray:
    index = np.array(columns)
    return np.concatenate([store.read(tile, index) for tile in range(store.num_tiles)], axis=1)


@pytest.mark.parametrize("tile", [1, 8, 103, 256])
@pytest.mark.parametrize("piece", [(7, 103), (1, 103), (7, 10), (3, 41), (2, 8)])
def test_pieces_of_any_shape_in_any_order(values, tile, piece, tmp_path):
    store = ColumnStore(103, 7, tmp_path, tile)
    corners = [(c, p) for c in range(0, 7, piece[0]) for p in range(0, 103, piece[1])]
    for column, point in np.random.default_rng(1).permutation(corners):
        part = values[column : column + piece[0], point : point + piece[1]]
        store.write(int(column), int(point), part)
    np.testing.assert_array_equal(read(store, list(range(7))), values)


@pytest.mark.parametrize("columns", [[0], [6, 0, 1], [2, 3, 4], [5, 5], []])
def test_some_columns(values, columns, tmp_path):
    store = ColumnStore(103, 7, tmp_path, 16)
    store.write(0, 0, values)
    np.testing.assert_array_equal(read(store, columns), values[columns])


def test_nothing_is_left_in_the_folder(values, tmp_path):
    store = ColumnStore(103, 7, tmp_path)
    store.write(0, 0, values)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("", (), {"free": 1000}))
    message = r"a scratch file .* takes 2.9KB, and .* has 1.0KB free; make room, or set SMORE_CACHE"
    with pytest.raises(DataError, match=message):
        ColumnStore(103, 7, tmp_path)


def test_the_cache_is_the_default_place(tmp_path, monkeypatch):
    monkeypatch.setenv("SMORE_CACHE", str(tmp_path))
    assert ColumnStore(3, 1).folder == tmp_path / "scratch"


@pytest.mark.parametrize("num_columns", [1, 30, 640, 10240, 10**6])
def test_tiles_are_powers_of_two_of_a_few_megabytes(num_columns):
    size = tile_size(num_columns)
    assert size & (size - 1) == 0
    if size > 2**8:
        assert 4 * num_columns * size <= column_store.TILE_BYTES
