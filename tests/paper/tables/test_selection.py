"""A protocol means the same for every model: what it trains on, and what selects its weights."""

import numpy as np
import pytest

from smore.errors import DataError
from smore_paper.tables.selection import (
    SELECTED_ON,
    SELECTIONS,
    by_protocol,
    divided,
    habit,
    is_by_habit,
)
from waves import trajectories

TRAIN, TEST = trajectories(20), trajectories(3, seed=7)


def numbers(some):
    """Which of the training sequences these are."""
    return [
        next(i for i, each in enumerate(TRAIN) if np.array_equal(each.fields, one.fields))
        for one in some
    ]


def test_the_test_set_selects_and_all_training_data_train():
    assert divided("test", TRAIN, TEST, 0) == (TRAIN, TEST)


def test_nothing_selects_the_last_weights():
    assert divided("last", TRAIN, TEST, 0) == (TRAIN, None)


def test_a_tenth_of_the_trajectories_is_held_out_by_the_seed():
    rest, held_out = divided("held-out", TRAIN, TEST, 3)
    assert sorted(numbers(rest) + numbers(held_out)) == list(range(20))
    assert len(held_out) == 2
    assert numbers(divided("held-out", TRAIN, TEST, 4)[1]) != numbers(held_out)


def test_one_trajectory_cannot_be_held_out():
    with pytest.raises(DataError, match=r"several training trajectories .* got one"):
        divided("held-out", trajectories(1), TEST, 0)


@pytest.mark.parametrize(
    ("model", "recipe", "expected"),
    [
        ("smore-koopman", "paper", "test"),
        ("smore-lrlq", "fast", None),
        ("dino", "baseline", "held-out"),
        ("cno", "baseline", "last"),
        ("opinf", "baseline", None),
    ],
)
def test_habits(model, recipe, expected):
    assert habit(model, recipe) == expected


def test_rows_are_told_apart_by_their_protocol_and_old_ones_by_their_words():
    rows = [
        {"key": "wave_fno_baseline_seed0", "selection": words} for words in SELECTED_ON.values()
    ]
    told = {"key": "wave_fno_baseline_seed0_selection=test", "selection": SELECTED_ON["test"]}
    failed = {"key": "wave_cno_baseline_seed0_selection=test", "selection": "test"}
    other = {"key": "wave_opinf_baseline_seed0", "selection": "nothing to select"}
    rows += [told, failed, other]
    found = {name: by_protocol(rows, name) for name in SELECTIONS}
    assert found == {"test": [rows[0], told, failed], "held-out": [rows[1]], "last": [rows[2]]}
    assert [is_by_habit(row) for row in rows] == [True] * 3 + [False] * 2 + [True]
