"""Moments and checksums of columns do not depend on how these come."""

import numpy as np
import pytest

from smore.data.fields._column_sums import ColumnSums, checksums, field_checksums, point_keys


def sums_of(values: np.ndarray, pieces: list[tuple[int, int, int, int]]) -> ColumnSums:
    sums = ColumnSums(len(values))
    for column, last, start, stop in pieces:
        sums.add(column, values[column:last, start:stop], point_keys(np.arange(start, stop)))
    return sums


PIECES = {
    "at once": [(0, 4, 0, 90)],
    "by points": [(0, 4, 60, 90), (0, 4, 0, 1), (0, 4, 1, 60)],
    "by columns": [(2, 4, 0, 90), (0, 1, 0, 90), (1, 2, 30, 90), (1, 2, 0, 30)],
}


@pytest.mark.parametrize("pieces", PIECES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_moments_are_those_of_numpy(pieces, dtype):
    values = (1e3 + np.random.default_rng(0).normal(size=(4, 90))).astype(dtype)
    sums = sums_of(values, PIECES[pieces])
    exact = values.astype("f8")
    np.testing.assert_allclose(sums.mean, exact.mean(1), rtol=1e-14)
    np.testing.assert_allclose(sums.squares, 90 * exact.var(1), rtol=1e-9)
    np.testing.assert_array_equal(sums.count, 90)


@pytest.mark.parametrize("pieces", PIECES)
def test_checksums_do_not_depend_on_the_pieces(pieces):
    values = np.random.default_rng(0).normal(size=(4, 90)).astype("f4")
    expected = field_checksums(values[:, None])[:, 0]
    np.testing.assert_array_equal(sums_of(values, PIECES[pieces]).checksum, expected)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_any_change_changes_the_checksum(dtype):
    values = np.random.default_rng(0).normal(size=500).astype(dtype)
    keys = point_keys(np.arange(500))
    seen = {int(checksums(values, keys))}
    for point in range(500):
        changed = values.copy()
        changed[point] = np.nextafter(changed[point], np.inf)
        seen.add(int(checksums(changed, keys)))
    for point in range(499):
        swapped = values.copy()
        swapped[[point, point + 1]] = swapped[[point + 1, point]]
        seen.add(int(checksums(swapped, keys)))
    assert len(seen) == 1000


def test_keys_are_odd_and_differ():
    keys = point_keys(np.arange(10**5))
    assert (keys % 2 == 1).all()
    assert len(np.unique(keys)) == 10**5
