"""Which commands there are, without loading any: `smore --help` must not wait for torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

ENTRY_POINTS = "smore.commands"


@dataclass(frozen=True)
class Command:
    """A command that is loaded when it is called.

    Args:
        words: how it is called, such as "data info".
        target: "module:name" of a function with typer's annotations, or of a Typer app.
        help: one line.
        extra: of which optional dependencies it may need some.
    """

    words: str
    target: str
    help: str
    extra: str | None = None


GROUPS = {"data": "Look into files, and make some."}
COMMANDS = (
    Command("demo", "smore.cli.demo:demo", "Learn the wave equation and forecast it."),
    Command("fit", "smore.cli.fit:fit", "Train a model and write it to a file."),
    Command(
        "evaluate", "smore.cli.evaluate:evaluate", "Score a model's forecasts beside simple ones."
    ),
    Command(
        "compare",
        "smore.cli.compare:compare",
        "Score several methods on your data: ours, others', your own.",
    ),
    Command(
        "forecast", "smore.cli.forecast:forecast", "Forecast fields from observations of one time."
    ),
    Command(
        "assimilate",
        "smore.cli.assimilate:assimilate",
        "Find whole fields behind a stream of sensors.",
    ),
    Command(
        "report", "smore.cli.report:report", "Write one page about a model: how good, how far, why."
    ),
    Command("info", "smore.cli.info:info", "Print a model's card: data, settings, scores, limits."),
    Command("certify", "smore.cli.certify:certify", "Say what is proved about stability."),
    Command("modes", "smore.cli.modes:modes", "Show what the learned dynamics consist of."),
    Command("sensors", "smore.cli.sensors:sensors", "Place sensors, and say what they promise."),
    Command(
        "explore",
        "smore.cli.explore:explore",
        "Play with a model in the browser: sensors, forecasts, errors.",
        "explore",
    ),
    Command("data info", "smore.cli.data:info", "Show how smore reads files."),
    Command("data split", "smore.cli.data_split:split", "Put a part of the data aside, for tests."),
    Command(
        "data convert",
        "smore.cli.data_convert:convert",
        "Make NetCDF of arrays and tables; convert mesh files.",
    ),
)


@cache
def all_commands() -> tuple[Command, ...]:
    """Those of smore, then those that other packages register; looked up once."""
    entries = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    return (*COMMANDS, *(command for entry in entries for command in entry.load()))
