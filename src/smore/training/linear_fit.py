"""Linear dynamics in closed form: one-step map, ridge by cross-validation, real generator.

The least-squares map x ↦ M x over one step is a linear problem. Its ridge pulls towards standing
still and is chosen by how well rollouts follow trajectories that were left out. The generator W
with expm(W h) = M is a real logarithm.

There is no constant term: latents are those of the whole field, not of its deviation from a mean,
so a mean flow is itself a direction that the map can keep.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import expm, logm
from torch import Tensor

from smore.data.timeline import Timeline

RIDGES = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)
NUM_FOLDS = 4
# A mode that decays by more than this over a step leaves nothing to take the logarithm of.
SMALLEST_MODULUS = 1e-6


class Transitions:
    """The sums that a one-step regression needs, kept apart by trajectory for cross-validation.

    Args:
        latents: (sequences, longest, r) float64 padded trajectories.
        timeline: their lengths and steps; all steps must be equal.
        groups: (sequences,) which trajectory each was cut from.
    """

    def __init__(self, latents: Tensor, timeline: Timeline, groups: Tensor) -> None:
        self.latents, self.timeline = latents, timeline
        self.folds = _folds(groups)
        pairs = timeline.valid[:, 1:]
        self.sums: list[tuple[Tensor, Tensor]] = []
        for fold in range(int(self.folds.max()) + 1):
            chosen = pairs & (self.folds == fold)[:, None]
            before, after = latents[:, :-1][chosen], latents[:, 1:][chosen]
            self.sums.append((before.T @ before, before.T @ (after - before)))

    def fit(self, ridge: float, without: int | None = None) -> Tensor:
        """M (r, r) by ridge regression of the change over a step, leaving out one fold."""
        used = [sums for fold, sums in enumerate(self.sums) if fold != without]
        square = torch.stack([each for each, _ in used]).sum(0)
        cross = torch.stack([each for _, each in used]).sum(0)
        identity = torch.eye(len(square), dtype=torch.float64)
        square = square + ridge * square.diagonal().mean() * identity
        change = torch.linalg.lstsq(square, cross, driver="gelsd").solution
        return identity + change.T

    def rollout_error(self, matrix: Tensor, fold: int) -> float:
        """Mean squared error of free rollouts over the sequences of a fold."""
        chosen = self.folds == fold
        truth, valid = self.latents[chosen], self.timeline.valid[chosen]
        state, total = truth[:, 0], 0.0
        for step in range(1, truth.shape[1]):
            state = state @ matrix.T
            total += float(((state - truth[:, step]) * valid[:, step, None]).square().sum())
        return total / float(valid[:, 1:].sum())

    def cross_validate(self) -> tuple[Tensor, float]:
        """The map fitted to everything with the ridge that forecasts left-out folds best."""
        num_folds = len(self.sums)
        if num_folds == 1:
            return self.fit(0.0), 0.0
        errors = []
        for ridge in RIDGES:
            per_fold = [
                self.rollout_error(self.fit(ridge, without=fold), fold) for fold in range(num_folds)
            ]
            errors.append(np.nan_to_num(np.mean(per_fold), nan=np.inf))
        best = RIDGES[int(np.argmin(errors))]
        return self.fit(best), best


def _folds(groups: Tensor) -> Tensor:
    """A fold for each sequence; sequences of one trajectory share it."""
    _, number = torch.unique(groups, return_inverse=True)
    return number % min(NUM_FOLDS, int(number.max()) + 1)


def real_generator(matrix: Tensor, step: float) -> tuple[Tensor, float]:
    """A real W with expm(W step) near `matrix`, and the relative change that took.

    A real logarithm needs negative eigenvalues in equal pairs. Neighbours are paired at their
    geometric mean and turned by half a revolution per step; one left over, and eigenvalues that are
    nearly zero, are made small and positive.
    """
    flow = matrix.numpy()
    values = np.linalg.eigvals(flow)
    scale = np.abs(values).max()
    without = (np.abs(values.imag) <= 1e-12 * scale) & (values.real < SMALLEST_MODULUS * scale)
    # Schur's method copes with any matrix that has a real logarithm, defective ones included.
    generator = logm(flow).real if not without.any() else _paired_logarithm(flow, scale)
    change = np.linalg.norm(expm(generator) - flow) / np.linalg.norm(flow)
    return torch.as_tensor(generator / step), float(change)


def _paired_logarithm(flow: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """The logarithm of a matrix with the nearest spectrum that has a real one."""
    values, vectors = np.linalg.eig(flow)
    moduli = np.maximum(np.abs(values), SMALLEST_MODULUS * scale)
    blocks = np.diag(np.log(moduli) + 1j * np.angle(values))
    negative = np.flatnonzero((np.abs(values.imag) <= 1e-12 * scale) & (values.real < 0))
    negative = negative[np.argsort(values.real[negative])]
    for first, second in zip(negative[::2], negative[1::2], strict=False):
        modulus = np.log(moduli[[first, second]]).mean()
        blocks[np.ix_([first, second], [first, second])] = [[modulus, np.pi], [-np.pi, modulus]]
    if len(negative) % 2:
        blocks[negative[-1], negative[-1]] = np.log(SMALLEST_MODULUS * scale)
    return np.linalg.solve(vectors.T, (vectors @ blocks).T).T.real
