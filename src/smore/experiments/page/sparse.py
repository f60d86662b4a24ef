"""Sparse initialisation on the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smore.experiments.claims import SPARSE_CLAIMS, SPARSE_OBSERVABILITY
from smore.experiments.page.entries import FACTOR, Entry, beside, entry
from smore.experiments.page.markdown import NOT_RUN, figure, number, percent, table
from smore.experiments.recipe_bench import BEST_PRESETS
from smore.experiments.reproduction import Row
from smore.presets import preset


def glance_at_sparse(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return [f"**Sparse initialisation.** {NOT_RUN}"]
    lines = []
    for name in BEST_PRESETS:
        errors = {v: _level(rows, name, v, "random").mean("full_mse") for v in SPARSE_CLAIMS[name]}
        known = {v: error for v, error in errors.items() if error is not None}
        holds = [v for v, error in known.items() if error <= FACTOR * SPARSE_CLAIMS[name][v]]
        text = f"- {name}{_recipes(rows, name)}: holds at {len(holds)} of {len(known)} fractions"
        failing = [percent(v) for v in known if v not in holds]
        text += f", not at {', '.join(failing)}" if failing else ""
        lines.append(text if known else f"- {name}: {NOT_RUN}")
    title = "**Sparse initialisation**, random points, median over masks:"
    return [title, "\n".join(lines)]


def _recipes(rows: Sequence[Row], name: str) -> str:
    """By which the model was trained; `smore sparse` does not say."""
    told = sorted({row["recipe"] for row in rows if row["model"] == name and "recipe" in row})
    return f", {' or '.join(told)} recipe" if told else ""


def sparse_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    parts = [
        "## Sparse initialisation",
        "Full-window error from part of the first snapshot: measured (claimed, ratio), the median "
        "over random masks; then with as many sensors placed by smore; then c_S, whose scale is "
        "that of each model's latents, so that only its zeros can be compared.",
    ]
    header = ["visible", "random", "placed", "c_S", "c_S, paper", "time"]
    for name in BEST_PRESETS:
        lines = []
        for visible, claim in SPARSE_CLAIMS[name].items():
            random = _level(rows, name, visible, "random")
            placed = _level(rows, name, visible, "placed")
            seen = SPARSE_OBSERVABILITY[name].get(visible)
            lines.append(
                [
                    percent(visible),
                    beside(random, "full_mse", claim),
                    placed.told("full_mse"),
                    random.told("observability"),
                    number(seen),
                    random.time,
                ]
            )
        parts += [f"### {name}", table(header, lines)]
        dataset = preset(name).dataset
        for file, text in (
            (f"sparse_{dataset}.png", f"Sparse sweep, {dataset}"),
            (f"sparse_fields_{dataset}.png", f"Forecast from 10% of the points, {dataset}"),
        ):
            parts += figure(results, folder, file, text)
    return parts


def _level(rows: Sequence[Row], name: str, visible: float, placement: str) -> Entry:
    return entry(rows, model=name, visible=visible, placement=placement)
