"""The elements of an XML file and where their texts are; texts stay in the file.

Entities are refused where they are declared, so none is ever expanded, and nothing outside the file
is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from smore.errors import DataError

MOST_ELEMENTS = 2**20
DEEPEST = 64
PIECE = 2**20
LONGEST_TAG = 2**20


@dataclass(eq=False)
class Element:
    """A tag, its attributes, and the bytes between it and its end tag."""

    tag: str
    attributes: dict[str, str]
    start: int
    stop: int = -1
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The children of that name."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element:
        """The only child of that name.

        Raises:
            DataError: there are none, or several.
        """
        found = self.all(tag)
        if len(found) != 1:
            raise DataError(f"expected one <{tag}> in <{self.tag}>, got {len(found)}")
        return found[0]

    def first(self, tag: str) -> Element | None:
        """The first child of that name, if there is one."""
        return next(iter(self.all(tag)), None)

    def everywhere(self) -> Iterator[Element]:
        """This and all that is in it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.everywhere()

    def number(self, name: str, default: int | None = None) -> int:
        """An attribute that is a count."""
        text = self.attributes.get(name)
        if text is None and default is not None:
            return default
        if text is None or not text.strip().isdigit() or len(text) > 18:
            raise DataError(f"expected a count {name}= in <{self.tag}>, got {str(text)[:40]!r}")
        return int(text)


class _EnoughError(Exception):
    """The rest of the file is no XML."""


def read_elements(path: Path, stop_at: str | None = None) -> Element:
    """The root of an XML file.

    Args:
        path: the file.
        stop_at: a tag behind which the file holds bytes that are no XML.

    Raises:
        DataError: entities, too many elements, or no XML.
    """
    parser = expat.ParserCreate()
    roots: list[Element] = []
    open_tags: list[Element] = []
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS or len(open_tags) >= DEEPEST:
            raise DataError(f"expected at most {MOST_ELEMENTS} elements, nested {DEEPEST} deep")
        element = Element(tag, attributes, parser.CurrentByteIndex)
        (open_tags[-1].children if open_tags else roots).append(element)
        open_tags.append(element)
        if tag == stop_at:
            raise _EnoughError

    def end(_tag: str) -> None:
        open_tags.pop().stop = parser.CurrentByteIndex

    def refuse(name: str, *_: Any) -> None:
        raise DataError(f"entities are not expanded, the file declares '{name[:40]}'; remove it")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.EntityDeclHandler = refuse
    with path.open("rb") as file:
        try:
            while piece := file.read(PIECE):
                parser.Parse(piece, False)
            parser.Parse(b"", True)
        except _EnoughError:
            pass
        except expat.ExpatError as error:
            raise DataError(f"expected XML, got something else: {error}") from None
    return roots[0]


def text_range(file: BinaryIO, element: Element) -> tuple[int, int]:
    """Where the text of an element begins and ends; the longest part between its children."""
    starts = [_behind(file, element.start), *(_behind(file, c.stop) for c in element.children)]
    stops = [*(child.start for child in element.children), max(element.stop, starts[-1])]
    return max(zip(starts, stops, strict=True), key=lambda part: part[1] - part[0])


def _behind(file: BinaryIO, place: int) -> int:
    """Where a tag that begins at `place` ends."""
    file.seek(place)
    quote = 0
    for number, letter in enumerate(file.read(LONGEST_TAG)):
        if quote:
            quote = 0 if letter == quote else quote
        elif letter in b"\"'":
            quote = letter
        elif letter == ord(">"):
            return place + number + 1
    raise DataError(f"expected a tag to end within {LONGEST_TAG} bytes")


def text_of(path: Path, element: Element, most: int | None = None) -> bytes:
    """The text of an element.

    Raises:
        DataError: it is longer than `most`.
    """
    with path.open("rb") as file:
        start, stop = text_range(file, element)
        if most is not None and stop - start > most:
            raise DataError(f"expected at most {most} bytes in <{element.tag}>, got {stop - start}")
        file.seek(start)
        return file.read(stop - start)
