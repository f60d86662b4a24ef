"""What `smore reproduce capacity` asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from smore.errors import SettingsError
from smore_paper.tables.capacity.measure import BASELINES, CASES, SMORE_MODEL

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


def cases_of(
    grids: Sequence[int] | None, sequences: Sequence[int] | None
) -> Sequence[tuple[int, int]]:
    """Grid and number of sequences, as the options pair them; by default those of the table.

    Raises:
        SettingsError: there are not as many of one as of the other.
    """
    if len(grids or ()) != len(sequences or ()):
        raise SettingsError(
            f"every --grid needs its --sequences, got {len(grids or ())} and {len(sequences or ())}"
        )
    return list(zip(grids or (), sequences or (), strict=True)) or CASES
