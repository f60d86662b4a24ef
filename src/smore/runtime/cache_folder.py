"""Where smore keeps files that it can make again."""

import os
from pathlib import Path


def default_root() -> Path:
    """$SMORE_CACHE, else $XDG_CACHE_HOME/smore, else ~/.cache/smore."""
    if named := os.environ.get("SMORE_CACHE"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "smore"
