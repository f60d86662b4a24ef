"""Advice in the docs: what cures a decoder that is far from the best basis."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "symptom"),
    [("evaluation.md", "Decoder alone makes up most"), ("training.md", "A large factor")],
)
def test_a_bad_basis_asks_for_another_frequency_scale_before_anything_else(page, symptom):
    text = (DOCS / page).read_text()
    advice = text[text.index(symptom) :][:400]
    assert "--frequency-scale" in advice
    for other in ("--decoder-steps", "more `--hidden-dim`"):
        assert other not in advice or "hardly help" in advice
