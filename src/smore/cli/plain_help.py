"""`--help` that fits a screen of 80 columns: names, sentences beside them, in groups."""

from __future__ import annotations

from collections import defaultdict
from types import MethodType
from typing import Any

FIRST, OWN = "Arguments", "Options"


def plainly(command: Any) -> Any:
    """The command, and those below it, with such a help: no name is cut, no box drawn."""
    command.rich_markup_mode = None
    below = getattr(command, "commands", None)
    if below is None:
        command.format_options = MethodType(_format_options, command)
    for each in (below or {}).values():
        plainly(each)
    return command


def _format_options(command: Any, context: Any, formatter: Any) -> None:
    """Arguments, the command's own options, then groups in the order in which they come."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    groups[FIRST], groups[OWN] = [], []
    for parameter in command.get_params(context):
        told = parameter.get_help_record(context)
        if told is not None:
            is_argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None)
            groups[FIRST if is_argument else panel or OWN].append(told)
    for name, lines in groups.items():
        if lines:
            with formatter.section(name):
                formatter.write_dl(lines)
