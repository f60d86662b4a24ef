"""POD + DMD: the best linear basis, and the best linear map between its states.

    u ≈ ū + s Φ a,      a(t + Δt) = M a(t) + c

The modes Φ are the leading singular vectors of all training snapshots, centred and with their
channels stacked (proper orthogonal decomposition); [M, c] is the least-squares fit to every pair of
consecutive snapshots (dynamic mode decomposition). Nothing is iterated, nothing is drawn.

Many short sequences are no difficulty: a pair never spans two of them. The map is affine, because
so are the deviations of a linear system from a mean that is not at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from smore.data import Mesh, Timeline, Trajectories, require_snapshots
from smore.errors import DataError, SettingsError
from smore.surrogate import affine_step
from smore_paper.baselines.base import Baseline, Training
from smore_paper.baselines.grid import require_complete
from smore_paper.datasets import resolve
from smore_paper.presets import PRESETS

# Modes with a smaller share of the variance are round-off: the covariance has 16 digits.
ROUND_OFF = 1e-14


class PODDMD(Baseline):
    """Dynamic mode decomposition in POD coordinates.

    Args:
        rank: r, number of POD modes; fewer are used where the data do not vary in more directions.

    Attributes:
        pod_: the basis.
        step_: (r + 1, r) map of [a, 1] over one time step.
    """

    name = "POD + DMD"
    selects = False
    pod_: POD
    step_: NDArray[np.float64]

    def __init__(self, rank: int) -> None:
        self.rank = rank

    @classmethod
    def for_dataset(cls, dataset: str) -> PODDMD:
        """The size for a benchmark: the state is as long as that of SMORE-Koopman, r = channels p.

        SMORE has p modes for each channel and couples all of them in one linear map, so its map and
        this one are the same size. Wave 200, Navier-Stokes 128, shallow water 200.
        """
        return cls(state_dim(dataset, "koopman"))

    @property
    def num_parameters(self) -> int:
        """Mean field, modes and [M, c]."""
        dim = self.pod_.rank
        return self.pod_.num_parameters + dim * (dim + 1)

    def _train(self, training: Training) -> tuple[int, str]:
        """One look at the data, whatever the budget; no random numbers."""
        require_equal_steps(training.data)
        self.pod_ = POD.fit(training.data, self.rank)
        states = [self.pod_.encode(sequence.fields) for sequence in training.data]
        size, num_steps = self.pod_.rank + 1, sum(len(each) - 1 for each in states)
        if num_steps < size:
            raise DataError(
                f"a map of {size} numbers needs as many steps to learn from, the data have "
                f"{num_steps}; use more sequences or a smaller rank"
            )
        self.step_ = affine_step(states)
        return 1, "cpu"

    def _rollout(self, first: Trajectories, num_steps: int) -> NDArray[np.floating]:
        self.pod_.require_same_points(first)
        states = [self.pod_.encode(first_fields(first))]
        for _ in range(num_steps):
            states.append(states[-1] @ self.step_[:-1] + self.step_[-1])
        return self.pod_.decode(np.stack(states[1:], axis=1))


@dataclass(frozen=True, eq=False)
class POD:
    """Orthogonal modes of centred snapshots, the leading ones of their covariance.

    All grid points count the same, as they do in the score, and each channel is scaled by its
    deviation from the mean field. States are of order one: Σ a² is the mean squared value of a
    scaled snapshot.

    Args:
        mean: (channels, points) ū.
        scale: (channels,) s, standard deviation about ū; 1 for a constant channel.
        modes: (channels · points, r) Φ with ΦᵀΦ = channels · points · I.
        mesh: the points.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    modes: NDArray[np.float64]
    mesh: Mesh

    @classmethod
    def fit(cls, trajectories: Trajectories, rank: int) -> POD:
        """The `rank` leading modes of all snapshots, or as many as they vary in."""
        if rank < 1:
            raise SettingsError(f"POD needs a rank of at least 1, got {rank}")
        require_complete(trajectories)
        mesh = trajectories.sequences[0].mesh
        if any(sequence.mesh is not mesh for sequence in trajectories):
            raise DataError(
                "expected all sequences at the same points, got several sets of them; POD modes "
                "are known at fixed points: interpolate to common ones, or use SMORE"
            )
        fields = np.concatenate([sequence.fields for sequence in trajectories])
        mean = fields.mean(0, dtype=np.float64)
        centred = fields - mean
        deviation = np.sqrt(np.square(centred).mean((0, 2)))
        scale = np.where(deviation > 0, deviation, 1.0)
        centred /= scale[:, None]
        columns = centred.reshape(len(fields), -1)
        return cls(mean, scale, _leading_modes(columns, rank), mesh)

    @property
    def rank(self) -> int:
        return self.modes.shape[1]

    @property
    def num_parameters(self) -> int:
        """Numbers in the mean field and the modes."""
        return self.mean.size + self.modes.size

    def encode(self, fields: NDArray[np.floating]) -> NDArray[np.float64]:
        """Fields (..., channels, points) -> states (..., r)."""
        centred = (fields - self.mean) / self.scale[:, None]
        flat: NDArray[np.float64] = centred.reshape(*centred.shape[:-2], -1)
        return flat @ self.modes / len(self.modes)

    def decode(self, states: NDArray[np.float64]) -> NDArray[np.float64]:
        """States (..., r) -> fields (..., channels, points) in the data's units."""
        fields = (states @ self.modes.T).reshape(*states.shape[:-1], *self.mean.shape)
        return fields * self.scale[:, None] + self.mean

    def require_same_points(self, trajectories: Trajectories) -> None:
        """Refuse (DataError) sequences at other points than those of the modes."""
        for number, sequence in enumerate(trajectories):
            if not np.array_equal(sequence.mesh.coords, self.mesh.coords):
                raise DataError(
                    f"expected the {self.mesh.num_points} points of the training data, got others "
                    f"in sequence {number}; interpolate to the training points, or use SMORE"
                )


