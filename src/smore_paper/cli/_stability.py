"""`smore reproduce stability`: SMORE-LRLQ with its mechanisms on and off."""

from __future__ import annotations

from typing import Annotated

import typer

from smore.cli.output import Json
from smore_paper.claims import STABILITY_DIMS
from smore_paper.cli._working import (
    RESULTS,
    Results,
    Seeds,
    do_runs,
    full_names,
    show_rows,
    simulate,
)
from smore_paper.tables.stability.draw import draw_stability
from smore_paper.tables.stability.measure import DATASETS as STABILITY_DATASETS
from smore_paper.tables.stability.measure import (
    DEFAULT_EPOCHS,
    EVERYWHERE,
    PAPER_EPOCHS,
    stability_runs,
    stability_table,
)


def _dims() -> str:
    """The paper's latent dimensions, in words."""
    return "; ".join(
        f"{', '.join(map(str, dims))} ({name})" for name, dims in STABILITY_DIMS.items()
    )


def stability(
    dataset: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(STABILITY_DATASETS)}; default: both."),
    ] = None,
    seeds: Seeds = 1,
    epochs: Annotated[
        int, typer.Option(min=1, help=f"Epochs of each run; the paper has {PAPER_EPOCHS:,}.")
    ] = DEFAULT_EPOCHS,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="All ten configurations at every latent dimension; default: all at the largest, "
            f"elsewhere {', '.join(EVERYWHERE)}.",
        ),
    ] = False,
    latent_dim: Annotated[
        list[int] | None,
        typer.Option(help=f"Some of {_dims()}; may be repeated; default: all."),
    ] = None,
    start: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Standard deviation of the quadratic term at the start, which the paper does not "
            "state, in rows of their own: of configurations without low rank; default: 1e-3.",
        ),
    ] = None,
    results: Results = RESULTS,
    as_json: Json = False,
) -> None:
    """SMORE-LRLQ with its four mechanisms on and off: ten configurations over latent dimension."""
    names = full_names(dataset, STABILITY_DATASETS)
    runs = stability_runs(names, seeds, whole=whole, latent_dims=latent_dim, start=start)
    simulate(names)
    rows = do_runs(stability_table(results, epochs), runs)
    columns = {"configuration": "configuration", "latent_dim": "p", "seed": "seed"}
    columns |= {"full_mse": "full"}
    columns |= {"paper_full_mse": "paper", "first_non_finite_epoch": "non-finite"}
    columns |= {"paper_first_non_finite_epoch": "paper"}
    show_rows(rows, columns, draw_stability(results), as_json)
