"""Parts that sections are made of: headings, tables, figures, notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.figure import Figure

from smore.plotting import unit_after_number
from smore.report._html import Html, element
from smore.report._svg import inline_svg


def section(identifier: str, title: str, *children: Any) -> Html:
    """A part of the page that can be linked to."""
    heading = element("h2", title, id=f"{identifier}-title")
    return element(
        "section", heading, children, id=identifier, aria_labelledby=f"{identifier}-title"
    )


def paragraph(*children: Any, class_: str | None = None) -> Html:
    return element("p", *children, class_=class_)


def chart(figure: Figure, name: str, description: str, caption: str = "") -> Html:
    """A figure; its description is for whoever cannot see it, its caption for all."""
    told = element("figcaption", caption) if caption else None
    drawn = inline_svg(figure, name, description)
    return element("figure", _framed(drawn, "Chart"), told)


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Html:
    """A table whose first column names the rows."""
    head = element("tr", [element("th", column, scope="col") for column in columns])
    body = [
        element(
            "tr",
            element("th", show(row[0]), scope="row"),
            [element("td", show(value)) for value in row[1:]],
        )
        for row in rows
    ]
    inside = element(
        "table", element("caption", caption), element("thead", head), element("tbody", body)
    )
    return _framed(inside, caption)


def _framed(inside: Html, label: str) -> Html:
    """What is moved inside its frame where the screen is narrow."""
    return element("div", inside, class_="frame", role="group", aria_label=label)


def more(summary: str, *children: Any) -> Html:
    """What only some readers want."""
    return element("details", element("summary", summary), children)


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Names and what they are."""
    each = [
        element("div", element("dt", name), element("dd", show(value)))
        for name, value in pairs
        if value is not None
    ]
    return element("dl", each, class_="facts")


def show(value: Any) -> Any:
    """Numbers to three digits, a dash for nothing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value


def with_unit(value: float, units: str) -> str:
    """A size to three digits with its unit."""
    return f"{value:.3g} {unit_after_number(units)}".rstrip()
