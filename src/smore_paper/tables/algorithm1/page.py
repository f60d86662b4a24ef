"""The paper's recipe to its end on the page: how rates were chosen, and where errors end."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from smore_paper.page.entries import FACTOR, beside, entry
from smore_paper.page.markdown import NOT_RUN, number, table, times
from smore_paper.tables.algorithm1.measure import EPOCHS, MODELS, WINDOWS
from smore_paper.tables.compared import LABELS, paper_claim
from smore_paper.tables.ledger import Row
from smore_paper.tables.rates.measure import GRID, RULED_OUT, Rates, chosen_rates
from smore_paper.tables.rates.measure import MODELS as SCREENED

HEADER = ["model", "seeds", "in-horizon", "extrapolation", "full window", "last state"]
HEADER += ["decoder alone", "full window, held-out selects", "time"]


def glance_at_algorithm1(rows: Sequence[Row]) -> list[str]:
    lines = [
        f"- {dataset}, {LABELS[model]}: {_told(rows, dataset, model)}" for dataset, model in MODELS
    ]
    return [
        f"**The paper's recipe to its end**, {EPOCHS:,} epochs with rates that were chosen on "
        "training data, full window, the epoch selected on the test set as in the paper:",
        "\n".join(lines),
    ]


def _told(rows: Sequence[Row], dataset: str, model: str) -> str:
    found = entry(rows, dataset=dataset, model=model, selection="test")
    error, claim = found.mean("full_mse"), paper_claim(dataset, model)
    if error is None or claim is None:
        return f"cannot be said here ({found.told('full_mse')})"
    ratio, count = error / claim.full_mse, len(found.done)
    held_out = entry(rows, dataset=dataset, model=model, selection="held-out").told("full_mse")
    verdict = "holds" if ratio <= FACTOR else "does not hold"
    return (
        f"{found.told('full_mse')}, {times(ratio)}, {verdict} ({count} seed"
        f"{'s' if count > 1 else ''}); selected on held-out training trajectories: {held_out}"
    )


def algorithm1_section(rows: Sequence[Row], rates: Sequence[Row]) -> list[str]:
    parts = [
        "## The paper's recipe to its end",
        f"Algorithm 1, {EPOCHS:,} epochs. The paper states no learning rates: those of decoder and "
        "dynamics were chosen first, on training data alone, see below. Each window: measured "
        "(claimed, ratio), the epoch selected on the test set. Last state: no selection, initial "
        "states by the shorter fits of evaluation stages. Held-out selects: one tenth of the "
        "training trajectories is left out of training and selects, nobody sees test data.",
        table(HEADER, [_line(rows, *each) for each in MODELS]),
        "### Learning rates",
        "Median error of forecasts of training sequences over the training window, by short runs "
        f"(seeds in brackets). Pairs with more than {RULED_OUT:g} times the lowest error of the "
        "first seed are not tried with others. Of those tried with all, the lowest is taken "
        "(bold); none is taken before all have been tried.",
    ]
    for which in SCREENED:
        parts += [f"{which[0]}, {LABELS[which[1]]}:", _grid(rates, *which)]
    return parts


def _line(rows: Sequence[Row], dataset: str, model: str) -> list[str]:
    claim = paper_claim(dataset, model)
    by_test = entry(rows, dataset=dataset, model=model, selection="test")
    held_out = entry(rows, dataset=dataset, model=model, selection="held-out")
    return [
        f"{dataset}, {LABELS[model]}",
        str(len(by_test.rows)),
        *(beside(by_test, window, getattr(claim, window)) for window in WINDOWS),
        by_test.told("last_full_mse"),
        by_test.told("decoder_mse"),
        held_out.told("full_mse"),
        by_test.time,
    ]


def _grid(rows: Sequence[Row], dataset: str, model: str) -> str:
    """Errors by decoder rate (down) and dynamics rate (across)."""
    here = [row for row in rows if (row["dataset"], row["model"]) == (dataset, model)]
    if not here:
        return NOT_RUN
    chosen = chosen_rates(rows, dataset, model)
    lines = [
        [_rate(decoder), *(_cell(here, Rates(decoder, dynamics), chosen) for dynamics in GRID)]
        for decoder in GRID
    ]
    return table(["decoder \\ dynamics", *map(_rate, GRID)], lines)


def _cell(rows: Sequence[Row], rates: Rates, chosen: Rates | None) -> str:
    here = entry(rows, decoder_rate=rates.decoder_rate, dynamics_rate=rates.dynamics_rate)
    errors = here.values("training_mse")
    if not errors:
        return here.told("training_mse")
    told = f"{number(statistics.median(errors))} ({len(errors)})"
    return f"**{told}**" if rates == chosen else told


def _rate(rate: float) -> str:
    digits, exponent = f"{rate:e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"
