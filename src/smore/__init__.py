"""Stable, mesh-agnostic surrogates of time-dependent PDEs."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smore._face import (
        SMORE,
        Evaluation,
        LatentState,
        Settings,
        SmoreError,
        Trajectories,
        compare,
    )

__version__ = "0.1.0"

__all__ = [
    "SMORE",
    "Evaluation",
    "LatentState",
    "Settings",
    "SmoreError",
    "Trajectories",
    "compare",
]


def __getattr__(name: str) -> Any:
    """The public names are imported when one is asked for: `smore --help` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'smore' has no attribute {name!r}")
    from smore import _face

    return getattr(_face, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