def state_dim(dataset: str, dynamics: str) -> int:
    """r = channels · p of the paper's model for a benchmark with these dynamics."""
    name = resolve(dataset)
    preset = next(
        each
        for each in PRESETS.values()
        if each.dataset == name and each.settings.dynamics == dynamics
    )
    assert preset.settings.latent_dim is not None
    return preset.num_channels * preset.settings.latent_dim


def require_equal_steps(trajectories: Trajectories) -> None:
    """Refuse (DataError) lone snapshots and steps that differ: a map knows one length of step."""
    require_snapshots(trajectories, 2)
    timeline = Timeline.of(trajectories)
    if not timeline.uniform:
        lengths = timeline.steps[timeline.valid[:, 1:]]
        raise DataError(
            f"expected the same time step everywhere, got steps from {float(lengths.min()):g} to "
            f"{float(lengths.max()):g}; resample the data in time, or use SMORE"
        )


def first_fields(first: Trajectories) -> NDArray[np.floating]:
    """(sequences, channels, points) of the first snapshots, with nothing missing."""
    require_complete(first)
    return np.stack([sequence.fields[0] for sequence in first])


def _leading_modes(columns: NDArray[np.float64], rank: int) -> NDArray[np.float64]:
    """(values, r) leading directions of snapshots (snapshots, values).

    From whichever of the two Gram matrices is smaller; singular values below 1e-8 of the largest
    are lost in it, which is what float32 snapshots hold anyway.
    """
    count, size = columns.shape
    tall = size > count
    gram = columns @ columns.T if tall else columns.T @ columns
    most = min(rank, len(gram))
    energies, vectors = eigh(gram, subset_by_index=(len(gram) - most, len(gram) - 1))
    energies, vectors = energies[::-1], vectors[:, ::-1]
    kept = energies > ROUND_OFF * np.trace(gram)
    if not kept.any():
        raise DataError("POD needs snapshots that differ, all of these are equal")
    energies, vectors = energies[kept], vectors[:, kept]
    modes = columns.T @ (vectors / np.sqrt(energies)) if tall else vectors
    return modes * np.sqrt(size)
