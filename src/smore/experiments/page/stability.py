"""The stability study on the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from smore.experiments.page.entries import beside, entry
from smore.experiments.page.markdown import NOT_RUN, figure, remarks, table
from smore.experiments.reproduction import Row
from smore.experiments.stability_table import (
    CONFIGURATIONS,
    DATASETS,
    EVERYWHERE,
    LATENT_DIMS,
    PAPER_EPOCHS,
    STABILITY_CLAIMS,
)


def glance_at_stability(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return [f"**Stability.** {NOT_RUN}"]
    return [
        f"**Stability.** The paper, {PAPER_EPOCHS:,} epochs: FULL never turns non-finite; without "
        "low rank it does on shallow water at p = 70 and 100; from p = 50 to 100 the error of FULL "
        "grows least. Here (the paper's growth in brackets):",
        "\n".join(_stability_line(rows, dataset) for dataset in DATASETS),
    ]


def _stability_line(rows: Sequence[Row], dataset: str) -> str:
    here = [row for row in rows if row["dataset"] == dataset and row["status"] == "done"]
    if not here:
        return f"- {dataset}: {NOT_RUN}"
    parts = []
    for name in ("FULL", "FULL without low rank"):
        chosen = [row for row in here if row["configuration"] == name]
        gone = [row for row in chosen if row["first_non_finite_epoch"] is not None]
        parts.append(f"{name} turned non-finite in {len(gone)} of {len(chosen)} runs")
    growths = ", ".join(f"{name} {_growth(here, dataset, name)}" for name in EVERYWHERE)
    return f"- {dataset}, {_epochs(here)} epochs: {'; '.join(parts)}; growth: {growths}"


def _growth(rows: Sequence[Row], dataset: str, name: str) -> str:
    """Relative change of the error from the smallest to the largest latent dimension."""
    ends = (LATENT_DIMS[0], LATENT_DIMS[-1])
    errors = [
        entry(rows, dataset=dataset, configuration=name, latent_dim=each).mean("full_mse")
        for each in ends
    ]
    claims = [STABILITY_CLAIMS[dataset, name, each].full_mse for each in ends]
    told = _change(*claims)
    if errors[0] is None or errors[1] is None:
        return f"{NOT_RUN} ({told})"
    return f"{_change(errors[0], errors[1])} ({told})"


def _change(before: float, after: float) -> str:
    return f"{after / before - 1:+.1%}" if math.isfinite(after / before) else "overflow"


def stability_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    parts = [
        "## Stability",
        "Full-window error of SMORE-LRLQ by Algorithm 1: measured for the last good state (claimed "
        f"for the best on the test set within {PAPER_EPOCHS:,} epochs, ratio), and the first "
        "non-finite epoch where there is one. It depends on how the dynamics start, which the "
        "paper does not say.",
        *figure(results, folder, "stability.png", "Error over latent dimension"),
    ]
    header = ["configuration", "cons", "eig", "clip", "low rank"]
    header += [f"p = {latent_dim}" for latent_dim in LATENT_DIMS]
    for dataset in DATASETS:
        here = [row for row in rows if row["dataset"] == dataset]
        told = f"Epochs asked for: {_epochs(here)}." if here else f"All {NOT_RUN}."
        lines = [
            [
                name,
                *("on" if on else "" for on in vars(mechanisms).values()),
                *(_stability_cell(here, dataset, name, each) for each in LATENT_DIMS),
                _growth(here, dataset, name),
            ]
            for name, mechanisms in CONFIGURATIONS.items()
        ]
        growth = f"p = {LATENT_DIMS[0]} to {LATENT_DIMS[-1]}"
        parts += [f"### {dataset}", told, table([*header, growth], lines), *remarks(here)]
    return parts


def _stability_cell(rows: Sequence[Row], dataset: str, name: str, latent_dim: int) -> str:
    found = entry(rows, configuration=name, latent_dim=latent_dim)
    claim = STABILITY_CLAIMS[dataset, name, latent_dim]
    text = beside(found, "full_mse", claim.full_mse)
    epochs = [int(epoch) for epoch in found.values("first_non_finite_epoch")]
    claimed = claim.first_non_finite_epoch
    if epochs or claimed is not None:
        here = ", ".join(map(str, epochs)) or ("never" if found.done else NOT_RUN)
        text += f"; non-finite: {here} ({claimed or 'never'})"
    return text


def _epochs(rows: Iterable[Row]) -> str:
    asked = sorted({row["epochs"] for row in rows if row["epochs"] is not None})
    return " or ".join(f"{epochs:,}" for epochs in asked) or NOT_RUN
