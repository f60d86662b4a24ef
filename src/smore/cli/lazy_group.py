"""A group of commands that are known by name and loaded one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperGroup

from smore.cli.commands import GROUPS, Command, all_commands
from smore.cli.plain_help import plainly
from smore.errors import MissingExtraError


class LazyGroup(TyperGroup):
    """`smore`, or what follows one of its words.

    Help is made from the lines in `commands`; a command's module is imported when it is run.
    """

    words = ""

    def list_commands(self, ctx: Any) -> list[str]:
        names = [command.words.removeprefix(self.words).split()[0] for command in self._below()]
        return list(dict.fromkeys(names))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Enough of a command to list it, or to suggest it for a misspelt one."""
        command = self._command(cmd_name)
        if command is not None:
            return _as_command(lambda: None, cmd_name, command.help)
        return self._group(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        command = self._command(args[0])
        if command is None:
            return super().resolve_command(ctx, args)
        return args[0], loaded(command, args[0]), args[1:]

    def _below(self) -> Sequence[Command]:
        return [each for each in all_commands() if each.words.startswith(self.words)]

    def _command(self, name: str) -> Command | None:
        return next((each for each in self._below() if each.words == self.words + name), None)

    def _group(self, name: str) -> Any:
        if self.words + name not in GROUPS or name not in self.list_commands(None):
            return None
        words = f"{self.words}{name} "
        kind = type("Group", (LazyGroup,), {"words": words})
        app = typer.Typer(
            cls=kind,
            name=name,
            help=GROUPS[words.strip()],
            no_args_is_help=True,
            rich_markup_mode=None,
            add_completion=False,
        )
        app.callback()(lambda: None)
        return plainly(typer.main.get_command(app))


def loaded(command: Command, name: str) -> Any:
    """The command itself.

    Raises:
        MissingExtraError: an optional dependency of it is not installed.
    """
    try:
        target = EntryPoint(name, command.target, "").load()
    except ModuleNotFoundError as error:
        if command.extra is None or error.name is None:
            raise
        raise MissingExtraError(error.name, command.extra, f"smore {command.words}") from error
    if isinstance(target, typer.Typer):
        return plainly(typer.main.get_command(target))
    return _as_command(target, name)


def _as_command(function: Any, name: str, text: str | None = None) -> Any:
    app = typer.Typer(add_completion=False)
    app.command(name, help=text)(function)
    return plainly(typer.main.get_command(app))
