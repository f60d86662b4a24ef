"""The reduced benchmarks on the page: who is ahead when everyone has converged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from smore_paper.datasets import BENCHMARKS
from smore_paper.page.entries import TIE, Entry, entry
from smore_paper.page.markdown import NOT_RUN, duration, figure, remarks, table
from smore_paper.tables.compared import (
    BASELINE,
    CLASSICAL,
    LABELS,
    RECIPES,
    SMORE_MODELS,
    VARIANTS,
    label,
    paper_claim,
)
from smore_paper.tables.ledger import Row
from smore_paper.tables.reduced.measure import NAME

PAPER_MODELS = tuple(model for model in LABELS if model not in CLASSICAL)
WINDOWS = {"in_horizon_mse": "in-horizon", "extrapolation_mse": "extrapolation"}
Tell = Callable[[dict[str, Entry], str, str], str]
HEADER = ["model", "seeds", "in-horizon", "extrapolation", "full window", "validation"]
HEADER += ["converged", "epochs", "training", "forecast", "parameters"]


def glance_at_reduced(rows: Sequence[Row]) -> list[str]:
    columns = [f"{name}, {text}" for name in BENCHMARKS for text in WINDOWS.values()]
    lines = [
        [f"lowest error, SMORE {recipe}", *_cells(rows, recipe, _winner)] for recipe in RECIPES
    ]
    lines += [
        [f"pairs as in the paper, SMORE {recipe}", *_cells(rows, recipe, _pairs)]
        for recipe in RECIPES
    ]
    return [
        "**Ranking where everyone has converged**: reduced benchmarks, the paper's six models with "
        "about as many parameters each. By the paper's account SMORE has the lowest error in all "
        "six columns, SMORE-LRLQ on Navier-Stokes and SMORE-Koopman elsewhere. Errors within "
        f"{TIE:g} times of each other are even, and pairs that the paper has so are not counted.",
        table(["", *columns], lines),
    ]


def _cells(rows: Sequence[Row], recipe: str, tell: Tell) -> list[str]:
    return [
        tell(found, dataset, window)
        for dataset in BENCHMARKS
        for found in [_found(rows, dataset, recipe)]
        for window in WINDOWS
    ]


def _found(rows: Sequence[Row], dataset: str, recipe: str) -> dict[str, Entry]:
    """The paper's models, SMORE by this recipe."""
    own = {model: recipe if model in SMORE_MODELS else BASELINE for model in PAPER_MODELS}
    return {
        model: entry(rows, dataset=dataset, model=model, recipe=how) for model, how in own.items()
    }


def _missing(found: dict[str, Entry], window: str) -> str | None:
    """Why nothing can be said, if so."""
    absent = [LABELS[model] for model, here in found.items() if here.mean(window) is None]
    if len(absent) == len(found):
        return NOT_RUN
    unready = [
        LABELS[model]
        for model, here in found.items()
        if any(row["converged"] == "no" for row in here.done)
    ]
    told = [f"{', '.join(absent)} not run"] if absent else []
    told += [f"{', '.join(unready)} not converged"] if unready else []
    return f"cannot be said: {'; '.join(told)}" if told else None


def _winner(found: dict[str, Entry], dataset: str, window: str) -> str:
    missing = _missing(found, window)
    if missing is not None:
        return missing
    errors = {model: here.mean(window) or 0.0 for model, here in found.items()}
    best = min(errors, key=lambda model: errors[model])
    even = [LABELS[m] for m in errors if m != best and errors[m] <= TIE * errors[best]]
    claimed = min(PAPER_MODELS, key=lambda model: getattr(paper_claim(dataset, model), window))
    holds = errors[claimed] <= TIE * errors[best]
    with_it = f" (even: {', '.join(even)})" if even else ""
    return f"{LABELS[best]}{with_it}: {'holds' if holds else 'does not hold'}"


def _pairs(found: dict[str, Entry], dataset: str, window: str) -> str:
    """Of pairs that the paper tells apart, how many are ordered so here, and how many even."""
    missing = _missing(found, window)
    if missing is not None:
        return "-"
    alike = even = total = 0
    for one, other in combinations(PAPER_MODELS, 2):
        claimed = getattr(paper_claim(dataset, one), window) / getattr(
            paper_claim(dataset, other), window
        )
        if 1 / TIE < claimed < TIE:
            continue
        total += 1
        ratio = (found[one].mean(window) or 0.0) / (found[other].mean(window) or 1.0)
        if 1 / TIE < ratio < TIE:
            even += 1
        elif (ratio > 1) == (claimed > 1):
            alike += 1
    return f"{alike} of {total}" + (f", {even} even" if even else "")


def reduced_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    parts = [
        "## Reduced benchmarks",
        "Every fourth grid point along each dimension, the leading trajectories: columns `points` "
        "and `sequences` of the table. All models have about 40,000 parameters, the same training "
        "windows and the same validation trajectories, whose forecasts over the full window choose "
        "the weights; test data are scored only. Neural operators: Adam at 1e-3, shrunk when "
        "validation does not get better, until it is a hundredth. DINo and SMORE by the paper's "
        "recipe: 5,000 epochs, DINo with its authors' rates, SMORE with those that training data "
        "chose for LRLQ on Navier-Stokes; converged means that the last fifth brought less than a "
        "tenth. Forecast: one sequence of 19 steps, state inferred and fields decoded, of a "
        "batch of all test sequences. Times were taken while other programs ran.",
    ]
    for dataset in BENCHMARKS:
        here = [row for row in rows if row["dataset"] == dataset]
        lines = [_line(here, *each) for each in VARIANTS]
        parts += [f"### {dataset}, reduced", table(HEADER, lines), *remarks(here)]
    parts += figure(results, folder, f"{NAME}_curves.png", "Validation error while training")
    return parts + figure(results, folder, f"{NAME}_cost.png", "Error against cost, reduced")


def _line(rows: Sequence[Row], model: str, recipe: str) -> list[str]:
    found = entry(rows, model=model, recipe=recipe)
    windows = [found.told(name) for name in (*WINDOWS, "full_mse")]
    selects = found.mean("validation_mse") is not None
    windows.append(found.told("validation_mse") if selects else "-")
    if not found.done:
        return [label(model, recipe), str(len(found.rows)), *windows, *["-"] * 5]
    said = [row["converged"] for row in found.done if row["converged"]]
    return [
        label(model, recipe),
        str(len(found.rows)),
        *windows,
        f"{said.count('yes')} of {len(said)}" if said else "-",
        f"{found.mean('epochs') or 0:,.0f}",
        found.time,
        duration(found.mean("forecast_seconds") or 0.0),
        f"{found.done[0]['parameters']:,}",
    ]
