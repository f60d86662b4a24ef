"""The training data as the recipes see them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from smore.data import (
    AnyBlock,
    CoordinateMap,
    Normalization,
    Pace,
    Timeline,
    Trajectories,
    make_blocks,
)
from smore.runtime import ALONE, Team


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """Snapshots to reconstruct and trajectories to follow.

    Args:
        blocks: every training snapshot, normalised.
        timeline: which snapshot comes when.
        num_channels: components of the field.
        num_values: (sequences,) observed values of each sequence.
        groups: (sequences,) which trajectory each was cut from; with a single trajectory each
            sequence counts for itself.
    """

    blocks: list[AnyBlock]
    timeline: Timeline
    num_channels: int
    num_values: Tensor
    groups: Tensor

    @classmethod
    def of(
        cls,
        trajectories: Trajectories,
        normalization: Normalization,
        coordinate_map: CoordinateMap,
        pace: Pace,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
        team: Team = ALONE,
    ) -> TrainingProblem:
        num_values = torch.tensor([sequence.num_values for sequence in trajectories]).double()
        team.add_up(num_values)
        single = len(set(trajectories.groups)) == 1
        groups = range(len(trajectories)) if single else trajectories.groups
        return cls(
            blocks=make_blocks(
                trajectories, normalization, coordinate_map, dtype=dtype, device=device, team=team
            ),
            timeline=Timeline.of(trajectories, pace),
            num_channels=trajectories.num_channels,
            num_values=num_values,
            groups=torch.tensor(groups),
        )

    @property
    def num_sequences(self) -> int:
        return len(self.num_values)
