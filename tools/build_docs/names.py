"""The reference of Python names: a page for every room, an entry for every name of its face."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from smore.settings import Settings, when_tried

# Faces that users of the package meet, in the order of the site.
ROOMS = (
    "smore", "smore.comparison", "smore.data", "smore.evaluation", "smore.inference",
    "smore.assimilation", "smore.analysis", "smore.stability", "smore.surrogate", "smore.plotting",
    "smore.report", "smore.errors",
)  # fmt: skip
WHEN = {
    "first": "To try first",
    "then": "To try then",
    "rarely": "Those that rarely matter",
}


def name_reference(folder: Path) -> list[str]:
    """Write the pages; return the names that tell nothing of themselves."""
    folder.mkdir(parents=True, exist_ok=True)
    problems: list[str] = []
    told: set[str] = set()
    for room in ROOMS:
        module = import_module(room)
        lines = [f"# `{room}`", "", inspect.getdoc(module) or "", ""]
        for name in _names(module):
            problems += undocumented(room, name, getattr(module, name))
            lines += _entry(module, name, told)
        page = folder / f"{room.replace('.', '_')}.md"
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "settings.md").write_text("\n".join(_settings()) + "\n", encoding="utf-8")
    problems += [
        f"Settings.{name} has no description"
        for name, field in Settings.model_fields.items()
        if not field.description
    ]
    return problems


def _names(module: ModuleType) -> list[str]:
    """What a face exports; of a plain module, its own classes and functions."""
    exported = getattr(module, "__all__", None)
    if exported is not None:
        return list(exported)
    own = inspect.getmembers(
        module, lambda each: getattr(each, "__module__", "") == module.__name__
    )
    return [name for name, _ in own if not name.startswith("_")]


def _entry(module: ModuleType, name: str, told: set[str]) -> list[str]:
    """What a name is; once, and from then on a link."""
    value = getattr(module, name)
    defined = getattr(value, "__module__", None)
    if not (inspect.isclass(value) or inspect.isfunction(value)) or not defined:
        return [f"## `{name}`", "", _kind(value), ""]
    if defined.split(".")[0] != "smore":  # a name for a type of another package
        return [f"## `{name}`", "", _kind(value), ""]
    where = f"{defined}.{value.__qualname__}"
    if where in told:
        return [f"## `{name}`", "", f"See [`{where}`][{where}].", ""]
    told.add(where)
    return [f"::: {where}", ""]


def _kind(value: Any) -> str:
    if isinstance(value, int | float | str):
        return f"A constant, `{value!r}`."
    if isinstance(value, tuple | list | dict):
        return "A table of constants."
    return f"A name for the type `{str(value)[:200]}`."


def undocumented(room: str, name: str, value: Any) -> Iterator[str]:
    """A class or function without docstring, and public methods of a class without one."""
    own = getattr(value, "__module__", "") or ""
    if not own.startswith("smore") or not (inspect.isclass(value) or inspect.isfunction(value)):
        return
    if not value.__doc__:
        yield f"{room}.{name} has no docstring"
    if inspect.isclass(value):
        for method, each in vars(value).items():
            told = each.fget if isinstance(each, property) else getattr(each, "__func__", each)
            is_code = inspect.isfunction(told) and not method.startswith("_")
            if is_code and not inspect.getdoc(getattr(value, method)) and _is_long(told):
                yield f"{room}.{name}.{method} has no docstring"


def _is_long(function: Any) -> bool:
    """Whether there is more to say than the name does: properties of a line tell themselves."""
    lines = inspect.getsource(function).strip().splitlines()
    return len(lines) > MOST_LINES


# A decorator, a signature and a line.
MOST_LINES = 3


def _settings() -> Iterator[str]:
    yield from ("# Settings", "", "Keywords of `SMORE`, options of `smore fit`.", "")
    for when, title in WHEN.items():
        yield from (f"## {title}", "", "| setting | default | |", "| --- | --- | --- |")
        for name, field in Settings.model_fields.items():
            if when_tried(name) == when:
                default = "chosen" if field.default is None else f"`{field.default}`"
                told = (field.description or "").replace("|", "\\|")
                yield f"| `{name}` | {default} | {told} |"
        yield ""
