"""Processes that are ended when they grow beyond their bound, and only then."""

import os
from pathlib import Path

import psutil
import pytest
import torch

from smore_paper.measuring.bounded_process import measured_within

GIGABYTE = 10**9


def hold(megabytes):
    """Take so much memory, and say what there was before."""
    before = psutil.Process().memory_info().rss
    block = bytearray(megabytes * 10**6)  # zeros that are written, so resident
    block[::4096] = b"\1" * len(block[::4096])
    return before, torch.get_num_threads(), os.getpid()


def fail():
    raise ValueError("something else")


def test_the_peak_is_that_of_the_process():
    measured = measured_within(GIGABYTE * 4, hold, 200)
    before, threads, process = measured.result
    assert process != os.getpid()
    assert threads == torch.get_num_threads()
    assert measured.peak - before == pytest.approx(200e6, rel=0.05)


def test_beyond_the_bound_it_is_ended(tmp_path: Path):
    before = measured_within(GIGABYTE * 4, hold, 1).result[0]
    assert measured_within(before + 10**8, hold, 300) is None
    assert measured_within(before + 10**8, hold, 30) is not None


def test_other_failures_are_not_taken_for_that(capfd):
    with pytest.raises(RuntimeError, match="fail failed with exit code 1"):
        measured_within(GIGABYTE * 4, fail)
    assert "something else" in capfd.readouterr().err
