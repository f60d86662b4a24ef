"""Several files as one: parts of one record, separate runs, or channels of their own.

Files with other variables at the same times bring channels. Files with the same variables follow
each other
in time if each begins one step after another ends, and are separate runs if all have the same
times. All
else is asked for.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import xarray as xr

from smore.data.reading._layout import Layout
from smore.data.reading.datasets import TRAJECTORY, plain
from smore.data.reading.record import Reading, listed
from smore.data.reading.request import ReadAs
from smore.data.space import Clock
from smore.errors import DataError

# Months have 28 to 31 days.
STEP_RANGE = (0.5, 1.5)


def joined(
    datasets: list[xr.Dataset], names: list[str], how: ReadAs, *, lazy: bool
) -> tuple[list[xr.Dataset], ReadAs, Reading]:
    """The datasets to read one after the other, what is still asked for, and what was done.

    The record names what is left out of the first file, which joined datasets have lost.

    Raises:
        DataError: files that do not belong together, or that may in two ways.
    """
    alone = replace(how, join=None)
    if how.channels is not None:  # each file has some of them
        here = [[c for c in how.channels if c in each.variables] for each in datasets]
        parts = [
            plain(d, replace(alone, channels=c or None))
            for d, c in zip(datasets, here, strict=True)
        ]
    else:
        parts = [plain(dataset, alone) for dataset in datasets]
    layouts = [layout for _, layout in parts]
    instants = _instants(parts)
    same_channels = all(set(layout.channels) == set(layouts[0].channels) for layout in layouts)
    done, selected = (
        replace(how, select={}),
        [n for n in layouts[0].reading.notes if "selected" in n],
    )
    left_out = layouts[0].reading.left_out
    way = how.join or _way(layouts, instants, names, same_channels)
    if way == "channels":
        note = f"{len(names)} files bring channels of their own"
        return [_merged(parts, names)], done, Reading((), left_out, (note, *selected))
    if not same_channels:
        raise DataError(
            f"{names[0]} has the channels {listed(layouts[0].channels)}, another file has "
            "others; keep those "
            "that all have with --channels, or say --join channels"
        )
    if way == "sequence":
        note = f"{len(names)} files are separate runs"
        return datasets, how, Reading(notes=(note,))
    if any(times is None for times in instants):
        raise _ask(names, "do not all say when they are")
    order = np.argsort([float(times[0]) for times in instants if times is not None], kind="stable")
    pieces = [_needed(parts[k][0], parts[k][1], lazy) for k in order]
    note = f"{len(names)} files follow each other in time, {names[order[0]]} to {names[order[-1]]}"
    time = layouts[0].time or layouts[0].instants
    return [_one_after_the_other(pieces, str(time))], done, Reading((), left_out, (note, *selected))


def _way(
    layouts: list[Layout], instants: list[np.ndarray | None], names: list[str], same_channels: bool
) -> str:
    """How files belong together by their channels and times."""
    equal = all(
        times is not None and instants[0] is not None and np.array_equal(times, instants[0])
        for times in instants
    )
    if not same_channels:
        distinct = [name for layout in layouts for name in layout.channels]
        if equal and len(set(distinct)) == len(distinct):
            return "channels"
        raise _ask(names, "have different channels and times")
    if equal:
        return "sequence"
    if any(times is None for times in instants):
        raise _ask(names, "do not all say when they are")
    spans = sorted((times for times in instants if times is not None), key=lambda t: float(t[0]))
    steps = np.concatenate([np.diff(times) for times in spans])
    gaps = np.array([b[0] - a[-1] for a, b in pairwise(spans)])
    typical = float(np.median(steps)) if len(steps) else float(np.median(gaps))
    low, high = STEP_RANGE
    if (gaps > low * typical).all() and (gaps < high * typical).all():
        return "time"
    if (gaps > 0).all():
        raise _ask(names, "are at different times, with gaps between them")
    raise _ask(names, "overlap in time")


def _ask(names: list[str], what: str) -> DataError:
    return DataError(
        f"{len(names)} files ({listed(names, 3)}) {what}; say --join time if they follow each "
        "other, --join "
        "sequence if they are separate runs, or --join channels if they are variables of one run"
    )


def _instants(parts: list[tuple[xr.Dataset, Layout]]) -> list[np.ndarray | None]:
    """Times of each file as numbers on the clock of the first; None where they are not told."""
    clock: Clock | None = None
    found: list[np.ndarray | None] = []
    for dataset, layout in parts:
        if layout.instants is None or dataset[layout.instants].ndim > 1:
            found.append(None)
            continue
        variable = dataset.variables[layout.instants]
        values = np.atleast_1d(variable.values)
        if clock is None:
            clock, numbers = Clock.from_values(values, str(variable.attrs.get("units", "")))
        else:
            numbers = clock.to_numbers(values)
        found.append(numbers)
    return found


def _needed(dataset: xr.Dataset, layout: Layout, lazy: bool) -> xr.Dataset:
    """The variables that matter, whatever else differs from file to file."""
    names = [*layout.channels, *layout.coordinates]
    names += [
        name for name in (layout.instants, layout.weights, layout.time, layout.sequence) if name
    ]
    here = [name for name in dict.fromkeys(names) if name in dataset.variables]
    kept = dataset[here + ([TRAJECTORY] if TRAJECTORY in dataset.variables else [])]
    if layout.time is None and layout.instants is not None:  # a snapshot with its date beside it
        channels = {name: kept[name].expand_dims(layout.instants) for name in layout.channels}
        kept = kept.assign(channels)
    if layout.cells is not None:  # compared like all else that is the same at all times
        kept = kept.assign_coords(layout.cells.variables)
    return kept.chunk({}) if lazy else kept


def _one_after_the_other(pieces: list[xr.Dataset], time: str) -> xr.Dataset:
    for name in pieces[0].variables:
        units = {str(piece[name].attrs.get("units", "")) for piece in pieces if name in piece}
        if len(units) > 1:
            raise DataError(f"'{name}' has other units from file to file: {listed(sorted(units))}")
    try:
        return xr.concat(
            pieces, dim=time, data_vars="minimal", coords="minimal", compat="equals", join="exact",
            combine_attrs="override",
        )  # fmt: skip
    except ValueError as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            "files that follow each other in time must be on the same points, these are not "
            f"({reason})"
        ) from None


def _merged(parts: list[tuple[xr.Dataset, Layout]], names: list[str]) -> xr.Dataset:
    try:
        pieces = [_needed(dataset, layout, False) for dataset, layout in parts]
        return xr.merge(pieces, join="exact", compat="equals", combine_attrs="override")
    except (ValueError, xr.MergeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(
            "channels of several files must have the same points and times, those of "
            f"{listed(names, 3)} do "
            f"not ({reason})"
        ) from None
