"""Every field of a settings model as an option of a command.

The model stays the only place that knows names, defaults, help and ranges. Values travel as text
and are validated by the model itself, so a bad one is refused with the field's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from smore.settings import when_tried

# Groups of the help, in the order in which people should look at them.
PANELS = {
    "first": "Settings to try first",
    "then": "Settings to try then",
    "rarely": "Settings that rarely matter",
}


def with_fields_of(model: type[BaseModel]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command one option per field of `model`.

    The command takes `**values`: those fields the user set, as text, lists or None.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]

        def run(**arguments: Any) -> Any:
            given = {name: arguments.pop(name) for name in model.model_fields}
            values = {
                name: _parse(text, model.model_fields[name])
                for name, text in given.items()
                if text is not None
            }
            return command(**arguments, **values)

        fields = sorted(model.model_fields.items(), key=lambda each: _place(each[0]))
        options = [_option(name, field) for name, field in fields]
        run.__signature__ = inspect.Signature(kept + options)  # type: ignore[attr-defined]
        run.__doc__ = command.__doc__
        run.__name__ = command.__name__
        run.__annotations__ = {p.name: p.annotation for p in kept + options}
        return run

    return decorate


def _option(name: str, field: FieldInfo) -> inspect.Parameter:
    shown = field.description or ""
    if field.default is not None:
        shown += f" (default: {field.default})"
    elif "default" not in shown:
        shown += " (default: from the data)"
    annotation = Annotated[
        str | None,
        typer.Option(
            f"--{name.replace('_', '-')}",
            metavar=_metavar(field),
            help=shown,
            show_default=False,
            rich_help_panel=PANELS[when_tried(name)],
        ),
    ]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _place(name: str) -> int:
    return list(PANELS).index(when_tried(name))


def _metavar(field: FieldInfo) -> str:
    choices = [each for each in _flat(field.annotation) if isinstance(each, str)]
    if choices:
        return "|".join(choices)
    text = str(field.annotation)
    kinds = {"tuple": "A,B", "int": "N", "float": "X", "bool": "true|false"}
    return next((metavar for kind, metavar in kinds.items() if kind in text), "TEXT")


def _flat(annotation: Any) -> list[Any]:
    """All arguments of a type, those of its arguments too."""
    inner = get_args(annotation)
    return [annotation] if not inner else [each for part in inner for each in _flat(part)]


def _parse(text: str, field: FieldInfo) -> Any:
    """Text as the model's validator takes it: "none" is None, "a,b" a tuple."""
    if text.lower() == "none":
        return None
    if "tuple" in str(field.annotation):
        return text.split(",")
    return text
