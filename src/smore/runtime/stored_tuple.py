"""A tuple in the text of a file, refused at its first fault however many it has.

A file may be forged. Without this every wrong entry would be noted, at a thousand bytes each.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import FailFast

Item = TypeVar("Item")
StoredTuple = Annotated[tuple[Item, ...], FailFast()]
