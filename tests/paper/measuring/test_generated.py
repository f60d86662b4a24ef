"""Generated data: what is in the file is what is in memory, and the file does not stay."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from smore import Trajectories
from smore.errors import DataError
from smore_paper.measuring import generated
from smore_paper.measuring.generated import Generated, disk_bytes, generated_file

SMALL = Generated(grid=12, sequences=2, snapshots=5, seed=3)


def fields_of(trajectories):
    return np.stack([sequence.fields for sequence in trajectories])


def test_the_file_holds_the_same_as_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(generated, "CHUNK_BYTES", 5 * 12 * 4)  # five rows, the last chunk two
    expected = Trajectories.from_xarray(SMALL.dataset())
    with generated_file(SMALL, tmp_path) as path:
        for lazy in (False, True):
            found = Trajectories.open(path, lazy=lazy)
            assert np.array_equal(fields_of(found), fields_of(expected))
            assert np.array_equal(found.sequences[0].mesh.coords, expected.sequences[0].mesh.coords)
        assert SMALL.num_bytes <= disk_bytes(path) < SMALL.num_bytes + 20_000
    assert fields_of(expected).nbytes == SMALL.num_bytes


def test_fields_are_the_same_at_every_resolution():
    coarse, fine = (Generated(grid, 2, 3).dataset()["u"].values for grid in (8, 24))
    assert fine[..., ::3, ::3] == pytest.approx(coarse, abs=1e-5)
    assert np.abs(coarse[0] - coarse[1]).max() > 0.1  # sequences differ
    assert np.abs(np.diff(coarse, axis=1)).max() > 0.01  # and move


def test_fields_have_few_wavenumbers():
    spectrum = np.abs(np.fft.rfft2(Generated(32, 1, 1).dataset()["u"].values[0, 0]))
    beyond = spectrum.copy()
    beyond[np.ix_([*range(5), *range(-4, 0)], range(5))] = 0
    assert beyond.max() < 1e-5 * spectrum.max()


def test_the_file_is_gone_after_an_error(tmp_path):
    def fail():
        with generated_file(SMALL, tmp_path) as path:
            assert path.exists()
            raise ValueError("in the middle of it")

    with pytest.raises(ValueError, match="in the middle"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_room_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    free = 2 * SMALL.num_bytes - 1  # room for the data, and not for their copy
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with (
        pytest.raises(DataError, match=r"takes 11\.5KB, and .* has 11\.5KB free; .*--scratch"),
        generated_file(SMALL, tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
