"""Figures on the page: no styles, no twice-used names, inks of the page, texts as they are."""

import re

import html5lib
import numpy as np
from matplotlib.figure import Figure

from smore.report._svg import figure_style, inline_svg

NAME = "$x_{$ <b>&"


def drawn(name="one"):
    with figure_style():
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], color="#0072b2", label=NAME)
        axes.plot([1, 0], color="0.4")
        axes.pcolormesh(np.random.default_rng(0).random((40, 40)))
        axes.set_xlabel(NAME)
        axes.legend()
        return inline_svg(figure, name, "What <it> shows")


def test_a_figure_needs_no_inline_style():
    found = drawn()
    assert "style" not in found
    assert "currentColor" in found
    assert 'class="stroke-blue"' in found
    assert re.search(r'stroke-opacity="0\.6"', found)  # grey 0.4


def test_texts_are_as_they_are_and_the_figure_is_described():
    (svg,) = html5lib.parseFragment(drawn(), namespaceHTMLElements=False)
    texts = ["".join(node.itertext()) for node in svg.iter() if str(node.tag).endswith("text")]
    assert texts.count(NAME) == 2
    assert svg.attrib["aria-label"] == "What <it> shows"
    assert svg.attrib["role"] == "img"


def test_a_field_of_many_cells_is_a_picture():
    found = drawn()
    assert found.count("<image") == 1
    assert "data:image/png;base64" in found
    assert len(found) < 100_000


def test_figures_of_one_page_share_no_names():
    ids = [set(re.findall(r' id="([^"]+)"', drawn(name))) for name in ("one", "two")]
    assert ids[0]
    assert not ids[0] & ids[1]
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn()))
    assert used == ids[0]


def test_the_same_figure_is_the_same_text():
    assert drawn() == drawn()
