"""Whatever a text is, it arrives on the page as that text."""

import json

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smore.report._html import Html, content_hash, data_element, element

TREE = html5lib.getTreeBuilder("etree")
# What a parser would change whoever wrote it: controls and carriage returns.
texts = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), max_size=40)
NASTY = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '" onload="x',
    "&lt;",
    "]]>",
    "a\u2028b",
]


def parsed(fragment):
    return html5lib.parseFragment(fragment, namespaceHTMLElements=False)


@given(texts, texts)
def test_text_and_attributes_survive_a_parser(text, value):
    (found,) = parsed(element("p", text, title=value))
    assert "".join(found.itertext()) == text
    assert (found.attrib["title"], found.tag) == (value, "p")


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts_stay_texts(text):
    (found,) = parsed(element("p", text, title=text))
    assert (found.text, found.attrib["title"], len(found)) == (text, text, 0)


@given(
    st.recursive(
        texts | st.integers() | st.none(), lambda s: st.lists(s) | st.dictionaries(texts, s)
    )
)
def test_data_survive_a_parser(value):
    (found,) = parsed(data_element("data", value))
    assert json.loads(found.text) == value
    assert found.tag == "script"


@pytest.mark.parametrize("text", NASTY)
def test_data_cannot_end_their_element(text):
    (found,) = parsed(data_element("data", {text: [text]}))
    assert json.loads(found.text) == {text: [text]}
    assert "<" not in found.text


def test_children_and_attributes_of_all_kinds():
    inside = element("b", "x", class_="c", hidden=True, id=None, aria_label="a < b")
    assert inside == '<b class="c" hidden aria-label="a &lt; b">x</b>'
    assert element("p", [inside, " & ", None], 3) == f"<p>{inside} &amp; 3</p>"
    assert element("input", type="range", max=3, disabled=False) == '<input type="range" max="3">'
    assert isinstance(inside, Html)


def test_a_hash_is_the_one_that_browsers_compute():
    # From the specification of content security policies.
    assert content_hash("alert('Hello, world.');") == (
        "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
    )
