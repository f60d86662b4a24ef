"""Numbers as people read them, and tables of them for notebooks.

Whatever is told in a table is shown as text: a channel called <script> is a name like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def show(value: Any) -> str:
    """A number to three digits, a dash for nothing."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def span(values: Sequence[Any]) -> Any:
    """The value all have in common, or "lowest to highest"."""
    low, high = min(values), max(values)
    return low if low == high else f"{low} to {high}"


def told_instant(value: Any) -> str:
    """A time on one line, without the zeros of a full hour."""
    text = f"{value:.12g}" if isinstance(value, float) else str(value).replace(" ", "T")
    return text.removesuffix(".000000").removesuffix("T00:00:00")


def html_table(
    title: str,
    rows: Iterable[Sequence[Any]],
    columns: Sequence[str] = (),
    notes: Iterable[str] = (),
) -> str:
    """A table as HTML, in the colours of whoever shows it; nothing in it is taken for HTML.

    Args:
        title: above.
        rows: the first cell of each says what the others are.
        columns: above the rows.
        notes: sentences below.
    """
    head = "".join(_cell("th", column, number) for number, column in enumerate(columns))
    body = "".join(
        f"<tr>{''.join(_cell('td', value, number) for number, value in enumerate(row))}</tr>"
        for row in rows
    )
    told = "".join(f"<p>{escape(note)}</p>" for note in notes)
    above = f"<thead><tr>{head}</tr></thead>" if columns else ""
    caption = f"<p><b>{escape(title)}</b></p>"
    return f"<div>{caption}<table>{above}<tbody>{body}</tbody></table>{told}</div>"


def _cell(tag: str, value: Any, number: int) -> str:
    """Numbers to the right, words to the left."""
    side = "right" if number and isinstance(value, int | float | None) else "left"
    return f'<{tag} style="text-align: {side}">{escape(show(value))}</{tag}>'
