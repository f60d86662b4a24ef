"""Which run a checkpoint belongs to: settings and data, by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from smore.data import Trajectories, fingerprint
from smore.errors import SettingsError
from smore.settings import RETIRED, Settings
from smore.training.checkpoints.files import newest


def require_same_settings(folder: str | os.PathLike[str] | None, settings: Settings) -> None:
    """Refuse to resume with other settings, before any data are read.

    Raises:
        SettingsError: the newest checkpoint in the folder was started with others.
        ModelFileError: there are files, but none can be read.
    """
    found = None if folder is None else newest(Path(folder))
    if found is not None:
        path, (identity, _, _), _ = found
        here = _settings_identity(settings)
        there = {name: text for name, text in identity.items() if name in here or name in RETIRED}
        require_same(path, there, here)


def _settings_identity(settings: Settings) -> dict[str, str]:
    chosen = settings.model_dump(exclude={"device"})
    return {name: str(value) for name, value in chosen.items()}


def run_identity(
    settings: Settings, training: Trajectories, selecting: Trajectories | None
) -> dict[str, str]:
    """Settings and data of a run, by name, as `Checkpoints` compares them."""
    identity = _settings_identity(settings)
    identity |= {f"training {name}": text for name, text in fingerprint(training).items()}
    if selecting is not None:
        identity |= {f"selection {name}": text for name, text in fingerprint(selecting).items()}
    return identity


def require_same(path: Path, there: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse to go on with another run's checkpoint."""
    here = {name: str(value) for name, value in RETIRED.items() if name in there} | {**here}
    differences = [
        f"{name} was {there.get(name, 'not there')}, is {here.get(name, 'not there')}"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    ]
    if differences:
        raise SettingsError(
            f"{path} belongs to another run: {'; '.join(differences)}. Resume with the settings "
            f"and data it was started with, or remove {path.parent} to start anew"
        )
