"""`smore data split`: a file to train on and a file to test on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from smore.cli.options import GeometryOption, MissingOption
from smore.cli.output import Json, console, print_json
from smore.cli.reading import say_reading, with_reading
from smore.cli.times import parse_times
from smore.data import Pace, Trajectories, require_data_format
from smore.errors import DataError, SettingsError
from smore.inputs import as_trajectories


@with_reading
def split(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE...", help="NetCDF or Zarr files.")],
    at: Annotated[
        str, typer.Option(help="Where: '75%' of the times or sequences, or a time such as 1995-01.")
    ] = "75%",
    by: Annotated[
        str | None,
        typer.Option(
            metavar="time|sequence",
            help="Cut every sequence, or put whole ones apart; default: "
            "sequences where there are several.",
        ),
    ] = None,
    first: Annotated[Path | None, typer.Option(help="Where the first part goes.")] = None,
    second: Annotated[Path | None, typer.Option(help="Where the rest goes.")] = None,
    missing: MissingOption = "mask",
    geometry: GeometryOption = None,
    as_json: Json = False,
    reading: dict[str, Any] | None = None,
) -> None:
    """Write two files: what comes first, to train on, and the rest, to test on.

    By default they are called like FILE, with -train and -test before the suffix.
    """
    if by not in (None, "time", "sequence"):
        raise SettingsError(f"--by is time or sequence, got {by!r}")
    outputs = [
        require_data_format(given or _named(paths[0], part))
        for given, part in ((first, "train"), (second, "test"))
    ]
    for output in outputs:
        if output in paths:
            raise SettingsError(f"{output} would be written over itself; choose another name")
    how = {"missing": missing, "geometry": geometry, **(reading or {})}
    whole = as_trajectories(list(paths), **how)
    say_reading(whole)
    whole_sequences = by == "sequence" or (by is None and len(set(whole.groups)) > 1)
    parts = _by_sequence(whole, at) if whole_sequences else _by_time(whole, at)
    for part, output in zip(parts, outputs, strict=True):
        part.save(output)
    told = [f"{output}: {part!r}" for part, output in zip(parts, outputs, strict=True)]
    if as_json:
        print_json(
            {"by": "sequence" if whole_sequences else "time", "outputs": list(map(str, outputs))}
        )
        return
    for line in told:
        console.print(line, markup=False, soft_wrap=True)


def _named(path: Path, part: str) -> Path:
    return Path(path.name).with_name(f"{path.stem}-{part}{path.suffix}")


def _share(at: str) -> float | None:
    """A share, if that is what is written there."""
    if not at.strip().endswith("%"):
        return None
    try:
        share = float(at.strip()[:-1]) / 100
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise SettingsError(f"--at takes a share between 0% and 100%, or a time, got {at!r}")
    return share


def _by_sequence(whole: Trajectories, at: str) -> tuple[Trajectories, Trajectories]:
    share, groups = _share(at), np.unique(whole.groups)
    if share is None:
        raise SettingsError(
            f"sequences are split by a share, --at 75%, got {at!r}; a time needs --by time"
        )
    if len(groups) < 2:
        raise DataError("there is a single sequence; split it --by time")
    kept = groups[: int(np.clip(round(share * len(groups)), 1, len(groups) - 1))]
    inside = np.isin(whole.groups, kept)
    return whole.select(np.flatnonzero(inside)), whole.select(np.flatnonzero(~inside))


def _by_time(whole: Trajectories, at: str) -> tuple[Trajectories, Trajectories]:
    share = _share(at)
    if share is not None:
        cuts = [round(share * len(sequence.times)) for sequence in whole]
    else:
        pace = Pace.of(whole) if any(len(sequence.times) > 1 for sequence in whole) else None
        end = float(whole.clock.to_numbers(parse_times(at, whole.clock, pace, option="--at"))[0])
        cuts = [int(np.searchsorted(sequence.times, end)) for sequence in whole]
    for sequence, cut in zip(whole, cuts, strict=True):
        if not 0 < cut < sequence.num_snapshots:
            first, last = whole.clock.to_values(sequence.times[[0, -1]])
            raise DataError(
                f"nothing is left on one side of --at {at}: times run from {first} to {last}"
            )
    return whole.cut_at(cuts)
