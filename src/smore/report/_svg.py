"""Figures of matplotlib as inline SVG that follows the colours of the page.

Matplotlib, not Bokeh: its SVG is a tenth of the weight, needs no script, prints as lines and
letters, is read aloud by its description, and lets the page keep a policy under which nothing but
its own script runs. What moves is the player, which is drawn on a canvas.

What matplotlib writes is changed in four ways. Styles become attributes, since the policy allows no
inline styles. Black and grey become the colour of the text around, so that a dark page has light
axes; other inks become classes, which the page paints brighter there. Fields of many cells are
pictures. Identifiers get the name of the figure, so that no two are alike on the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.collections import Collection
from matplotlib.figure import Figure

from smore.report._html import Html, element, joined

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
# Pixels per inch of pictures inside figures, and cells from which on they are pictures.
RESOLUTION, MANY_CELLS = 130, 300
# Properties of a style that are attributes too.
KEPT = {
    "fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity",
    "stroke-dasharray", "stroke-dashoffset", "stroke-linecap", "stroke-linejoin",
    "stroke-miterlimit", "opacity", "text-anchor", "font-size", "font-style", "font-weight",
    "image-rendering",
}  # fmt: skip
# Inks by the names that the page has for them.
INKS = {
    "#0072b2": "blue", "#1f77b4": "blue", "#009e73": "green", "#2ca02c": "green",
    "#e69f00": "orange", "#ff7f0e": "orange", "#d55e00": "red", "#d62728": "red",
}  # fmt: skip
# Figures are shown a little larger than matplotlib takes them to be.
SCALE = 1.25
# Figures wider than this, in inches, are moved inside their frame on a narrow screen.
BROAD = 6.0
# Greys up to this are shades of the text; lighter ones and white stay what they are.
LIGHTEST_INK = 0.9
SETTINGS: Any = {
    "svg.fonttype": "none",  # letters stay letters
    "svg.hashsalt": "smore",  # and the same figure is the same text
    "text.parse_math": False,  # a channel may be called $x$
    "axes.unicode_minus": True,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@contextmanager
def figure_style() -> Iterator[None]:
    """In which figures for a page are made."""
    with matplotlib.rc_context(SETTINGS):
        yield


def inline_svg(figure: Figure, name: str, description: str) -> Html:
    """A figure, with what it shows in words for whoever cannot see it.

    Args:
        figure: made inside `figure_style`.
        name: different for every figure of a page; letters, digits and hyphens.
        description: what one would say about it.
    """
    for artist in figure.findobj(Collection):
        if len(artist.get_paths()) > MANY_CELLS or artist.get_array() is not None:
            artist.set_rasterized(True)
    for axes in figure.axes:
        axes.patch.set_visible(axes.get_facecolor()[:3] != (1.0, 1.0, 1.0))
    target = io.StringIO()
    with matplotlib.rc_context(SETTINGS):
        figure.savefig(
            target,
            format="svg",
            transparent=False,
            facecolor="none",
            dpi=RESOLUTION,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    root = ElementTree.fromstring(target.getvalue())
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', target.getvalue()))
    inside = [_converted(child, name, used) for child in root if _tag(child) != "metadata"]
    return element(
        "svg",
        inside,
        viewBox=root.attrib["viewBox"],
        width=f"{SCALE * figure.get_figwidth():.2f}in",
        class_="chart broad" if figure.get_figwidth() > BROAD else "chart",
        role="img",
        aria_label=description,
    )


def _tag(node: ElementTree.Element) -> str:
    return node.tag.removeprefix(SVG)


def _converted(node: ElementTree.Element, name: str, used: set[str]) -> Html:
    """An element and all in it; identifiers that nothing refers to are left out."""
    tag = _tag(node)
    if tag == "style":  # said once, by the page
        return Html("")
    attributes: dict[str, str] = {}
    for key, value in node.attrib.items():
        key = key.removeprefix(LINK)
        if key == "style":
            attributes |= _presented(value)
        elif key == "id":
            attributes |= {"id": f"{name}-{value}"} if value in used else {}
        elif key == "href" and value.startswith("#"):
            attributes["href"] = f"#{name}-{value[1:]}"
        elif not key.startswith("{"):
            attributes[key] = re.sub(r"url\(#", f"url(#{name}-", value)
    text = [node.text] if node.text and node.text.strip() else []
    children = joined(_converted(child, name, used) for child in node)
    return element(tag, *text, children, **attributes)


def _presented(style: str) -> dict[str, str]:
    """A style as attributes."""
    found: dict[str, str] = {}
    for part in style.split(";"):
        key, colon, value = (piece.strip() for piece in part.partition(":"))
        if not colon:
            continue
        if key == "font":
            if size := re.search(r"[\d.]+px", value):
                found["font-size"] = size[0]
        elif key in KEPT:
            found[key] = value
    classes = []
    for paint in ("fill", "stroke"):
        colour = found.get(paint, "").lower()
        if colour in INKS:
            classes.append(f"{paint}-{INKS[colour]}")
        elif colour:
            found |= _inked(paint, colour, found.get(f"{paint}-opacity", "1"))
    return found | ({"class": " ".join(classes)} if classes else {})


def _inked(paint: str, colour: str, opacity: str) -> dict[str, str]:
    """Black and greys as shades of the text."""
    if not (code := re.fullmatch(r"#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})", colour)):
        return {paint: colour}
    red, green, blue = (int(part, 16) / 255 for part in code.groups())
    if not red == green == blue or red > LIGHTEST_INK:
        return {paint: colour}
    shade = float(opacity) * (1 - red)
    return {paint: "currentColor"} | ({f"{paint}-opacity": f"{shade:.3g}"} if shade < 1 else {})
