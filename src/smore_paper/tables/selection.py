"""What chooses the weights that are scored, of models that are trained by epochs.

By their own habits they differ: SMORE by the paper's recipe keeps the weights with the lowest error
on the test set, as the paper does, DINo those with the lowest error on training trajectories that
it holds out, neural operators the last ones. A protocol is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from smore.data import Trajectories
from smore.errors import DataError
from smore.settings import Settings
from smore_paper.tables.ledger import Row

Selection = Literal["test", "held-out", "last"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)
# As rows tell it in their column `selection`.
SELECTED_ON: dict[Selection, str] = {
    "test": "test set (the paper's protocol)",
    "held-out": "held-out training trajectories",
    "last": "end of training",
}
# By recipe of SMORE, or else by model.
HABITS: dict[str, Selection] = {
    "paper": "test",
    "dino": "held-out",
    "fno": "last",
    "cno": "last",
    "transolver": "last",
}
HELD_OUT = Settings.of().validation_fraction


def habit(model: str, recipe: str) -> Selection | None:
    """What a model does unless told otherwise; None if it has no weights to choose from."""
    return HABITS.get(recipe) or HABITS.get(model)


def is_by_habit(row: Row) -> bool:
    """Whether the row's model did what it does by itself; a protocol is part of a row's key."""
    return "_selection=" not in row["key"]


def by_protocol(rows: Sequence[Row], selection: Selection) -> list[Row]:
    """The rows of models that were selected so, whether told to or by habit."""
    return [row for row in rows if row["selection"] in (selection, SELECTED_ON[selection])]


def divided(
    selection: Selection, train: Trajectories, test: Trajectories, seed: int
) -> tuple[Trajectories, Trajectories | None]:
    """What to train on, and what selects, if anything does.

    Args:
        selection: the protocol.
        train: training sequences.
        test: test sequences.
        seed: chooses the trajectories that are held out.

    Raises:
        DataError: there is one trajectory only, and no other to hold out.
    """
    if selection == "last":
        return train, None
    if selection == "test":
        return train, test
    rest, held_out = train.split(HELD_OUT, seed)
    if held_out is None:
        raise DataError(
            "expected several training trajectories to hold some out of, got one; select on the "
            "test set or take the last weights"
        )
    return rest, held_out
