"""Measurements in a process of their own that may not grow beyond a bound.

A watch inside the process looks at its resident memory every few milliseconds and ends it beyond
the bound, before the machine runs out. A limit on address space would not do: libraries reserve
gigabytes of it that are never used.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

import psutil
import torch

from smore_paper.measuring.fresh_process import peak_bytes

Result = TypeVar("Result")

BEYOND = 77  # exit code of a process that grew beyond its bound
EVERY_SECONDS = 0.005


@dataclass(frozen=True)
class Measured(Generic[Result]):
    """What a process returned, and the most memory that it held.

    Args:
        result: of the function that it called.
        peak: bytes of resident memory, libraries included.
    """

    result: Result
    peak: int


def measured_within(
    bound: int, function: Callable[..., Result], *arguments: object
) -> Measured[Result] | None:
    """Call `function` in a fresh process; None if that grew beyond `bound` bytes and was ended.

    Raises:
        RuntimeError: the process failed otherwise; what happened is on standard error.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    given = (sender, bound, torch.get_num_threads(), function, arguments)
    process = context.Process(target=_work, args=given)
    process.start()
    sender.close()  # so that only the process holds it, and its end is heard
    try:
        answer: Measured[Result] | None = receiver.recv()
    except EOFError:
        answer = None
    except BaseException:
        process.terminate()
        raise
    process.join()
    if answer is None and process.exitcode != BEYOND:
        raise RuntimeError(f"{function.__name__} failed with exit code {process.exitcode}")
    return answer


def _work(
    sender: Connection,
    bound: int,
    num_threads: int,
    function: Callable[..., Any],
    arguments: tuple[object, ...],
) -> None:
    torch.set_num_threads(num_threads)
    threading.Thread(target=_watch, args=(bound,), daemon=True).start()
    result = function(*arguments)
    if peak_bytes() > bound:  # for a moment, between two looks
        os._exit(BEYOND)
    sender.send(Measured(result, peak_bytes()))


def _watch(bound: int) -> None:
    process = psutil.Process()
    while process.memory_info().rss <= bound:
        time.sleep(EVERY_SECONDS)
    os._exit(BEYOND)
