"""The stability study on the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from smore_paper.claims import STABILITY_CLAIMS, STABILITY_DIMS
from smore_paper.page.entries import FACTOR, beside, entry, ordered
from smore_paper.page.markdown import NOT_RUN, epochs_of, figure, remarks, table, times
from smore_paper.tables.ledger import Row
from smore_paper.tables.stability.measure import (
    CONFIGURATIONS,
    DATASETS,
    EVERYWHERE,
    PAPER_EPOCHS,
    has_usual_start,
)

GROWTH = (50, 100)  # the latent dimensions between which the paper's figure tells growth


def glance_at_stability(rows: Sequence[Row]) -> list[str]:
    rows = [row for row in rows if has_usual_start(row)]
    if not rows:
        return [f"**Stability.** {NOT_RUN}"]
    return [
        f"**Stability.** The paper, {PAPER_EPOCHS:,} epochs: FULL never turns non-finite; without "
        "low rank it does on shallow water at p = 70 and 100; from p = 50 to 100 the error of FULL "
        "grows least. Here (the paper's growth in brackets):",
        "\n".join(_stability_lines(rows, dataset) for dataset in DATASETS),
    ]


def _stability_lines(rows: Sequence[Row], dataset: str) -> str:
    here = [row for row in rows if row["dataset"] == dataset and row["status"] == "done"]
    if not here:
        return f"- {dataset}: {NOT_RUN}"
    finite = "; ".join(f"{name} {_finiteness(here, dataset, name)}" for name in EVERYWHERE)
    growths = ", ".join(f"{name} {_growth(here, dataset, name)}" for name in EVERYWHERE)
    return (
        f"- {dataset}, {epochs_of(here)} epochs\n"
        f"    - non-finite or not: {finite}\n"
        f"    - growth: {growths}; that FULL grows least {_least_growth(here, dataset)}"
    )


def _finiteness(rows: Sequence[Row], dataset: str, name: str) -> str:
    """At which dimensions a run stays finite, or does not, as the paper's does."""
    agreeing: list[str] = []
    differing: list[str] = []
    for latent_dim in STABILITY_DIMS[dataset]:
        found = entry(rows, configuration=name, latent_dim=latent_dim)
        claimed = STABILITY_CLAIMS[dataset, name, latent_dim].first_non_finite_epoch
        if not found.done:
            continue
        gone = bool(found.values("first_non_finite_epoch"))
        # What the paper sees later than we trained is not expected here.
        early = claimed is not None and claimed >= min(row["epochs"] for row in found.done)
        if early and not gone:
            continue
        alike = gone == (claimed is not None and not early)
        (agreeing if alike else differing).append(str(latent_dim))
    parts = {"as claimed at p =": agreeing, "not as claimed at p =": differing}
    told = [f"{start} {', '.join(dims)}" for start, dims in parts.items() if dims]
    return ", ".join(told) or "cannot be told"


def _least_growth(rows: Sequence[Row], dataset: str) -> str:
    """Whether the error of FULL grows least, if errors are such that this says something."""
    growths = {name: _growths(rows, dataset, name)[0] for name in EVERYWHERE}
    own = growths.pop("FULL")
    others = [growth for growth in growths.values() if growth is not None]
    if own is None or len(others) < len(growths):
        return f"cannot be told: {NOT_RUN}"
    excess = max(
        ordered(row["full_mse"]) / STABILITY_CLAIMS[dataset, "FULL", row["latent_dim"]].full_mse
        for row in entry(rows, configuration="FULL").done
        if row["full_mse"] is not None
    )
    if math.isinf(excess):
        return "cannot be told: its forecasts overflow"
    verdict = "holds" if own <= min(others) else "does not hold"
    if excess <= FACTOR:
        return verdict
    return f"{verdict}, but with errors up to {times(excess)} the claimed ones that says little"


def _growths(rows: Sequence[Row], dataset: str, name: str) -> tuple[float | None, float]:
    """Relative change of the error from p = 50 to 100: here, claimed.

    Infinite if forecasts overflow at one of them.
    """
    small, large = (
        entry(rows, dataset=dataset, configuration=name, latent_dim=each).mean("full_mse")
        for each in GROWTH
    )
    before, after = (STABILITY_CLAIMS[dataset, name, each].full_mse for each in GROWTH)
    claimed = after / before - 1
    if small is None or large is None:
        return None, claimed
    finite = math.isfinite(small) and math.isfinite(large)
    return (large / small - 1 if finite else math.inf), claimed


def _growth(rows: Sequence[Row], dataset: str, name: str) -> str:
    here, claimed = _growths(rows, dataset, name)
    if here is None:
        return f"{NOT_RUN} ({claimed:+.1%})"
    return f"{'overflow' if math.isinf(here) else f'{here:+.1%}'} ({claimed:+.1%})"


def stability_section(rows: Sequence[Row], results: Path, folder: str) -> list[str]:
    others = [row for row in rows if not has_usual_start(row)]
    rows = [row for row in rows if has_usual_start(row)]
    parts = [
        "## Stability",
        "Full-window error of SMORE-LRLQ by Algorithm 1: measured for the last good state (claimed "
        f"for the best on the test set within {PAPER_EPOCHS:,} epochs, ratio), and the first "
        "non-finite epoch where there is one. It depends on how the dynamics start, which the "
        "paper does not say. Trainings may stay finite and their forecasts overflow all the same: "
        "training rolls out half as far.",
        *figure(results, folder, "stability.png", "Error over latent dimension"),
    ]
    for dataset in DATASETS:
        header = ["configuration", "cons", "eig", "clip", "low rank"]
        header += [f"p = {latent_dim}" for latent_dim in STABILITY_DIMS[dataset]]
        here = [row for row in rows if row["dataset"] == dataset]
        told = f"Epochs asked for: {epochs_of(here)}." if here else f"All {NOT_RUN}."
        lines = [
            [
                name,
                *("on" if on else "" for on in vars(mechanisms).values()),
                *(_stability_cell(here, dataset, name, each) for each in STABILITY_DIMS[dataset]),
                _growth(here, dataset, name),
            ]
            for name, mechanisms in CONFIGURATIONS.items()
        ]
        growth = "p = {} to {}".format(*GROWTH)
        parts += [f"### {dataset}", told, table([*header, growth], lines), *remarks(here)]
    return parts + _other_starts(others)


def _other_starts(rows: Sequence[Row]) -> list[str]:
    """What becomes of trainings whose quadratic term starts smaller or larger."""
    if not rows:
        return []
    header = ["benchmark", "configuration", "p", "start", "epochs", "error, non-finite epoch"]
    lines = [
        [
            row["dataset"],
            row["configuration"],
            str(row["latent_dim"]),
            f"{row['start']:g}",
            f"{row['epochs']:,}",
            _stability_cell([row], row["dataset"], row["configuration"], row["latent_dim"]),
        ]
        for row in rows
    ]
    told = "Other starts of the quadratic term, which the paper does not state (elsewhere 1e-3):"
    return [told, table(header, lines)]


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
