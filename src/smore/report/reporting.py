"""A report about a model, with or without test data."""

from __future__ import annotations

from collections.abc import Callable

from smore.data import Trajectories
from smore.model import SMORE
from smore.report._findings import find
from smore.report._page import page


def report_page(
    model: SMORE,
    truth: Trajectories | None = None,
    *,
    name: str = "model",
    test_name: str = "test data",
    sequence: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> str:
    """Everything there is to say about a model, as one HTML page that needs no network.

    Args:
        model: a trained model.
        truth: data that it has not seen; without them the page has what needs none.
        name: of the model, as the page shows it.
        test_name: of `truth`.
        sequence: which of its sequences the player shows, counted from 0.
        say: told what is going on.

    Raises:
        SettingsError: there is no such sequence.
        DataError: `truth` is not what the model forecasts.
    """
    return page(find(model, truth, sequence, say), name, test_name if truth is not None else "")
