"""Measurements in a process of their own, whose memory is theirs alone."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

import psutil
import torch

Result = TypeVar("Result")


def alone(
    function: Callable[..., Result], *arguments: object, threads: int | None = None
) -> Result:
    """Call `function` in a fresh process, with as many torch threads as here unless told."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        number = threads or torch.get_num_threads()
        return pool.submit(_with_threads, number, function, arguments).result()


def _with_threads(
    num_threads: int, function: Callable[..., Result], arguments: tuple[object, ...]
) -> Result:
    torch.set_num_threads(num_threads)
    return function(*arguments)


def peak_bytes() -> int:
    """Largest resident memory of this process, since it began or since `reset_peak`."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 2**10
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 2**10


def reset_peak() -> None:
    """Let `peak_bytes` count from now on, where the system can (Linux)."""
    control = Path("/proc/self/clear_refs")
    if control.exists():
        control.write_text("5")


def memory_rise(work: Callable[[], Result]) -> tuple[Result, int]:
    """What `work` returns, and how many bytes resident memory rose above what it was meanwhile."""
    reset_peak()
    before = psutil.Process().memory_info().rss
    result = work()
    return result, max(peak_bytes() - before, 0)
