"""Test sessions share the machine with other workers: one thread each, in torch and in BLAS."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import torch  # noqa: E402

torch.set_num_threads(1)

from collections.abc import Iterator  # noqa: E402
from pathlib import Path  # noqa: E402

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# The same code passes or fails every time; `HYPOTHESIS_PROFILE=default` draws new examples.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture
def two_threads() -> Iterator[None]:
    """For what torch does wrong with several."""
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Scratch files with tiles of 16 points, and pieces of 2 kB: small data take many of them."""
    monkeypatch.setenv("SMORE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("smore.data.fields.column_store.TILE_RANGE", (16, 16))
    monkeypatch.setattr("smore.data.fields.file_fields.PIECE_BYTES", 2000)
