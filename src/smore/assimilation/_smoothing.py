"""What later readings say about earlier states: the Rauch-Tung-Striebel smoother, on roots.

The joint distribution of a state x and the one after it, x' = F x + c + G w, has the root

    [ F S  G ]   orthogonal    [ S'   0 ]
    [  S   0 ] ------------->  [ C S' E ],        E Eᵀ = what x' leaves open about x,

so that C = P Fᵀ P'⁻¹ never needs the covariance P' or a difference of covariances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.linalg

from smore.assimilation.kalman import Array, Gaussian, Transition, compressed

# Directions of a root below this share of the largest have no variance, only round-off.
RANK_TOLERANCE = 1e-12


def smoothed(filtered: Sequence[Gaussian], transitions: Sequence[Transition]) -> Iterator[Gaussian]:
    """States given all readings, the last one first.

    Args:
        filtered: states given the readings up to their time.
        transitions: from each of them to the next, one fewer.
    """
    later = filtered[-1]
    yield later
    for state, transition in zip(reversed(filtered[:-1]), reversed(transitions), strict=True):
        later = smoothed_once(state, transition, later)
        yield later


def smoothed_once(state: Gaussian, transition: Transition, later: Gaussian) -> Gaussian:
    """A filtered state, once the one after it is known as `later`."""
    size, dim = len(later.mean), len(state.mean)
    above = np.concatenate([transition.matrix @ state.root, transition.noise], axis=1)
    below = np.concatenate([state.root, np.zeros((dim, transition.noise.shape[1]))], axis=1)
    joint = compressed(np.concatenate([above, below]))
    ahead, crossed, open_ = joint[:size, :size], joint[size:, :size], joint[size:, size:]
    surprise = later.mean - transition.matrix @ state.mean - transition.shift
    pulled = _solved(ahead, np.column_stack([surprise, later.root]))
    moved = crossed @ pulled
    return Gaussian(state.mean + moved[:, 0], compressed(open_, moved[:, 1:]))


def _solved(lower: Array, right: Array) -> Array:
    """lower⁻¹ right; of smallest norm where `lower` has no full rank."""
    sizes = np.abs(np.diagonal(lower))
    if sizes.min() > RANK_TOLERANCE * sizes.max():
        return scipy.linalg.solve_triangular(lower, right, lower=True, check_finite=False)
    return scipy.linalg.lstsq(lower, right, cond=RANK_TOLERANCE, lapack_driver="gelsy")[0]
