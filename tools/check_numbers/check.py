"""Pages against tables: which numbers are wrong, and which nobody can check."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from check_numbers.figures import Figure, as_quoted
from check_numbers.pages import Loose, Quoted, blocks_of_code, numbers, without_code
from check_numbers.sources import Rows, SourceError, Sources, is_source

RESULTS = Path("experiments/results")
# Written by `smore reproduce page`; a test writes it anew and compares.
GENERATED = Path("docs/reproduction.md")

# Behind a number: `not measured: REASON`. For a whole page: `not measured, REASON: 64 x 64; 4 GB`.
NOT_MEASURED = re.compile(r"not measured(?P<page>, [^:]+)?:\s*(?P<rest>.+)", re.DOTALL)
# Above a block of code, where a comment would be seen: `below: 4.69 FILE ...; 1.17 FILE ...`.
BELOW = re.compile(r"below:\s*(?P<rest>.+)", re.DOTALL)


@dataclass(frozen=True)
class Problem:
    """What is wrong with one number."""

    line: int
    what: str


def check_repository(root: Path) -> tuple[dict[Path, list[Problem]], int]:
    """Problems of README and docs by page, and how many figures were compared."""
    sources, found, compared = Sources(root / RESULTS), {}, 0
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    for page in pages:
        if page.relative_to(root) == GENERATED:
            continue
        problems, count = check_page(page.read_text(encoding="utf-8"), sources)
        found[page.relative_to(root)] = problems
        compared += count
    return found, compared


def check_page(text: str, sources: Sources) -> tuple[list[Problem], int]:
    """Problems of one page, and how many of its figures were compared with a cell."""
    prose = without_code(text)
    every = list(numbers(prose))
    comments = [each for each in every if isinstance(each, Loose)]
    quoted = [each for each in every if isinstance(each, Quoted)]
    given, problems = _given(prose, comments)
    for each in quoted:
        if each.note is None and not any(start <= each.start < end for start, end in given):
            problems.append(Problem(each.line, _unsourced(each)))
    sourced = [each for each in quoted if each.note and not NOT_MEASURED.fullmatch(each.note)]
    shown, missing = _shown(text, comments)
    problems += missing + _compare_all([*sourced, *shown], sources)
    return sorted(problems, key=lambda problem: problem.line), len(sourced) + len(shown)


def _compare_all(quoted: list[Quoted], sources: Sources) -> list[Problem]:
    """What is wrong with figures that have a source; `same` reaches back within a block."""
    problems, block, rows = list[Problem](), -1, None
    for each in quoted:
        rows, problem = _compare(each, sources, rows if each.block == block else None)
        block = each.block
        problems += [Problem(each.line, problem)] if problem else []
    return problems


def _compare(each: Quoted, sources: Sources, same: Rows | None) -> tuple[Rows | None, str]:
    """The rows that a figure's source names, and what is wrong with the figure, "" if nothing."""
    if each.figure is None or each.note is None:
        return same, f"{each.text!r}: write a number that has a source in digits"
    try:
        value, rows = sources.value(each.note, same)
    except SourceError as error:
        return same, f"{each.text}: {error}"
    except ZeroDivisionError:
        return same, f"{each.text}: {each.note} divides by zero"
    if each.figure.agrees(value):
        return rows, ""
    return rows, f"{each.text} is quoted, {each.note} is {as_quoted(each.figure, value)}"


def _shown(text: str, comments: list[Loose]) -> tuple[list[Quoted], list[Problem]]:
    """Figures in blocks of code that a comment above gives sources for; what is not there."""
    blocks, shown, missing = sorted(blocks_of_code(text)), list[Quoted](), list[Problem]()
    for comment in comments:
        declared = BELOW.fullmatch(comment.note)
        code = next((code for line, code in blocks if line > comment.line), "")
        for entry in re.split(r";\s+", declared["rest"]) if declared else ():
            digits, _, source = entry.partition(" ")
            if _occurrences(digits, code):
                figure = Figure(
                    digits.rstrip("%x"), "%" if digits.endswith("%") else "", comment.line
                )
                shown.append(Quoted(figure, digits, 0, comment.line, source, -comment.line))
            else:
                what = f"{digits} is not in the block of code below"
                missing.append(Problem(comment.line, what))
    return shown, missing


def _unsourced(each: Quoted) -> str:
    return (
        f"{each.text!r} has no source: put <!-- FILE COLUMN=VALUE COLUMN --> right behind it, or "
        "<!-- not measured: REASON --> if no run of ours gave it"
    )


def _given(prose: str, comments: list[Loose]) -> tuple[list[tuple[int, int]], list[Problem]]:
    """Where phrases are that the page declares not to be measured; what is wrong with these."""
    spans, problems = list[tuple[int, int]](), list[Problem]()
    outside = re.sub(r"<!--.*?-->", lambda match: " " * len(match[0]), prose, flags=re.DOTALL)
    for comment in comments:
        declared = NOT_MEASURED.fullmatch(comment.note)
        if declared and declared["page"]:
            for phrase in re.split(r";\s+", declared["rest"]):
                found = _occurrences(phrase, outside)
                spans += found
                if not found or not re.search(r"[A-Za-z%^\[=]", phrase):
                    why = "is a bare number" if found else "is not on this page"
                    problems.append(Problem(comment.line, f"{phrase!r}, not measured, {why}"))
        elif declared or is_source(comment.note):
            what = f"<!-- {comment.note} --> is not right behind a number"
            problems.append(Problem(comment.line, what))
    return spans, problems


def _occurrences(phrase: str, text: str) -> list[tuple[int, int]]:
    """Where `phrase` is, also across the end of a line, but not as part of a longer number."""
    words = r"\s+".join(map(re.escape, phrase.split()))
    return [match.span() for match in re.finditer(rf"(?<![\w.,]){words}(?!\w|[.,]\d)", text)]
