"""Several processes that share the points of one training.

Everything a training asks of the data is a sum over points: losses, Gram matrices, right-hand
sides, gradients of the decoder's parameters. So each process holds a share of the points, does what
it would do alone, and such sums are added up over all of them. They are small, whatever the number
of points. Whatever is made of a sum is then the same in every process, to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from smore.errors import ProcessLostError

# A process that is silent for so long is taken for lost.
TIMEOUT = timedelta(minutes=10)
PARTS = 12  # of all points: a multiple of one to four


class Team:
    """The processes of a training, and this one's place among them.

    Args:
        rank: number of this process, counted from 0.
        size: how many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def leads(self) -> bool:
        """Whether this process is the one that speaks and writes."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """This process's part of `count` things in a row."""
        ends = [count * number // self.size for number in (self.rank, self.rank + 1)]
        return slice(*ends)

    def parts(self, count: int) -> list[slice]:
        """Parts of `share(count)`, counted from its start; none is empty.

        Their borders are the same for one, two, three and four processes. So a sum over parts, in
        double precision, has the same summands in all of them.
        """
        each = -(-PARTS // self.size)
        numbers = range(self.rank * each, (self.rank + 1) * each + 1)
        borders = [count * number // (each * self.size) for number in numbers]
        return [
            slice(start - borders[0], stop - borders[0])
            for start, stop in pairwise(borders)
            if start < stop
        ]

    def add_up(self, *tensors: Tensor) -> None:
        """Replace each tensor by its sum over all processes, in place.

        Raises:
            ProcessLostError: another process is gone or silent.
        """
        if self.size == 1:
            return
        # In the order of the arguments, which is the same in every process.
        for kind in dict.fromkeys((tensor.dtype, tensor.device) for tensor in tensors):
            self._add_up_alike([each for each in tensors if (each.dtype, each.device) == kind])

    def _add_up_alike(self, tensors: list[Tensor]) -> None:
        """In one message: each costs time, however small."""
        message = torch.cat([tensor.detach().flatten() for tensor in tensors])
        try:
            dist.all_reduce(message)
        except RuntimeError as error:
            raise ProcessLostError(self.rank, self.size, str(error).splitlines()[0]) from error
        parts = message.split([tensor.numel() for tensor in tensors])
        with torch.no_grad():
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))

    def total(self, value: float) -> float:
        """The sum of a number over all processes."""
        if self.size == 1:
            return value
        number = torch.tensor([value], dtype=torch.float64)
        self.add_up(number)
        return float(number)

    def any(self, flag: bool) -> bool:
        """Whether `flag` is set in some process."""
        return self.total(float(flag)) > 0

    def gather(self, part: Tensor) -> Tensor:
        """The parts (n, ...) of all processes one after the other, in the order of their ranks."""
        if self.size == 1:
            return part
        lengths = torch.zeros(self.size, dtype=torch.int64)
        lengths[self.rank] = len(part)
        self.add_up(lengths)
        whole = part.new_zeros(int(lengths.sum()), *part.shape[1:])
        start = int(lengths[: self.rank].sum())
        whole[start : start + len(part)] = part
        self.add_up(whole)
        return whole


ALONE = Team()


def is_launched() -> bool:
    """Whether this process was started as one of several, by torchrun for instance."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_leader() -> bool:
    """Whether this process speaks and writes for all that were launched with it."""
    return int(os.environ.get("RANK", "0")) == 0


@contextmanager
def team(device: torch.device) -> Iterator[Team]:
    """The team of this process while this lasts: all that were launched with it, or itself alone.

    Processes are launched by `torchrun`, whose environment says who they are. A process group that
    the user has made is used as it is.
    """
    if dist.is_initialized():
        yield Team(dist.get_rank(), dist.get_world_size())
        return
    if not is_launched():
        yield ALONE
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    # Matrices that are solved with are in double precision on the CPU, wherever the decoder is.
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=TIMEOUT)
    try:
        yield Team(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


class Shared(Protocol):
    """Something whose points a team shares."""

    @property
    def team(self) -> Team: ...


def common_team(blocks: Iterable[Shared]) -> Team:
    """The team of all of these."""
    found = {id(block.team): block.team for block in blocks}
    assert len(found) == 1, "blocks of one problem belong to one team"
    return next(iter(found.values()))
