"""The main comparison on the page: claims beside measurements, and what beats what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from smore_paper.datasets import BENCHMARKS
from smore_paper.page.entries import FACTOR, TIE, Entry, beside, entry, ordered
from smore_paper.page.markdown import (
    NOT_RUN,
    duration,
    figure,
    number,
    remarks,
    table,
    times,
)
from smore_paper.tables.compared import (
    BASELINE,
    CLASSICAL,
    LABELS,
    RECIPES,
    SMORE_MODELS,
    VARIANTS,
    label,
    paper_claim,
    paper_parameters,
)
from smore_paper.tables.ledger import Row
from smore_paper.tables.rollout.measure import LEAST_MINUTES
from smore_paper.tables.selection import (
    HELD_OUT,
    SELECTED_ON,
    SELECTIONS,
    by_protocol,
    habit,
    is_by_habit,
)

CLAIMED_EPOCHS = 5000  # of all models in the main comparison
WINDOWS = {
    "in_horizon_mse": "in-horizon",
    "extrapolation_mse": "extrapolation",
    "full_mse": "full window",
}
PAPER_MODELS = tuple(model for model in LABELS if model not in CLASSICAL)


HEADER = ["model", "seeds", *WINDOWS.values(), "parameters", "budget", "epochs", "time", "device"]
HEADER += ["selected on"]
NOT_ALIKE = (
    "Weights are not selected alike, and the last column says how: SMORE by the paper's recipe "
    "keeps the epoch with the lowest error on the test set, over all snapshots that are scored, as "
    f"the paper does; DINo trains on {1 - HELD_OUT:.0%} of the training trajectories and keeps the "
    "epoch with the lowest error on the others, over the snapshots of the training window; FNO, "
    "CNO and Transolver take the last weights; the fast recipe and the classical methods see "
    "training data only. `smore reproduce rollout --selection "
    f"{'|'.join(SELECTIONS)}` gives all models that are trained by epochs the same protocol: "
)


def glance_at_rollout(rows: Sequence[Row]) -> list[str]:
    rows = [row for row in rows if is_by_habit(row)]
    lines = [
        [label(model, recipe), *(_verdict(rows, name, model, recipe) for name in BENCHMARKS)]
        for model, recipe in VARIANTS
        if model in PAPER_MODELS
    ]
    return [
        "**Rollout.** Error over the claimed error, full window:",
        table(["", *BENCHMARKS], lines),
        "The lowest error of the paper's six models, which by its account SMORE has in all six "
        "columns. Models that were trained too little to say are left out, unless theirs is the "
        "lowest:",
        _winners(rows),
        "What beats what at equal cost: a baseline is due the time of the SMORE fits, at least "
        f"{LEAST_MINUTES:g} minutes, however few epochs that is; classical methods take what they "
        f"take. Errors within {TIE:g} times of each other are even. Weights are not selected "
        "alike, see the tables.",
        "\n".join(_equal_cost(rows, name) for name in BENCHMARKS),
    ]


def _verdict(rows: Sequence[Row], dataset: str, model: str, recipe: str) -> str:
    found = entry(rows, dataset=dataset, model=model, recipe=recipe)
    error, claim = found.mean("full_mse"), paper_claim(dataset, model)
    if error is None or claim is None:
        return found.told("full_mse")
    ratio = error / claim.full_mse
    told = f"{times(ratio)}, {'holds' if ratio <= FACTOR else 'does not hold'}"
    if recipe == "fast":
        return told
    if _trained_too_little(rows, dataset, model, recipe):
        told = f"{times(ratio)}, trained too little to say"
    return f"{told} ({_passes(found.mean('epochs') or 0)} of {CLAIMED_EPOCHS:,} epochs)"


def _trained_too_little(rows: Sequence[Row], dataset: str, model: str, recipe: str) -> bool:
    """Whether a model misses its claim after fewer epochs than the paper's, or had not even one."""
    found = entry(rows, dataset=dataset, model=model, recipe=recipe)
    error, claim = found.mean("full_mse"), paper_claim(dataset, model)
    if recipe == "fast" or error is None or claim is None:
        return False
    epochs = found.mean("epochs") or 0
    return epochs < 1 or (error > FACTOR * claim.full_mse and epochs < CLAIMED_EPOCHS)


def _passes(epochs: float) -> str:
    """Whole passes over the data."""
    return f"{epochs:,.0f}" if epochs >= 1 else "less than 1"


def _winners(rows: Sequence[Row]) -> str:
    """The best of the paper's models by benchmark and window: as claimed, and by SMORE's recipe."""
    columns = [(name, window) for name in BENCHMARKS for window in WINDOWS if window != "full_mse"]
    lines = [["claimed"], *([f"measured, SMORE {recipe}"] for recipe in RECIPES)]
    for name, window in columns:
        claims = {model: getattr(paper_claim(name, model), window) for model in PAPER_MODELS}
        lines[0].append(_lowest(claims))
        for line, recipe in zip(lines[1:], RECIPES, strict=True):
            own = {model: recipe if model in SMORE_MODELS else BASELINE for model in PAPER_MODELS}
            errors = {
                model: entry(rows, dataset=name, model=model, recipe=how).mean(window)
                for model, how in own.items()
            }
            unready = [each for each in own if _trained_too_little(rows, name, each, own[each])]
            line.append(_lowest(errors, unready))
    return table(["", *(f"{name}, {WINDOWS[window]}" for name, window in columns)], lines)


