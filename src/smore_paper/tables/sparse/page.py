"""Sparse initialisation on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smore_paper.benches.recipes import BEST_PRESETS
from smore_paper.claims import SPARSE_CLAIMS, SPARSE_OBSERVABILITY
from smore_paper.page.entries import FACTOR, Entry, beside, entry
from smore_paper.page.markdown import NOT_RUN, figure, number, percent, table
from smore_paper.presets import preset
from smore_paper.tables.ledger import Row
from smore_paper.tables.sparse.measure import METHOD, RECIPE, which

# Recipe of the model, and method by which its initial state is inferred.
Way = tuple[str, str]
USUAL: Way = (RECIPE, METHOD)
PAPERS: Way = ("paper", "adam")
HEADER = ["visible", "random", "placed", "c_S", "c_S, paper", "time"]


def glance_at_sparse(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return [f"**Sparse initialisation.** {NOT_RUN}"]
    lines = [line for name in BEST_PRESETS for line in _glances(rows, name)]
    title = "**Sparse initialisation**, random points, median over masks; the paper's way is "
    return [f"{title}{_told(PAPERS)}:", "\n".join(lines)]


def _glances(rows: Sequence[Row], name: str) -> list[str]:
    """At how many fractions the claims hold, a line for each way in which that was measured."""
    claims = SPARSE_CLAIMS[name]
    lines = []
    for way in _ways(rows, name):
        errors = {v: _level(rows, name, way, v, "random").mean("full_mse") for v in claims}
        known = {v: error for v, error in errors.items() if error is not None}
        holds = [v for v, error in known.items() if error <= FACTOR * claims[v]]
        text = f"- {name}, {_told(way)}: holds at {len(holds)} of {len(known)} fractions"
        failing = [percent(v) for v in known if v not in holds]
        lines.append(text + (f", not at {', '.join(failing)}" if failing else ""))
    return lines or [f"- {name}: {NOT_RUN}"]


def sparse_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    parts = [
        "## Sparse initialisation",
        "Full-window error from part of the first snapshot: measured (claimed, ratio), the median "
        "over random masks; then with as many sensors placed by smore; then c_S, whose scale is "
        "that of each model's latents, so that only its zeros can be compared.",
        _difference(rows),
    ]
    for name in BEST_PRESETS:
        for way in _ways(rows, name) or [USUAL]:
            heading = name if way == USUAL else f"{name}, {_told(way)}"
            parts += [f"### {heading}", table(HEADER, _lines(rows, name, way))]
            file = which(preset(name).dataset, *way)
            told = file.replace("_", ", ")
            parts += figure(results, folder, f"sparse_{file}.png", f"Sparse sweep, {told}")
            text = f"Forecast from 10% of the points, {told}"
            parts += figure(results, folder, f"sparse_fields_{file}.png", text)
    return parts


def _difference(rows: Sequence[Row]) -> str:
    """What stands beside the paper's claims, and is not measured as they were."""
    done = {way for name in BEST_PRESETS for way in _ways(rows, name)}
    told = "has tables of its own below" if PAPERS in done else NOT_RUN
    return (
        "The claims are of models that Algorithm 1 trained and the test set selected, with the "
        f"initial state fitted by 1,000 steps of Adam. Unless a heading says otherwise, measured "
        "here are models of the fast recipe, which sees no test data, with the posterior mean of "
        "the state under a Gaussian prior of the training latents: ratios compare both, model and "
        "fit. The paper's way, `smore reproduce sparse --recipe paper --method adam`: "
        f"{told}."
    )


def _lines(rows: Sequence[Row], name: str, way: Way) -> list[list[str]]:
    """A line for each fraction."""
    lines = []
    for visible, claim in SPARSE_CLAIMS[name].items():
        random = _level(rows, name, way, visible, "random")
        placed = _level(rows, name, way, visible, "placed")
        lines.append(
            [
                percent(visible),
                beside(random, "full_mse", claim),
                placed.told("full_mse"),
                random.told("observability"),
                number(SPARSE_OBSERVABILITY[name].get(visible)),
                random.time,
            ]
        )
    return lines


def _way(row: Row) -> Way:
    return row["recipe"], row["method"]


def _ways(rows: Sequence[Row], name: str) -> list[Way]:
    """In which a preset was measured, the usual one first."""
    found = {_way(row) for row in rows if row["model"] == name}
    return sorted(found, key=lambda way: (way != USUAL, str(way)))


def _told(way: Way) -> str:
    return f"{way[0]} recipe, {way[1]}"


def _level(rows: Sequence[Row], name: str, way: Way, visible: float, placement: str) -> Entry:
    here = [row for row in rows if _way(row) == way]
    return entry(here, model=name, visible=visible, placement=placement)
