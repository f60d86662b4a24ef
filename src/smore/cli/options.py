"""Options that several commands have in common."""

from typing import Annotated

import typer

from smore.data import Geometry, Missing

MissingOption = Annotated[Missing, typer.Option(help="Missing values: refuse or mask.")]
GeometryOption = Annotated[
    Geometry | None,
    typer.Option(help="Coordinates: box (plain) or sphere; default: told by the file."),
]
ChannelOption = Annotated[
    list[str] | None,
    typer.Option("--channel", help="Draw this channel, may be repeated; default: all."),
]
