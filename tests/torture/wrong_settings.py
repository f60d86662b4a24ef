"""Settings that cannot be: each is refused at once, under its name.

The cases are made from what `Settings` says about its fields, so that a new field is tested too.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from outcomes import Case, Outcome, judge, refusal
from pydantic import ByteSize
from pydantic.fields import FieldInfo

from smore import SMORE
from smore.errors import SettingsError
from smore.settings import RECIPE_OF, Settings
from smore_paper.presets import from_preset

ASKED = "each refused in under a second with the field's name"
PER_COMMAND = 60  # cases for each run of the command line, which takes seconds to start

# Values that are fine alone, and the field that is named when they come together.
CONTRADICTIONS: list[tuple[dict[str, Any], str]] = [
    ({"integrator": "exact", "dynamics": "lrlq"}, "integrator"),
    ({"integrator": "exact", "dynamics": "conservative"}, "integrator"),
    ({"integrator": "strang"}, "integrator"),
    ({"integrator": "strang", "dynamics": "mlp"}, "integrator"),
    ({"gradient": "adjoint", "integrator": "rk4", "recipe": "paper"}, "gradient"),
    ({"gradient": "adjoint", "integrator": "exact", "recipe": "paper"}, "gradient"),
    ({"rank": 3}, "rank"),
    ({"rank": 3, "dynamics": "quadratic"}, "rank"),
    ({"dissipative": True}, "dissipative"),
    ({"dissipative": True, "dynamics": "lrlq"}, "dissipative"),
    ({"dynamics": "conservative", "recipe": "paper"}, "dynamics"),
    ({"dynamics": "conservative", "normalization": "standard"}, "normalization"),
    ({"dynamics_hidden_dim": 8}, "dynamics_hidden_dim"),
    ({"dynamics_hidden_dim": 8, "dynamics": "lrlq"}, "dynamics_hidden_dim"),
]


def check(count: int, seed: int, folder: Path) -> Outcome:
    """Try `count` wrong settings in Python, and some of them on the command line."""
    chance = random.Random(seed)
    wrong = [_wrong_settings(chance) for _ in range(count)]
    commands = [
        (f"--{field.replace('_', '-')}={values[field]}", field)
        for values, field in wrong
        if field in Settings.model_fields
        and len(values) == 1
        and isinstance(values[field], int | float)
    ][: math.ceil(count / PER_COMMAND)]
    cases = [*map(partial(_case, chance), wrong), *_on_the_command_line(commands, folder)]
    return judge("wrong settings", ASKED, cases, commands=len(commands))


def _case(chance: random.Random, wrong: tuple[dict[str, Any], str]) -> Case:
    values, field = wrong
    entrances: list[Callable[..., Any]] = [Settings.of, SMORE]
    if field in Settings.model_fields and len(values) == 1 and field not in RECIPE_OF:
        entrances += [Settings().replace, partial(from_preset, "wave-koopman")]
    entrance = chance.choice(entrances)
    return f"{values}", partial(_refused_at_once, partial(entrance, **values), field)


def _refused_at_once(action: Callable[[], Any], field: str) -> str | None:
    started = time.monotonic()
    fault = refusal(action, SettingsError, field)
    seconds = time.monotonic() - started
    return f"took {seconds:.1f} s" if seconds > 1 else fault


def _on_the_command_line(commands: list[tuple[str, str]], folder: Path) -> Iterator[Case]:
    for option, field in commands:
        yield f"smore fit {option}", partial(_refused_command, option, field, folder)


def _refused_command(option: str, field: str, folder: Path) -> str | None:
    command = [sys.executable, "-m", "smore", "--threads", "1", "fit", "data.nc", option]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 2 or field not in done.stderr or "Traceback" in done.stderr:
        return f"exit code {done.returncode}: {done.stderr[:200]}"
    return None


def _wrong_settings(chance: random.Random) -> tuple[dict[str, Any], str]:
    """Settings that must be refused, and the field that must be named."""
    kind = chance.choices(["value", "pair", "recipe", "name"], [70, 15, 10, 5])[0]
    if kind == "pair":
        return chance.choice(CONTRADICTIONS)
    if kind == "recipe":
        field = chance.choice(list(RECIPE_OF))
        other = "fast" if RECIPE_OF[field] == "paper" else "paper"
        return {field: _another_value(Settings.model_fields[field]), "recipe": other}, field
    if kind == "name":
        field = chance.choice(list(Settings.model_fields)) + chance.choice(["s", "_", "2"])
        return {field: 1}, field
    field = chance.choice(list(Settings.model_fields))
    return {field: _wrong_value(Settings.model_fields[field], chance)}, field


def _another_value(field: FieldInfo) -> Any:
    """Not the default, which nobody need have asked for."""
    if get_origin(field.annotation) is Literal:
        return next(each for each in get_args(field.annotation) if each != field.default)
    if isinstance(field.default, bool):
        return not field.default
    return field.default + 1 if isinstance(field.default, int) else (field.default or 1.0) / 2


def _wrong_value(field: FieldInfo, chance: random.Random) -> Any:
    """A value outside of the field's range or of another type."""
    annotation, optional = field.annotation, False
    if get_origin(annotation) in (types.UnionType, Union):
        optional = type(None) in get_args(annotation)
        (annotation,) = (each for each in get_args(annotation) if each is not type(None))
    foreign: list[Any] = [[], {}, ["auto"], object()] + [None] * (not optional)
    if get_origin(annotation) is Literal:
        wrong = [*foreign, "sometimes", "", 3, True, f"{get_args(annotation)[0]} "]
    elif annotation is bool:
        wrong = [*foreign, "perhaps", 2, 0.5]
    elif annotation is str:
        wrong = [*foreign, 3, 1.5]
    else:
        assert annotation in (int, float, ByteSize), annotation
        beyond = [value for bound in field.metadata for value in _beyond(bound, chance)]
        wrong = [*foreign, "many", "", math.nan, math.inf, -math.inf, *beyond, *beyond]
        if annotation is int:
            wrong += [1.5, "1.5"]
    return chance.choice(wrong)


def _beyond(bound: Any, chance: random.Random) -> list[float]:
    """Values on the wrong side of a bound."""
    below, above = getattr(bound, "ge", None), getattr(bound, "le", None)
    least, most = getattr(bound, "gt", None), getattr(bound, "lt", None)
    far = chance.choice([1, 2, 10**6, 10**30])
    values = [] if below is None else [below - 1, below - far]
    values += [] if least is None else [least, least - 1, least - far]
    values += [] if above is None else [above + 1, above + far]
    values += [] if most is None else [most, most + 1, most + far]
    return values
