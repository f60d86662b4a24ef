"""`docs/reproduction.md`, written from the tables: what was claimed and measured, at what cost.

Errors are means over seeds, as the paper's are. What has no row says "not run".
"""

from __future__ import annotations

import os
from pathlib import Path

from smore.errors import SettingsError
from smore_paper.page.entries import FACTOR
from smore_paper.tables.algorithm1.page import algorithm1_section, glance_at_algorithm1
from smore_paper.tables.capacity.page import capacity_section, glance_at_capacity
from smore_paper.tables.cost.page import cost_section
from smore_paper.tables.ledger import read_rows
from smore_paper.tables.pointwise.page import glance_at_pointwise, pointwise_section
from smore_paper.tables.reduced.page import glance_at_reduced, reduced_section
from smore_paper.tables.rollout.page import glance_at_rollout, rollout_section
from smore_paper.tables.sparse.page import glance_at_sparse, sparse_section
from smore_paper.tables.stability.page import glance_at_stability, stability_section

TABLES = (
    "rollout",
    "algorithm1",
    "rates",
    "reduced",
    "cost",
    "stability",
    "pointwise",
    "capacity",
    "sparse",
)


def write_page(results: Path, page: Path) -> None:
    """Write `page` from the tables and figures in the folder `results`.

    Raises:
        SettingsError: there is none.
    """
    if not any((results / f"{name}.csv").exists() for name in TABLES):
        raise SettingsError(f"no table of `smore reproduce` in {results}; say where with --results")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_text(results, page))


def page_text(results: Path, page: Path) -> str:
    """The whole page; figures are linked as seen from `page`."""
    tables = (read_rows(results / f"{name}.csv") for name in TABLES)
    rollout, algorithm1, rates, reduced, cost, stability, pointwise, capacity, sparse = tables
    folder = os.path.relpath(results, page.parent)
    notes = page.with_name(f"{page.stem}_notes.md")
    parts = [
        "# Reproduction",
        f"Written by `smore reproduce page` from the tables in `{folder}`, not by hand. Every row "
        "there has its command, commit and machine. Claims are the paper's: means of three seeds, "
        "5,000 epochs (stability study 10,000) on A100 and MI250X GPUs."
        + (f" Why figures differ, by hand: [notes]({notes.name})." if notes.exists() else ""),
        "## At a glance",
        f"A claim *holds* here if the error measured is at most {FACTOR:g} times the one claimed.",
        *glance_at_rollout(rollout),
        *glance_at_algorithm1(algorithm1),
        *glance_at_reduced(reduced),
        *glance_at_sparse(sparse),
        *glance_at_stability(stability),
        *glance_at_pointwise(pointwise),
        *glance_at_capacity(capacity),
        *rollout_section(rollout, results, folder),
        *algorithm1_section(algorithm1, rates),
        *reduced_section(reduced, results, folder),
        *cost_section(rollout, cost, results, folder),
        *stability_section(stability, results, folder),
        *sparse_section(sparse, results, folder),
        *pointwise_section(pointwise),
        *capacity_section(capacity, results, folder),
    ]
    return "\n\n".join(parts) + "\n"
