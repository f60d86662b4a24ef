"""HTML made of elements: whatever a file says arrives as text, never as markup.

There is no other way to put a text on the page, so none can be forgotten.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
# In a script element `<` could end it, or begin a comment; the others are for good measure.
UNSAFE_IN_SCRIPT = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


class Html(str):
    """Markup that is finished: it is put on the page as it stands."""

    __slots__ = ()


def element(tag: str, /, *children: Any, **attributes: Any) -> Html:
    """`<tag attributes>children</tag>`.

    Args:
        tag: which element.
        children: `Html` as it is, everything else as escaped text; iterables are joined, None is
            left out.
        attributes: underscores become hyphens, a last one is dropped (`class_`); None and False
            leave an attribute out, True makes it a bare word.
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    if tag in VOID:
        return Html(f"<{tag}{told}>")
    return Html(f"<{tag}{told}>{joined(children)}</{tag}>")


def joined(children: Iterable[Any]) -> Html:
    """Children of an element, one after the other."""
    return Html("".join(map(_child, children)))


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, list | tuple):
        return joined(child)
    return html.escape(str(child))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def data_element(identifier: str, value: Any) -> Html:
    """A value as JSON for the script of the page to read; no browser runs it."""
    told = json.dumps(value, allow_nan=False, separators=(",", ":")).translate(UNSAFE_IN_SCRIPT)
    return element("script", Html(told), type="application/json", id=identifier)


def content_hash(text: str) -> str:
    """What a content security policy calls exactly this inline script or style."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
