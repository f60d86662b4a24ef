"""Which part each dimension of the channels plays: time, sequence, or space.

A dimension that nothing speaks for is never guessed at: it has to be told (`--dims NAME=PART`), or
to have
a single entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import xarray as xr

from smore.data.reading._roles import Role, Verdict, role_of, role_of_name
from smore.data.reading.record import listed, shown
from smore.errors import DataError

SEQUENCE = "sequence"
_NO_SPACE: tuple[Role, ...] = ("time", "other time", "sequence")


@dataclass(frozen=True)
class Dimensions:
    """The parts that dimensions play, by name.

    Attributes:
        time: the dimension of time, None for a single snapshot.
        instants: the variable that says when; None where nothing does.
        sequence: the dimension that separates sequences, None for a single one.
        why: for time and sequence, what says so.
        squeezed: those with a single entry that are neither.
        told: those that the user called space.
        sizes: of all dimensions.
    """

    time: str | None
    instants: str | None
    sequence: str | None
    why: dict[str, str]
    squeezed: tuple[str, ...]
    told: tuple[str, ...]
    sizes: Mapping[str, int]


def find_dimensions(
    dataset: xr.Dataset, used: Sequence[str], told: Mapping[str, str]
) -> Dimensions:
    """The parts of the dimensions `used` by the channels.

    Raises:
        DataError: two dimensions of time or of sequences, or one that contradicts itself.
    """
    asked = _asked(dataset, told)
    verdicts = {dim: dimension_verdict(dataset, dim) for dim in used if dim not in asked}
    for dim, verdict in verdicts.items():
        if verdict.contradiction:
            place = verdict.role not in _NO_SPACE
            how = (
                "--coords, all coordinates separated by commas" if place else f"--dims {dim}=space"
            )
            raise contradictory(dim, verdict, how)
    by_part, squeezed = _shared_out(dataset, used, asked, verdicts)
    time = next(iter(by_part["time"]), None)
    sequence = next(iter(by_part[SEQUENCE]), None)
    instants = _instants(dataset, time, sequence, told)
    why = {
        dim: "asked for" if dim in asked else verdicts[dim].why
        for dim in (time, sequence)
        if dim is not None
    }
    spaces = tuple(dim for dim in used if asked.get(dim) == "space")
    sizes = {str(dim): size for dim, size in dataset.sizes.items()}
    return Dimensions(time, instants, sequence, why, tuple(squeezed), spaces, sizes)


def _shared_out(
    dataset: xr.Dataset, used: Sequence[str], asked: dict[str, str], verdicts: dict[str, Verdict]
) -> tuple[dict[str, list[str]], list[str]]:
    """One dimension of time and of sequences, at most; those of a single entry are left out."""
    by_part = {part: [dim for dim in used if asked.get(dim) == part] for part in ("time", SEQUENCE)}
    here = {role: [dim for dim, v in verdicts.items() if v.role == role] for role in _NO_SPACE}
    single = [dim for dim in here["other time"] if dataset.sizes[dim] == 1]
    lasting = [dim for dim in here["other time"] if dim not in single]
    by_part["time"] += here["time"]
    by_part[SEQUENCE] += here["sequence"]
    if not by_part["time"]:
        by_part["time"] = lasting or single[:1]
    elif lasting:
        raise _two(dataset, [by_part["time"][0], *lasting], "time")
    for part, dims in by_part.items():
        if len(dims) > 1:
            raise _two(dataset, dims, part)
    return by_part, [dim for dim in single if dim not in by_part["time"]]


def contradictory(name: str, verdict: Verdict, remedy: str) -> DataError:
    """What is said of a variable that says two things."""
    return DataError(
        f"'{shown(name)}' contradicts itself: {verdict.why} makes it {_article(verdict.role)}, "
        "but it has "
        f"{shown(verdict.contradiction)}; correct the file, or say what it is with {remedy}"
    )


def _article(role: Role | None) -> str:
    return f"an {role}" if role == "other time" else f"a {role}"


def _asked(dataset: xr.Dataset, told: Mapping[str, str]) -> dict[str, str]:
    """By dimension what the user said of it, or of a variable along it."""
    asked = {}
    for name, part in told.items():
        if name in dataset.dims:
            asked[name] = part
        elif name in dataset.variables and dataset[name].ndim >= 1:
            asked[str(dataset[name].dims[-1])] = part
        else:
            raise DataError(
                f"--dims: there is no dimension '{shown(name)}'; the file has "
                f"{listed(dataset.sizes)}"
            )
    return asked


def dimension_verdict(dataset: xr.Dataset, dim: str) -> Verdict:
    """What says which part a dimension plays: its index, its name, or what lies along it."""
    index = dataset.variables.get(dim)
    if index is not None:
        verdict = role_of(dim, index)
    else:
        named = role_of_name(dim)
        verdict = Verdict(named, f"its name '{dim}'") if named else Verdict(None)
    if verdict.role not in (None, "other time") or verdict.contradiction:
        return verdict
    for name, variable in dataset.variables.items():
        beside = role_of(name, variable)
        if variable.dims == (dim,) and beside.firm and beside.role == "time":
            return Verdict("time", f"'{name}' along it, by {beside.why}", True)
    return verdict


def _instants(
    dataset: xr.Dataset, time: str | None, sequence: str | None, told: Mapping[str, str]
) -> str | None:
    """The variable that says when snapshots are."""
    candidates = []
    for name, variable in dataset.variables.items():
        if not set(variable.dims) <= {time, sequence} or (
            time is not None and time not in variable.dims
        ):
            continue
        verdict = role_of(name, variable)
        if name == time or told.get(str(name)) == "time":
            candidates.append((0 if told.get(str(name)) == "time" else 1, str(name)))
        elif verdict.role == "time" and not verdict.contradiction:
            # A single time may be told beside the fields of one snapshot: time().
            candidates.append((2 if verdict.firm else 3, str(name)))
    if not candidates:
        return None
    best = min(rank for rank, _ in candidates)
    if best == 1 and any(rank == 2 for rank, _ in candidates) and _says_little(dataset, str(time)):
        best = 2
    chosen = [name for rank, name in candidates if rank == best]
    if any(not dataset[name].equals(dataset[chosen[0]].rename(name)) for name in chosen[1:]):
        raise DataError(
            f"{listed(chosen)} all say when snapshots are, and differ; say which with --dims "
            f"{chosen[0]}=time"
        )
    return chosen[0]


def _says_little(dataset: xr.Dataset, time: str) -> bool:
    """Whether an index only counts (0, 1, 2, ..), or tells lead times rather than times."""
    verdict = role_of(time, dataset[time])
    return verdict.role == "other time" or not (verdict.firm or dataset[time].attrs.get("units"))


def _two(dataset: xr.Dataset, dims: list[str], part: str) -> DataError:
    kind = "sequences" if part == SEQUENCE else "time"
    first, last = dims[0], dims[-1]
    how = f"{first}=sequence,{last}=time" if kind == "time" else f"{first}=sequence,{last}=space"
    return DataError(
        f"{' and '.join(f'{shown(d)} ({dataset.sizes[d]})' for d in dims)} both look like "
        "dimensions of "
        f"{kind}; keep one entry of one of them, --select {last}=VALUE, or say --dims {how}"
    )
