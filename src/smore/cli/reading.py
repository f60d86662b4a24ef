"""Options that say how files are read, the same for every command that reads some."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from smore.cli.output import say
from smore.data import Trajectories
from smore.errors import SettingsError

PANEL = "Reading files"


def _option(name: str, metavar: str, text: str, kind: Any = str | None) -> inspect.Parameter:
    told = typer.Option(f"--{name}", metavar=metavar, help=text, rich_help_panel=PANEL)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, told]
    )


OPTIONS = (
    _option("channels", "A,B", "Variables to take; default: all over time and space."),
    _option(
        "select",
        "DIM=VALUE",
        "Keep some entries of a dimension: level=500, member=0:10 (both ends), "
        "time=1980-01:1999-12; "
        "may repeat.",
        list[str] | None,
    ),
    _option(
        "dims",
        "DIM=PART",
        "What a dimension is: time, sequence or space; may repeat.",
        list[str] | None,
    ),
    _option("coords", "A,B", "Variables that say where points are; default: told by the file."),
    _option(
        "join",
        "time|sequence|channels",
        "How several files belong together; default: told by their times.",
        Literal["time", "sequence", "channels"] | None,
    ),
    _option("group", "NAME", "Group of an HDF5 file."),
)


def with_reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options; it takes `reading`, arguments of `Trajectories.open`."""
    own = inspect.signature(command, eval_str=True)
    named = [p for p in own.parameters.values() if p.name != "reading"]
    kept = [p for p in named if p.kind is not inspect.Parameter.VAR_KEYWORD]
    rest = [p for p in named if p.kind is inspect.Parameter.VAR_KEYWORD]
    fresh = [option for option in OPTIONS if option.name not in own.parameters]

    signature = inspect.Signature(kept + list(fresh) + rest)

    def run(*positional: Any, **named: Any) -> Any:
        arguments = signature.bind(*positional, **named).arguments
        given = {option.name: arguments.pop(option.name, None) for option in fresh}
        values = {
            name: value for each in rest for name, value in arguments.pop(each.name, {}).items()
        }
        return command(**arguments, **values, reading=parsed(**given))

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__doc__, run.__name__ = command.__doc__, command.__name__
    run.__annotations__ = {p.name: p.annotation for p in kept + list(fresh)}
    return run


def parsed(
    channels: str | None = None,
    select: list[str] | None = None,
    dims: list[str] | None = None,
    coords: str | None = None,
    join: str | None = None,
    group: str | None = None,
) -> dict[str, Any]:
    """Options as the arguments of `Trajectories.open`, those that were given."""
    how = {
        "channels": None if channels is None else _names(channels),
        "coordinate_names": None if coords is None else _names(coords),
        "select": {name: _choice(value) for name, value in _pairs(select, "--select", "level=500")},
        "dims": dict(_pairs(dims, "--dims", "frame=time")),
        "join": join,
        "group": group,
    }
    return {name: value for name, value in how.items() if value}


def say_reading(trajectories: Trajectories) -> None:
    """Tell what was done to files on the way, where that is not plain."""
    for note in () if trajectories.reading is None else trajectories.reading.notes:
        say(f"note: {note}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pairs(texts: list[str] | None, option: str, example: str) -> list[tuple[str, str]]:
    pairs = []
    for part in (part for text in texts or [] for part in _names(text)):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value):
            raise SettingsError(f"{option} takes NAME=VALUE, such as {example}, got {part!r}")
        pairs.append((name, value))
    return pairs


def _choice(text: str) -> Any:
    """A value, or a pair of ends of which either may be left out."""
    low, colon, high = (end.strip() for end in text.partition(":"))
    if not colon:
        return text
    if ":" in high:
        raise SettingsError(f"--select takes a value or LOW:HIGH, got {text!r}")
    return (low or None, high or None)
