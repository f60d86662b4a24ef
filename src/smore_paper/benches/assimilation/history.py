"""A few sensors watched over one, five and ten snapshots: errors of the forecast that follows."""

from __future__ import annotations

import time
from collections import abc
from dataclasses import dataclass

import numpy as np

from smore.assimilation import assimilate
from smore.data import Trajectories
from smore.model import SMORE
from smore_paper.benches.assimilation.streams import aligned_test, cut, errors, read_off
from smore_paper.tables.sparse.sweep import nested_masks

HISTORIES = (1, 5, 10)
# Scored steps: what the paper calls extrapolation.
SCORED = slice(10, 20)


@dataclass(frozen=True)
class HistoryLevel:
    """Forecast error after watching some sensors for some snapshots.

    Attributes:
        sensors: random points of the mesh, all channels.
        history: snapshots watched, from the first on.
        sequences: of the test set.
        mse: mean over steps 10 to 19, sequences, points and channels; median over masks.
        mse_per_mask: of every mask.
        covered: share of true values inside the central 90% interval, all masks.
        seconds: per sequence.
        paper_full_mse: the paper's full-window error from one snapshot with so many points.
    """

    sensors: int
    history: int
    sequences: int
    masks: int
    mse: float
    mse_per_mask: str
    covered: float
    seconds: float
    paper_full_mse: float | None


def history_levels(
    model: SMORE,
    test: Trajectories,
    *,
    counts: abc.Sequence[int],
    seeds: abc.Sequence[int],
    sequences: int | None,
    claims: abc.Mapping[int, float],
) -> abc.Iterator[HistoryLevel]:
    """A level for every number of sensors and length of history."""
    surrogate, test = model.surrogate_, aligned_test(model, test)
    num_points = test.sequences[0].mesh.num_points
    chosen = test.sequences[:sequences]
    for count in counts:
        share = count / num_points
        masks = [nested_masks(num_points, [share], seed)[share] for seed in seeds]
        for history in HISTORIES:
            started = time.monotonic()
            squares, inside = [], []
            for mask in masks:
                points = np.tile(mask, (history, 1))
                found, levels = [], None
                for sequence in chosen:
                    stream = cut(surrogate, sequence, points, read_off(sequence, points))
                    analysis = assimilate(surrogate, stream, noise=0.0, watch=False, levels=levels)
                    levels = analysis.levels  # sizes of errors are those of the first sequence
                    error, deviation = errors(analysis, sequence, SCORED)
                    found.append(np.square(error).mean())
                    inside.append((np.abs(error) <= 1.645 * deviation).mean())
                squares.append(float(np.mean(found)))
            yield HistoryLevel(
                sensors=count,
                history=history,
                sequences=len(chosen),
                masks=len(masks),
                mse=float(np.median(squares)),
                mse_per_mask=" ".join(map(str, squares)),
                covered=float(np.mean(inside)),
                seconds=round((time.monotonic() - started) / len(masks) / len(chosen), 2),
                paper_full_mse=claims.get(count),
            )
