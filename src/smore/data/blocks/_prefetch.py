"""Reading ahead: the next piece is made while the current one is worked on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def prefetched(
    function: Callable[[Argument], Result], arguments: Iterable[Argument]
) -> Iterator[Result]:
    """`map(function, arguments)`, with one call ahead, in a thread.

    What `function` raises comes out here, in its turn. Whoever stops early waits for no more than
    the call that is under way.
    """
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[Result] | None = None
        for argument in arguments:
            ahead = pool.submit(function, argument)
            if waiting is not None:
                yield waiting.result()
            waiting = ahead
        if waiting is not None:
            yield waiting.result()
