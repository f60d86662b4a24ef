"""Operator inference: a quadratic map between POD states, by regularised least squares.

    a(t + Δt) = c + A a(t) + H [a(t) ⊗ a(t)]

is linear in its operators, so they are a ridge regression on pairs of consecutive snapshots, here
with the package `opinf`. In discrete time, because sequences are short and their steps long: finite
differences of ten snapshots would not give time derivatives worth fitting.

The ridge pulls towards standing still (A = I) and is chosen on training trajectories that were left
out of modes and regression alike: the smallest error of their rollouts, among the ridges whose
rollouts of twice that length stay bounded (the criterion of McQuarrie, Huang and Willcox, 2021).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smore.data import Trajectories
from smore.errors import DataError, MissingExtraError
from smore.runtime import ProgressLine
from smore_paper.baselines.base import Baseline, Training
from smore_paper.baselines.pod_dmd import POD, first_fields, require_equal_steps, state_dim

# In units of the root of the number of steps, so that a ridge means the same whatever that is. From
# the largest: where none is bounded, the most cautious one is taken.
RIDGES = tuple(float(ridge) for ridge in np.logspace(0, -7, 15))
HELD_OUT = 0.25
# A rollout is bounded if it stays this near the mean, in units of the farthest training state.
MARGIN = 1.5


class OperatorInference(Baseline):
    """Quadratic operator inference in POD coordinates.

    Args:
        rank: r, number of POD modes; fewer are used where the data do not vary in more directions.

    Attributes:
        pod_: the basis.
        model_: the `opinf.models.DiscreteModel`.
        ridge_: the regularisation that was chosen.
    """

    name = "operator inference"
    selects = False
    pod_: POD
    model_: Any
    ridge_: float

    def __init__(self, rank: int) -> None:
        self.rank = rank

    @classmethod
    def for_dataset(cls, dataset: str) -> OperatorInference:
        """The size for a benchmark: the state is as long as that of SMORE-LRLQ, r = channels p.

        Wave 80, Navier-Stokes 72, shallow water 120. A state has up to 7,381 features, and the
        regression takes a few minutes of one core and two gigabytes.
        """
        return cls(state_dim(dataset, "lrlq"))

    @property
    def num_parameters(self) -> int:
        """Mean field, modes, c, A and the distinct entries of H."""
        return self.pod_.num_parameters + int(self.model_.operator_matrix.size)

    def _train(self, training: Training) -> tuple[int, str]:
        """One look at the data, whatever the budget; the seed chooses what is held out."""
        require_equal_steps(training.data)
        rest, held_out = training.data.split(HELD_OUT, training.seed)
        if held_out is None:
            raise DataError(
                "operator inference chooses its ridge on a trajectory it does not learn from, the "
                "data have only one; give at least two"
            )
        with ProgressLine("operator inference", len(RIDGES) + 1, shown=training.progress) as line:
            errors = []
            for error in self._held_out_errors(rest, held_out):
                errors.append(error)
                line.update(len(errors))
            self.ridge_ = RIDGES[int(np.argmin(errors))]
            self.pod_ = POD.fit(training.data, self.rank)
            self.model_ = infer(_states(self.pod_, training.data), self.ridge_)
            line.update(len(RIDGES) + 1)
        return 1, "cpu"

    def _held_out_errors(self, rest: Trajectories, held_out: Trajectories) -> Iterator[float]:
        """Errors of each ridge on trajectories that the model knows nothing of."""
        pod = POD.fit(rest, self.rank)
        states, truth = _states(pod, rest), _states(pod, held_out)
        bound = MARGIN * max(float(np.linalg.norm(each, axis=0).max()) for each in states)
        model = infer(states, RIDGES[0])
        for ridge in RIDGES:
            model.solver.regularizer = _weight(states, ridge)
            yield held_out_error(model.refit(), truth, bound)

    def _rollout(self, first: Trajectories, num_steps: int) -> NDArray[np.floating]:
        self.pod_.require_same_points(first)
        states = rollout(self.model_, self.pod_.encode(first_fields(first)).T, num_steps)
        with np.errstate(over="ignore", invalid="ignore"):
            return self.pod_.decode(np.moveaxis(states, 2, 0))


def infer(states: list[NDArray[np.float64]], ridge: float) -> Any:
    """An `opinf.models.DiscreteModel` c + A a + H [a ⊗ a] fitted to sequences of states.

    Args:
        states: (r, times) of each sequence; no pair spans two of them.
        ridge: weight of the distance to standing still, in the units of `RIDGES`.
    """
    try:
        import opinf
    except ImportError as error:
        raise MissingExtraError("opinf", "paper", "operator inference") from error
    solver = opinf.lstsq.L2Solver(_weight(states, ridge), initial_guess=_standing_still(states))
    model = opinf.models.DiscreteModel("cAH", solver=solver)
    with warnings.catch_warnings():
        # Fewer steps than features is what the ridge is for.
        warnings.filterwarnings("ignore", message=".*underdetermined", category=UserWarning)
        return model.fit(*model.stack_trajectories(states))


def rollout(model: Any, initial: NDArray[np.float64], num_steps: int) -> NDArray[np.float64]:
    """States (num_steps, r, sequences) after initial ones (r, sequences), finite or not."""
    states = [initial]
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(num_steps):
            states.append(model.rhs(states[-1]))
    return np.stack(states[1:])


def held_out_error(model: Any, truth: list[NDArray[np.float64]], bound: float) -> float:
    """Mean squared error per snapshot of rollouts of states (r, times) from the first of each.

    Infinite if one of twice the length gets farther from the mean than `bound`.
    """
    longest = max(each.shape[1] for each in truth) - 1
    path = rollout(model, np.stack([each[:, 0] for each in truth], axis=1), 2 * longest)
    with np.errstate(over="ignore", invalid="ignore"):
        if not float(np.linalg.norm(path, axis=1).max()) <= bound:  # NaN is not bounded either
            return np.inf
    errors = [
        np.square(path[: each.shape[1] - 1, :, number].T - each[:, 1:]).sum(0)
        for number, each in enumerate(truth)
    ]
    return float(np.concatenate(errors).mean())


def _states(pod: POD, trajectories: Trajectories) -> list[NDArray[np.float64]]:
    """(r, times) of each sequence."""
    return [pod.encode(sequence.fields).T for sequence in trajectories]


def _weight(states: list[NDArray[np.float64]], ridge: float) -> float:
    return ridge * float(np.sqrt(sum(each.shape[1] - 1 for each in states)))


def _standing_still(states: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """[c, A, H] = [0, I, 0], (r, 1 + r + r (r + 1) / 2)."""
    dim = len(states[0])
    operators = np.zeros((dim, 1 + dim + dim * (dim + 1) // 2))
    operators[:, 1 : 1 + dim] = np.eye(dim)
    return operators
