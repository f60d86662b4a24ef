"""What `smore reproduce capacity` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from smore.errors import SettingsError
from smore_paper.tables.capacity.measure import BASELINES, SMORE_MODEL
from smore_paper.tables.capacity.run import CASES, capacity_runs
from smore_paper.tables.ledger import Run

MODELS = (SMORE_MODEL, *BASELINES)

Grids = Annotated[
    list[int] | None,
    typer.Option("--grid", min=1, help="Points a side that SMORE is trained on; may be repeated."),
]
Sequences = Annotated[
    list[int] | None,
    typer.Option("--sequences", min=1, help="Sequences of 20 snapshots, one number per grid."),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help=f"Some of {', '.join(MODELS)}; may be repeated; default: all."),
]
Memory = Annotated[str, typer.Option(help="What SMORE may hold beside libraries.")]
Bound = Annotated[str, typer.Option(help="Resident memory that baselines are searched within.")]
Scratch = Annotated[
    Path | None, typer.Option(help="Folder for generated data; default: that of smore's cache.")
]


def asked_runs(
    grids: Sequence[int] | None,
    sequences: Sequence[int] | None,
    memory: str,
    models: Sequence[str] | None,
    bound: str,
) -> list[Run]:
    """The runs that the options ask for; by default all.

    Raises:
        SettingsError: options that do not fit together.
    """
    chosen = MODELS if models is None else tuple(models)
    unknown = [model for model in chosen if model not in MODELS]
    if unknown:
        raise SettingsError(f"--model takes {', '.join(MODELS)}; got {', '.join(unknown)}")
    if len(grids or ()) != len(sequences or ()):
        raise SettingsError(
            f"every --grid needs its --sequences, got {len(grids or ())} and {len(sequences or ())}"
        )
    cases = list(zip(grids or (), sequences or (), strict=True)) or CASES
    baselines = [model for model in chosen if model != SMORE_MODEL]
    return capacity_runs(cases if SMORE_MODEL in chosen else (), memory, baselines, bound)
