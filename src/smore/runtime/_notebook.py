"""A line of text below the cell of a notebook that runs, rewritten as often as one likes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def notebook_line() -> Callable[[str], None] | None:
    """What rewrites the line; None outside of notebooks.

    It takes nothing but IPython, which is there if this is a notebook: widgets may not be.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # a terminal, which has better lines
        return None
    handle = ipython.display.display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
