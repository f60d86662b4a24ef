import pytest

from smore.evaluation._words import times_as_large


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (0.5, "0.5"),
        (1.4142, "1.41"),
        (2412.3, "2,410"),
        (99_999.0, "100,000"),
        (999_999.0, "more than a million"),
        (4.4e8, "more than a million"),
        (float("inf"), "more than a million"),
    ],
)
def test_factors_are_told_as_people_write_numbers(ratio, words):
    assert times_as_large(ratio) == words