def _lowest(errors: Mapping[str, float | None], unready: Sequence[str] = ()) -> str:
    """The model with the lowest error, of how many, and who is left out; SMORE must be in it.

    Nobody wins against models that were trained too little; these win if they are ahead even so.
    """
    known = {model: ordered(error) for model, error in errors.items() if error is not None}
    if known.keys().isdisjoint(SMORE_MODELS):
        return NOT_RUN
    best = min(known, key=lambda model: known[model])
    out = [LABELS[model] for model in unready if model != best]
    if not known.keys() - {best, *unready, *SMORE_MODELS} and out and best in SMORE_MODELS:
        return f"cannot be said: {', '.join(out)} trained too little"
    of = f" (of {len(known) - len(out)})" if len(known) - len(out) < len(errors) else ""
    return f"{LABELS[best]}{of}" + (f"; {', '.join(out)} trained too little" if out else "")


def _equal_cost(rows: Sequence[Row], dataset: str) -> str:
    """One line: the best fit of the fast recipe against everything that got as much time."""
    entries = {
        each: entry(rows, dataset=dataset, model=each[0], recipe=each[1]) for each in VARIANTS
    }
    known = {each: found for each, found in entries.items() if found.mean("full_mse") is not None}
    fast = {each: found for each, found in known.items() if each[1] == "fast"}
    if not fast:
        return f"- {dataset}: {NOT_RUN}"
    best = min(fast, key=lambda each: fast[each].error)
    # Algorithm 1 for a number of epochs, not of minutes, is not at equal cost.
    rivals = {
        each: found
        for each, found in known.items()
        if each[1] == BASELINE or found.values("budget_minutes")
    }
    own = fast[best].error
    worse = [each for each in rivals if rivals[each].error > TIE * own]
    better = [each for each in rivals if TIE * rivals[each].error < own]
    even = [each for each in rivals if each not in (*worse, *better)]
    missing = [each for each in entries if each[1] == BASELINE and each not in known]
    parts = {
        f"{_told(best, fast[best])} beats": [_told(each, rivals[each]) for each in worse]
        or ["nothing"],
        "it is even with": [_told(each, rivals[each]) for each in even],
        "it is beaten by": [_told(each, rivals[each]) for each in better],
        "less time than its due had": _short_of_time(rivals, fast),
        "no result:": [f"{label(*each)} ({entries[each].told('full_mse')})" for each in missing],
    }
    told = [f"{start} {', '.join(names)}" for start, names in parts.items() if names]
    return f"- {dataset}: {'; '.join(told)}"


def _told(which: tuple[str, str], found: Entry) -> str:
    return f"{label(*which)} ({number(found.mean('full_mse'))} in {found.time})"


def _short_of_time(
    rivals: Mapping[tuple[str, str], Entry], fast: Mapping[tuple[str, str], Entry]
) -> list[str]:
    """Those whose budget was less than the rule gives them."""
    longest = max(seconds for found in fast.values() for seconds in found.values("seconds"))
    due = max(LEAST_MINUTES, longest / 60)
    return [
        label(*each)
        for each, found in rivals.items()
        # Budgets are written to two digits.
        if any(minutes < due - 0.01 for minutes in found.values("budget_minutes"))
    ]


def rollout_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    alike = "tables of their own below." if not all(map(is_by_habit, rows)) else f"{NOT_RUN}."
    parts = [
        "## Rollout",
        "Each window: measured (claimed, ratio). Parameters as the paper counts them, its count in "
        "brackets. Budget is the time that training was allowed, where it was limited.",
        NOT_ALIKE + alike,
    ]
    # What the paper's text says in place of the benchmarks, where anything was run on it.
    literal = {row["dataset"]: None for row in rows if row["dataset"] not in BENCHMARKS}
    for dataset in (*BENCHMARKS, *literal):
        here = [row for row in rows if row["dataset"] == dataset]
        by_habit = [row for row in here if is_by_habit(row)]
        measured = {(row["model"], row["recipe"]) for row in here}
        which = [each for each in VARIANTS if dataset in BENCHMARKS or each in measured]
        lines = [_rollout_line(by_habit, dataset, *each) for each in which]
        parts += [f"### {dataset}", table(HEADER, lines), *_alike(here, dataset), *remarks(here)]
        for name, text in (
            (f"rollout_{dataset}.png", f"Errors of each snapshot, {dataset}"),
            (f"fields_{dataset}.png", f"Snapshot 15 of the first test sequence, {dataset}"),
        ):
            parts += figure(results, folder, name, text)
    return parts


def _alike(rows: Sequence[Row], dataset: str) -> list[str]:
    """A table for each protocol that models were told to keep to."""
    parts = []
    for selection in SELECTIONS:
        here = by_protocol(rows, selection)
        if not all(map(is_by_habit, here)):
            chosen = [which for which in VARIANTS if habit(*which) is not None]
            lines = [_rollout_line(here, dataset, *which) for which in chosen]
            parts += [f"All alike, {SELECTED_ON[selection]}:", table(HEADER, lines)]
    return parts


def _rollout_line(rows: Sequence[Row], dataset: str, model: str, recipe: str) -> list[str]:
    found = entry(rows, dataset=dataset, model=model, recipe=recipe)
    claim = paper_claim(dataset, model)
    windows = [beside(found, name, getattr(claim, name, None)) for name in WINDOWS]
    one = found.done[0] if found.done else None
    if one is None:
        return [label(model, recipe), str(len(found.rows)), *windows, *["-"] * 6]
    counted, budget = paper_parameters(dataset, model), found.mean("budget_minutes")
    parameters = f"{one['parameters']:,}" + ("" if counted is None else f" ({counted:,})")
    return [
        label(model, recipe),
        str(len(found.rows)),
        *windows,
        parameters,
        "-" if budget is None else duration(60 * budget),
        _passes(found.mean("epochs") or 0),
        found.time,
        one["device"],
        one["selection"],
    ]
