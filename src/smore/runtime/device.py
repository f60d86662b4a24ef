"""Where tensors live and how many threads work on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

from smore.errors import SettingsError


def resolve_device(name: str) -> torch.device:
    """The device called `name`; "auto" takes CUDA, then MPS, then the CPU.

    Processes that were launched together by torchrun take a GPU each.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise SettingsError(f"device {name!r} is not available here: {reason}") from None
    return device


def set_threads(count: int) -> None:
    """Use `count` threads in this process.

    Two processes with as many threads each as there are cores slow each other down many times over:
    give each its share.
    """
    if count < 1:
        raise SettingsError(f"threads must be at least 1, got {count}")
    torch.set_num_threads(count)
    threadpool_limits(count)


@contextmanager
def one_thread() -> Iterator[int]:
    """Decompose matrices of a few hundred rows with one thread.

    Threads gain nothing there, and lose a hundred times where another process has the cores.
    Gives the number that there are otherwise, for work that can be shared out whole.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield before
    finally:
        torch.set_num_threads(before)
