"""Sparse gaps that move, filled from what the other values of their snapshots say.

With values missing now and then nothing about a fit has a closed form, and what is between the
points cannot be judged by leaving some of them out. Where few are missing, the leading modes of all
snapshots tell them: gaps are bridged in time, then modes and gaps are found in turns (as DINEOF
does, Beckers and Rixen, 2003). How many modes is what values that were hidden say.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from smore.data import Trajectories, has_moving_gaps, seen_points

Array = NDArray[np.float64]
Known = NDArray[np.bool_]

# Gaps are filled up to this share of the values, at points that are seen in more snapshots than
# the other share, of so many values in all.
MOST_MISSING, LEAST_SEEN, MOST_VALUES = 0.1, 0.5, 2**27
# Shares of the variance that modes may leave out; share of the values, of so many snapshots and
# points at most, that are hidden to choose one.
LEFT_OUT = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-6, 1e-8)
HIDDEN, MOST_JUDGED = 0.05, 400
# Snapshots that modes are found from; turns of modes and gaps at most, and the change of what is
# filled, as a share of it, with which they end.
MOST_SNAPSHOTS, MOST_TURNS, SETTLED = 4096, 30, 1e-4
# What values say of a mode less than this is left as it was bridged in time.
UNSEEN = 1e-2


def filled(trajectories: Trajectories) -> tuple[Trajectories, float]:
    """The same without gaps that move, and the share of the values that were filled.

    Returns:
        Trajectories as they came, and 0, where they have no such gaps or too many.
    """
    if trajectories.is_lazy or len(trajectories.meshes) > 1 or not has_moving_gaps(trajectories):
        return trajectories, 0.0
    seen = seen_points(trajectories)
    lengths = [sequence.num_snapshots for sequence in trajectories]
    if sum(lengths) * int(seen.sum()) > MOST_VALUES:
        return trajectories, 0.0
    values, known = _table(trajectories, seen)
    missing = 1 - float(known.mean())
    if missing > MOST_MISSING or known.mean(axis=0).min() <= LEAST_SEEN:
        return trajectories, 0.0
    starts = np.cumsum(lengths)[:-1]
    mean = (values * known).sum(axis=0) / known.sum(axis=0)
    # Channels count alike, whatever their units.
    scale = np.repeat(_deviations(values - mean, known, seen), seen.sum(axis=1))
    table = (values - mean) / scale
    found = scale * _completed(table, known, starts, _best_share(table, known, starts)) + mean
    return _with(trajectories, seen, np.where(known, values, found), starts), missing


def _table(trajectories: Trajectories, seen: Known) -> tuple[Array, Known]:
    """Values (snapshots, values) at points that are ever seen, and which are known."""
    fields, masks = [], []
    for sequence in trajectories:
        mask = sequence.observed
        fields.append(sequence.fields[:, seen].astype(np.float64))
        masks.append(np.ones(fields[-1].shape, bool) if mask is None else mask[:, seen])
    return np.concatenate(fields), np.concatenate(masks)


def _deviations(departures: Array, known: Known, seen: Known) -> Array:
    """(channels,) root mean squares of what is known; 1 of what does not vary."""
    ends = np.cumsum(seen.sum(axis=1))[:-1]
    squares = np.split((np.square(departures) * known).sum(axis=0), ends)
    counts = np.split(known.sum(axis=0), ends)
    each = [np.sqrt(a.sum() / max(b.sum(), 1)) for a, b in zip(squares, counts, strict=True)]
    return np.array([deviation if deviation > 0 else 1.0 for deviation in each])


def _best_share(table: Array, known: Known, starts: NDArray[np.intp]) -> float:
    """The share that modes leave out with which hidden values are found best; 1 without modes."""
    random = np.random.default_rng(0)
    columns = np.sort(random.permutation(table.shape[1])[:MOST_JUDGED])
    # Consecutive snapshots, or gaps could not be bridged in time.
    some, given = table[:MOST_JUDGED, columns], known[:MOST_JUDGED, columns]
    starts = starts[starts < len(some)]
    hidden = given & (random.random(given.shape) < HIDDEN)
    errors: dict[float, float] = {}
    for share in LEFT_OUT:
        found = _completed(some, given & ~hidden, starts, share)
        errors[share] = float(np.square(found - some)[hidden].sum())
        if errors[share] > 2 * min(errors.values()):
            break
    bridged = _completed(some, given & ~hidden, starts, 1.0)
    errors[1.0] = float(np.square(bridged - some)[hidden].sum())
    return min(errors, key=lambda share: errors[share])


def _completed(table: Array, known: Known, starts: NDArray[np.intp], share: float) -> Array:
    """The table with values where they are not known, by modes that leave out a share."""
    found = _bridged(table, known, starts)
    gaps = np.flatnonzero(~known.all(axis=1))
    for _ in range(MOST_TURNS if share < 1 else 0):
        modes, before = _modes(found, share), found[~known]
        for row in gaps:
            _fill(found[row], known[row], modes)
        change = np.square(found[~known] - before).sum()
        if change <= SETTLED**2 * np.square(before).sum():
            break
    return found


def _fill(snapshot: Array, known: Known, modes: Array) -> None:
    """What is not known of a snapshot (values,), by the modes (values, k) that its values tell."""
    across = modes[~known]
    codes = modes.T @ snapshot
    missed = modes.T @ np.where(known, snapshot - modes @ codes, 0.0)
    told = (1 + UNSEEN) * np.eye(modes.shape[1]) - across.T @ across
    snapshot[~known] = across @ (codes + np.linalg.solve(told, missed))


def _bridged(table: Array, known: Known, starts: NDArray[np.intp]) -> Array:
    """Straight lines in time across gaps, within each sequence; at its ends what is nearest."""
    found = np.where(known, table, 0.0)
    places = np.arange(len(table), dtype=float)
    for rows in np.split(np.arange(len(table)), starts):
        for column in np.flatnonzero(~known[rows].all(axis=0)):
            there = known[rows, column]
            if there.any():  # else the mean, which is zero
                gap, near = rows[~there], rows[there]
                found[gap, column] = np.interp(places[gap], places[near], table[near, column])
    return found


def _modes(table: Array, share: float) -> Array:
    """(values, k) leading directions of the snapshots that leave out a share of their energy."""
    some = table[:: -(-len(table) // MOST_SNAPSHOTS)]
    if len(some) <= some.shape[1]:
        energies, vectors = np.linalg.eigh(some @ some.T)
        directions = some.T @ vectors / np.sqrt(energies.clip(min=1e-300))
    else:
        energies, directions = np.linalg.eigh(some.T @ some)
    left = energies.clip(min=0).cumsum() / max(energies.sum(), 1e-300)
    # Of the smallest ones rounding is all that is left.
    return directions[:, left > max(share, 1e-12)]


def _with(
    trajectories: Trajectories, seen: Known, table: Array, starts: NDArray[np.intp]
) -> Trajectories:
    sequences = []
    for sequence, rows in zip(trajectories, np.split(table, starts), strict=True):
        fields = np.array(sequence.fields)
        fields[:, seen] = rows
        mask = None if seen.all() else np.broadcast_to(seen, fields.shape).copy()
        sequences.append(replace(sequence, source=fields, mask=mask))
    return replace(trajectories, sequences=tuple(sequences))
