"""Code on pages: commands and options that exist, Python with names that are there."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from build_docs.commands import commands
from smore import SMORE

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
PLACEHOLDER = re.compile(r"\.\.\.$|^[A-Z]")


def check_code(root: Path) -> list[str]:
    """What is wrong with blocks of code in README and docs."""
    problems = []
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/*.md"))]:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, match.start()) + 1}"
            found = _python(match[2]) if match[1] == "python" else _shell(match[2])
            problems += [f"{where}: {problem}" for problem in found]
    return problems


def _shell(block: str) -> Iterator[str]:
    joined = block.replace("\\\n", " ")
    for line in joined.splitlines():
        words = _words(line.strip().removeprefix("$ "))
        if "-m" in words and "smore" in words[words.index("-m") :]:
            words = words[words.index("smore") :]
        if words[:1] == ["smore"]:
            yield from _command(words[1:])


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:  # prose with an apostrophe
        return []


def _command(words: list[str]) -> Iterator[str]:
    """What is wrong with a call of smore."""
    known = _known()
    while words and words[0].startswith("-"):  # options of smore itself
        words = words[2:] if words[0] == "--threads" else words[1:]
    name, rest = "", list(words)
    while rest and f"{name} {rest[0]}".strip() in known:
        name = f"{name} {rest.pop(0)}".strip()
    if not name:
        if words and not PLACEHOLDER.search(words[0]):
            yield f"smore has no command {words[0]!r}"
        return
    for word in rest:
        option = word.partition("=")[0]
        if option.startswith("--") and option not in known[name]:
            yield f"smore {name} has no option {option}"


@cache
def _known() -> dict[str, set[str]]:
    """Options of every command, and of the groups that they are in."""
    found: dict[str, set[str]] = {}
    for name, command in commands():
        parts = name.split()
        for length in range(1, len(parts)):
            found.setdefault(" ".join(parts[:length]), {"--help"})
        options = {
            each for param in command.params for each in (*param.opts, *param.secondary_opts)
        }
        found[name] = options | {"--help"}
    return found


def _python(block: str) -> Iterator[str]:
    try:
        tree = ast.parse(block)
    except SyntaxError as error:
        yield f"no Python: {error}"
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("smore"):
            module = import_module(str(node.module))
            names = (alias.name for alias in node.names)
            yield from (f"{node.module} has no {name}" for name in names if _lacks(module, name))
        if isinstance(node, ast.Attribute) and _is_model(node.value) and _lacks(SMORE, node.attr):
            yield f"SMORE has no {node.attr}"


def _is_model(node: ast.expr) -> bool:
    """By the name that all pages give it."""
    return isinstance(node, ast.Name) and node.id == "model"


def _lacks(owner: Any, name: str) -> bool:
    return not hasattr(owner, name) and name not in getattr(owner, "__annotations__", {})
