import pytest

from smore.evaluation.words import beside_in_words, is_better, times_as_large


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


def test_errors_beside_others_have_one_rule():
    told = beside_in_words(
        {"persistence": 3.0, "climatology": 1.015, "a plain DMD": 0.5, "unknown": float("nan")}
    )
    assert told == (
        "3 times below that of persistence, as large as that of climatology and 2 times that of "
        "a plain DMD"
    )
    assert [is_better(each) for each in (1.015, 1.03, float("nan"))] == [False, True, False]
    assert beside_in_words({}) == "not compared with anything"
    assert beside_in_words({"persistence": 0.0}) == "more than a million times that of persistence"
