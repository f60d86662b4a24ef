"""The reference of commands: every option of every command, from its own help."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer

from smore.cli.app import app
from smore.cli.commands import all_commands
from smore.cli.lazy_group import loaded

OWN = "Options"


@cache
def commands() -> tuple[tuple[str, Any], ...]:
    """Every command with its words, those of groups one by one."""
    return tuple(
        each
        for command in all_commands()
        for each in _with_those_below(command.words, loaded(command, command.words.split()[-1]))
    )


def _with_those_below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)
    if not below:
        yield words, command
    for name, each in (below or {}).items():
        yield from _with_those_below(f"{words} {name}", each)


def command_reference(folder: Path) -> list[str]:
    """Write a page of smore's commands and one of the laboratory's; return what is missing."""
    own = {command.words for command in all_commands() if command.extra is None}
    problems: list[str] = []
    pages: dict[str, list[str]] = {"commands": [], "laboratory": []}
    for words, command in commands():
        page = "commands" if words in own else "laboratory"
        lines, missing = described(words, command)
        pages[page] += lines
        problems += missing
    folder.mkdir(parents=True, exist_ok=True)
    common, missing = described("", typer.main.get_command(app))
    titles = {
        "commands": ["# Commands", "", *common],
        "laboratory": [
            "# Commands of the laboratory",
            "",
            "They come with the extra `[paper]`.",
            "",
        ],
    }
    for page, lines in pages.items():
        (folder / f"{page}.md").write_text("\n".join([*titles[page], *lines]), encoding="utf-8")
    return problems + missing


def described(words: str, command: Any) -> tuple[list[str], list[str]]:
    """A command in Markdown, and what it does not tell."""
    name = f"smore {words}".strip()
    missing = []
    told = inspect.cleandoc(command.help or "")
    if not told:
        missing.append(f"{name}: no help")
    groups: dict[str, list[str]] = defaultdict(list)
    arguments = []
    for parameter in command.params:
        if not (getattr(parameter, "help", None) or "").strip():
            missing.append(f"{name}: {parameter.opts[-1]} is not documented")
        elif parameter.param_type_name == "argument":
            label = parameter.metavar or parameter.name.upper()
            arguments.append(_row(label.strip("[].").upper(), parameter.help))
        else:
            groups[getattr(parameter, "rich_help_panel", None) or OWN].append(_option(parameter))
    heading = [f"## {name}", "", told, ""] if words else [told, ""]
    lines = [*heading, *_table("Arguments", arguments)]
    for group, rows in groups.items():
        lines += _table(group, rows)
    return lines, missing


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))
    default = parameter.default
    plain = default is not None and not callable(default) and parameter.show_default is not False
    told = f" (default: {default})" if plain and not isinstance(default, bool) else ""
    return _row(names, parameter.help + told, code=False)


def _row(name: str, text: str, *, code: bool = True) -> str:
    shown = f"`{name}`" if code else name
    return f"| {shown} | {_safe(text)} |"


def _safe(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _table(title: str, rows: list[str]) -> list[str]:
    return [f"| {title} | |", "| --- | --- |", *rows, ""] if rows else []
