"""4D: all readings of a window at once, as one least-squares problem.

Unknown are the first state and the noise of every transition, in units of their deviations; what
minimises their squared size and that of the misfit is the mean of the posterior. For linear systems
it is what filter and smoother find step by step, for others the limit of solving it again about the
path it found (Gauss-Newton). It costs the cube of states times steps: it is here to check the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from smore.assimilation.kalman import Array, Gaussian, Readings, Transition

# Gauss-Newton ends after so many rounds, or when the path moves by less than this share.
MAX_ROUNDS = 20
STILL = 1e-10


def solve_window(
    first: Gaussian, transitions: Sequence[Transition], readings: Sequence[Readings]
) -> list[Gaussian]:
    """Every state of a window given all of its readings.

    Args:
        first: the state before its readings.
        transitions: from each time to the next, one fewer than
        readings: of every time; may be empty.
    """
    maps = [first.root]  # of the unknowns (first, noise of each transition) to every state
    means = [first.mean]
    for transition in transitions:
        maps.append(np.concatenate([transition.matrix @ maps[-1], transition.noise], axis=1))
        means.append(transition.matrix @ means[-1] + transition.shift)
    total = maps[-1].shape[1]
    maps = [np.pad(each, ((0, 0), (0, total - each.shape[1]))) for each in maps]
    rows = [np.eye(total)]
    right = [np.zeros(total)]
    for each, mean, seen in zip(maps, means, readings, strict=True):
        rows.append(seen.matrix @ each / seen.deviation[:, None])
        right.append((seen.values - seen.matrix @ mean) / seen.deviation)
    orthogonal, triangle = np.linalg.qr(np.concatenate(rows))
    unknown = np.linalg.solve(triangle, orthogonal.T @ np.concatenate(right))
    root = np.linalg.inv(triangle)
    return [
        Gaussian(mean + each @ unknown, each @ root) for each, mean in zip(maps, means, strict=True)
    ]


def solve_curved_window(
    first: Gaussian,
    about: Callable[[int, Array], Transition],
    readings: Sequence[Readings],
) -> list[Gaussian]:
    """The same of dynamics that are not linear, by linearising about the path found last.

    Args:
        first: the state before its readings.
        about: the transition after time number k, linearised about a state there.
        readings: of every time.
    """
    path = [first.mean]
    for index in range(len(readings) - 1):
        step = about(index, path[-1])
        path.append(step.matrix @ path[-1] + step.shift)
    found: list[Gaussian] = []
    for _ in range(MAX_ROUNDS):
        steps = [about(index, state) for index, state in enumerate(path[:-1])]
        found = solve_window(first, steps, readings)
        moved = max(
            float(np.abs(new.mean - old).max()) for new, old in zip(found, path, strict=True)
        )
        size = max(float(np.abs(new.mean).max()) for new in found)
        path = [state.mean for state in found]
        if moved <= STILL * size:
            break
    return found
