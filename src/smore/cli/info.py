"""`smore info`: the card that every model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json, print_json, print_table
from smore.model import SMORE


def info(
    model_file: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.")],
    as_json: Json = False,
) -> None:
    """Print a model's card: data, settings, scores, certificate and limits.

    All of it is kept in the file itself.
    """
    card = SMORE.load(model_file).card()
    if as_json:
        print_json(card.to_dict())
        return
    for name, rows in card.sections.items():
        print_table(name.capitalize(), ["", ""], rows, right=False, head=False)
