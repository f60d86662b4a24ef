"""Which methods there are, by name."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from traceback import walk_tb
from typing import Any, get_args

from smore.comparison._simple import ChosenPodDmd, Climatology, Persistence, Smore
from smore.comparison.forecaster import Forecaster
from smore.errors import MissingExtraError, SettingsError
from smore.settings import DynamicsKind

ENTRY_POINTS = "smore.models"
EXTRA = "paper"  # of those that our own distribution registers

OWN: dict[str, Callable[..., Forecaster]] = {
    "smore": Smore,
    "pod-dmd": ChosenPodDmd,
    "persistence": Persistence,
    "climatology": Climatology,
}


@dataclass(frozen=True)
class Model:
    """A method and how it is made.

    Args:
        name: in tables.
        make: a class, or what makes its instances.
        module: that the user wrote it in; None for those that are registered.
    """

    name: str
    make: Callable[..., Forecaster]
    module: str | None = None

    @property
    def is_random(self) -> bool:
        """Whether it takes a seed."""
        return "seed" in self._parameters

    def made(self, **given: Any) -> Forecaster:
        """An instance, told what its constructor has parameters for."""
        return self.make(**{name: given[name] for name in given if name in self._parameters})

    def failure(self, error: Exception) -> str:
        """What went wrong, and where if it was in the user's own module."""
        told = f"{type(error).__name__}: {error}"
        own = [
            f"{Path(frame.f_code.co_filename).name}:{line}"
            for frame, line in walk_tb(error.__traceback__)
            if self.module is not None and frame.f_globals.get("__name__") == self.module
        ]
        return f"{told} ({own[-1]})" if own else told

    @property
    def _parameters(self) -> set[str]:
        return set(inspect.signature(self.make).parameters)


def model_names() -> list[str]:
    """All that `find_model` knows without being told where."""
    kinds = [f"smore-{kind}" for kind in get_args(DynamicsKind) if kind != "auto"]
    return [*OWN, *kinds, *sorted(entry_points(group=ENTRY_POINTS).names)]


def find_model(name: str) -> Model:
    """A method by name; "module:Class" is one's own, imported from the current folder.

    Raises:
        SettingsError: there is none of that name.
        MissingExtraError: it takes packages that are not installed.
    """
    if name in OWN:
        return Model(name, OWN[name])
    if ":" in name:
        return _own_class(name)
    registered = {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}
    if name in registered:
        try:
            return Model(name, registered[name].load())
        except ModuleNotFoundError as error:
            raise MissingExtraError(error.name or "?", EXTRA, f"model {name}") from error
    dynamics = name.removeprefix("smore-")
    if dynamics != name and name in model_names():
        return Model(name, partial(Smore, dynamics=dynamics))
    raise SettingsError(
        f"{name!r} is no model; there are {', '.join(model_names())}, and your own as "
        "module:Class, with module.py in this folder"
    )


def of_class(kind: Any, name: str | None = None) -> Model:
    """A class that somebody wrote.

    Raises:
        SettingsError: it cannot be compared.
    """
    lacking = [each for each in ("fit", "forecast") if not callable(getattr(kind, each, None))]
    if lacking:
        raise SettingsError(
            f"{name or kind!r} has no {' and no '.join(lacking)}; a model is a class with both"
        )
    return Model(name or kind.__name__, kind, kind.__module__)


def _own_class(name: str) -> Model:
    """What the user wrote, found as Python finds modules of a script in the current folder."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = EntryPoint(name, name, "").load()
    except (ImportError, AttributeError) as error:
        raise SettingsError(
            f"{name!r} cannot be imported ({error}); expected module:Class, with module.py in the "
            "current folder"
        ) from error
    return of_class(found, name)
