"""Chunks stay within their bound, and a fit that cannot fit is refused with what would."""

import types

import pytest
import torch

from smore import SMORE
from smore.data import Block
from smore.decoder.residual import backpropagate_residual
from smore.errors import DataError
from smore.settings import Settings
from smore.surrogate.networks import build_network
from smore.training import memory
from smore.training.memory import bytes_per_point, choose_chunk_size, require_memory
from smore_paper.measuring.fresh_process import alone, memory_rise
from waves import NUM_MODES, trajectories

LARGE = Settings.of(latent_dim=64, hidden_dim=160, num_hidden=4)


def test_all_points_at_once_where_they_fit():
    assert choose_chunk_size(LARGE, 4096, 5120) is None
    assert choose_chunk_size(LARGE, 10**7, 100) < 10**7


@pytest.mark.parametrize("allowed", ["100MB", "1GB", "10GB"])
def test_chunks_take_half_of_the_memory_allowed(allowed):
    settings = LARGE.replace(memory=allowed)
    size = choose_chunk_size(settings, 10**9, 1000)
    taken = size * bytes_per_point(settings, 1000)
    assert 0.45 * settings.memory < taken <= 0.5 * settings.memory


def test_a_given_chunk_size_stands():
    assert choose_chunk_size(LARGE.replace(chunk_size=64, memory="1GB"), 10**7, 1000) == 64


def test_very_little_memory_still_makes_headway():
    assert choose_chunk_size(LARGE.replace(memory="1MB"), 10**7, 10**4) == memory.LEAST_CHUNK


def _rise(num_points: int, num_columns: int) -> int:
    settings = Settings.of(latent_dim=64, hidden_dim=160, num_hidden=4)
    decoder = build_network(settings, 2)
    block = Block(
        torch.rand(num_points, 2),
        torch.ones(num_points),
        torch.zeros(num_points, num_columns),
        torch.arange(num_columns),
        1,
    )
    codes, scale = torch.zeros(num_columns, 64), torch.ones(num_columns)
    small = block.at(slice(8))
    backpropagate_residual(decoder.basis(small.coords), small, codes, scale)
    _, rise = memory_rise(
        lambda: backpropagate_residual(decoder.basis(block.coords), block, codes, scale)
    )
    return rise


@pytest.mark.parametrize("num_columns", [1, 2000])
def test_the_estimate_is_not_far_from_what_a_chunk_takes(num_columns):
    measured = alone(_rise, 8192, num_columns, threads=1)
    estimate = 8192 * bytes_per_point(LARGE, num_columns)
    assert 0.5 * measured < estimate < 4 * measured


def test_a_fit_that_does_not_fit_is_refused_with_what_would(monkeypatch):
    def free(amount):
        found = types.SimpleNamespace(available=amount)
        monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: found)

    free(3 * 10**9)
    require_memory(LARGE, 4096, 1000)
    with pytest.raises(DataError, match=r"chunk_size=\d+") as raised:
        require_memory(LARGE, 10**5, 1000)
    chunk = int(str(raised.value).rsplit("chunk_size=", 1)[1].split()[0])
    require_memory(LARGE.replace(chunk_size=chunk), 10**5, 1000)
    with pytest.raises(DataError, match="NetCDF or Zarr file to stream"):
        require_memory(LARGE, 10**6, 1000)


def test_a_bound_on_memory_changes_nothing_but_round_off():
    settings = {"latent_dim": NUM_MODES, "hidden_dim": 12, "num_hidden": 1, "decoder_steps": 30}
    data, test = trajectories(6, 5, num_points=200), trajectories(2, 5, num_points=200, seed=1)
    whole = SMORE(**settings, device="cpu").fit(data, progress=False)
    bounded = SMORE(**settings, device="cpu", memory="100kB").fit(data, progress=False)
    assert bounded.surrogate_.description.settings.chunk_size == memory.LEAST_CHUNK
    errors = [model.evaluate(test).full_mse for model in (whole, bounded)]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)
