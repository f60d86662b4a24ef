"""Which snapshot comes when: the bookkeeping between a flat latent table and rollouts.

The latent table has one row per snapshot, sequence after sequence, whatever their lengths. A
rollout works on all sequences at once, padded to the longest; padding has step length zero and is
not scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from smore.data.pace import Pace
from smore.data.trajectories import Trajectories

# Steps that differ by less are the same step: 0.1, 0.2, .. has differences with ragged last digits,
# and every distinct step of a linear model costs a matrix of its own.
SAME_STEP = 1e-9
DATA_TIME = Pace(scale=1.0)


@dataclass(frozen=True, eq=False)
class Timeline:
    """Rows, steps and lengths of a set of sequences.

    Args:
        rows: (sequences, longest) rows of the latent table; padding repeats the last.
        valid: (sequences, longest) booleans, False in the padding.
        steps: (sequences, longest - 1) float64 step lengths in model time, 0 in the padding.
        times: (sequences, longest) float64 model times; padding repeats the last.
    """

    rows: Tensor
    valid: Tensor
    steps: Tensor
    times: Tensor

    @classmethod
    def of(cls, trajectories: Trajectories, pace: Pace = DATA_TIME) -> Timeline:
        """The timeline of `trajectories` in the model time of `pace`, by default the data's."""
        lengths = np.array([len(sequence.times) for sequence in trajectories.sequences])
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        position = np.arange(lengths.max())
        valid = position < lengths[:, None]
        rows = starts[:, None] + np.minimum(position, lengths[:, None] - 1)
        flat = np.concatenate([sequence.times for sequence in trajectories.sequences])
        times = pace(flat, trajectories.clock)[rows]
        steps = unify_steps(np.diff(times))
        return cls(*map(torch.as_tensor, (rows, valid, steps, times)))

    @property
    def num_snapshots(self) -> int:
        return int(self.valid.sum())

    @property
    def uniform(self) -> bool:
        """Whether all steps are equal."""
        return len(torch.unique(self.steps[self.valid[:, 1:]])) == 1

    def select(self, sequences: Tensor) -> Timeline:
        """The lengths and steps of some sequences, which keep their rows of the latent table."""
        return Timeline(
            self.rows[sequences],
            self.valid[sequences],
            self.steps[sequences],
            self.times[sequences],
        )

    def gather(self, table: Tensor) -> Tensor:
        """Latent table (snapshots, ...) -> padded trajectories (sequences, longest, ...)."""
        if torch.equal(self.rows.flatten(), torch.arange(len(table))):  # as it lies there
            return table.unflatten(0, tuple(self.valid.shape))
        return table[self.rows.to(table.device)]

    def scatter(self, padded: Tensor) -> Tensor:
        """Padded trajectories (sequences, longest, ...) -> latent table (snapshots, ...)."""
        return padded[self.valid.to(padded.device)]


def unify_steps(steps: np.ndarray) -> np.ndarray:
    """`steps` with values that agree to nine digits made equal."""
    positive = steps[steps > 0]
    if not positive.size:
        return steps
    _, first, which = np.unique(
        np.round(steps / (np.median(positive) * SAME_STEP)), return_index=True, return_inverse=True
    )
    return steps.ravel()[first][which].reshape(steps.shape)
