"""The numbers of a Markdown page, with the comments right behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from check_numbers.figures import Figure

NUMBER = r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
UNIT = (
    r"\s?%|\s(?:times|fold|percent|kB|MB|GB|KiB|MiB|GiB|ms|s|min|h|seconds?|minutes?|hours?)(?!\w)|"
    r"x(?!\w)|-fold"
)
# Numbers in words are noticed where they count something that is measured.
WORDS = (
    "half a|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|"
    "thirty|forty|fifty|sixty|hundred|thousand|tens|dozens|hundreds|thousands"
)
COUNTED = "times|percent|seconds|minutes?|hours?|epochs|[MG]i?B"
SPELLED = rf"(?<!\w)(?:{WORDS})(?:-\w+)?(?: of)?\s(?:{COUNTED})(?!\w)"
TOKEN = re.compile(
    r"<!--(?P<loose>.*?)-->|"
    rf"(?:(?P<spelled>{SPELLED})|(?P<digits>{NUMBER})(?P<unit>{UNIT})?)"
    r"(?:\*{0,2}<!--(?P<note>.*?)-->)?",
    re.DOTALL,
)

# A number that only says which: "Theorem 3", "§5.1", "Python 3.11", "at p = 50".
LABEL = re.compile(
    r"(?:Algorithm|Theorem|Lemma|Corollary|Assumption|Python|[Cc]ode|[Ss]ections?|[Aa]ppendix|"
    r"[Tt]able|[Ff]igure|[Ee]quations?|[Ee]qs?\.|item|version|p =)\s$|§$"
)

FENCE = re.compile(r"^(\s*)(```+|~~~+).*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)(?:(?: {4}|\t)(?!\s*(?:[-*]|\d+\.)\s).*\n)+")
INLINE_CODE = re.compile(r"(`+)[^`].*?\1", re.DOTALL)
BLOCK_START = re.compile(r"\n\s*\n|\n(?=\|)")
LINK_TARGET = re.compile(r"\]\([^)]*\)|https?://\S+")


@dataclass(frozen=True)
class Quoted:
    """A number and what stands behind it.

    Args:
        figure: the number; None if it is in words.
        text: as the page has it, with its unit.
        start, line: where.
        note: the comment right behind it, None if there is none.
        block: number of the paragraph, or row of a table, that it is in.
    """

    figure: Figure | None
    text: str
    start: int
    line: int
    note: str | None
    block: int


@dataclass(frozen=True)
class Loose:
    """A comment that is not right behind a number."""

    note: str
    line: int


def numbers(prose: str) -> Iterator[Quoted | Loose]:
    """All numbers and all other comments of a page, in order.

    Args:
        prose: the page without code, see `without_code`.
    """
    for match in TOKEN.finditer(prose):
        start, line = match.start(), prose.count("\n", 0, match.start()) + 1
        if match["loose"] is not None:
            yield Loose(match["loose"].strip(), line)
            continue
        note = None if match["note"] is None else match["note"].strip()
        figure, text = None, match["spelled"]
        if match["digits"]:
            figure = Figure(match["digits"], (match["unit"] or "").strip(), line)
            text = match["digits"] + (match["unit"] or "")
        if figure and note is None and (figure.is_a_count or LABEL.search(prose[:start])):
            continue
        block = len(BLOCK_START.findall(prose, 0, start))
        yield Quoted(figure, text, start, line, note, block)


def blocks_of_code(text: str) -> Iterator[tuple[int, str]]:
    """The blocks of code of a page: the line that each begins in, and its text."""
    for pattern in (FENCE, INDENTED):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def without_code(text: str) -> str:
    """The page with code and addresses blanked out, every other character where it was."""
    for pattern in (FENCE, INDENTED, INLINE_CODE, LINK_TARGET):
        text = pattern.sub(lambda match: re.sub(r"\S", " ", match[0]), text)
    return text
