"""How wrong a model is about trajectories that it was not fitted to.

In-sample errors flatter: with few trajectories, or many coefficients, a model fits what it has seen
far better than what it will see. Refitting everything without each trajectory would be honest and
take hours; refitting the best linear basis and the one-step map takes seconds and is nearly that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from smore.data import Timeline
from smore.decoder import Decoder
from smore.dynamics import LatentDynamics, LinearDynamics, StepError, step_map
from smore.settings import Settings
from smore.training.dynamics.linear import Ridge, Transitions, assign_folds
from smore.training.leaving_out._growing import matched
from smore.training.leaving_out._shrinking import shrunk_covariance
from smore.training.leaving_out.bases import LeftOutBases
from smore.training.problem import TrainingProblem

# With how many parts of the trajectories it is seen how errors fall with their number, and the
# largest power of it that is believed.
LEAST_FOLDS, MOST_POWER = 8, 3.0


@dataclass(frozen=True, eq=False)
class LeftOutErrors:
    """Errors of single steps, and of the decoder.

    Args:
        steps: (errors, r) errors η of single steps, in the model's latent coordinates.
        pairs: two (pairs, r) tables: an error moved on by one more step, and the error which that
            step made; None where no two steps follow each other.
        excess: (channels,) mean square of what the decoder misses of a snapshot that was left out,
            beyond what it misses of one that was not.
        origins: (errors,) numbers of the trajectories that they were made on.
        grown: mean squares (leads,) of errors of whole forecasts, and the map (r, r) of linear
            dynamics that they are moved on by; None where these were not looked at.
    """

    steps: Tensor
    pairs: tuple[Tensor, Tensor] | None
    excess: Tensor
    origins: Tensor
    grown: tuple[Tensor, Tensor] | None = None

    def step_error(self, step: float) -> StepError:
        """Covariance of the errors, and how they go on."""
        variances, directions = torch.linalg.eigh(shrunk_covariance(self.steps, self.origins))
        factor = directions * variances.clamp(min=0).sqrt()
        if self.pairs is None:
            return StepError(factor, 1.0, step)  # the worst case
        moved, made = self.pairs
        squared = float(moved.square().sum())
        correlation = float((moved * made).sum()) / squared if squared > 0 else 0.0
        error = StepError(factor, min(max(correlation, 0.0), 1.0), step)
        if self.grown is None:
            return error
        seen, matrix = self.grown
        return matched(error, matrix, seen)


def collect(
    steps: Tensor, moved: Tensor, valid: Tensor, excess: Tensor, groups: Tensor
) -> LeftOutErrors:
    """From errors and moved errors (sequences, steps, r), where `valid` (sequences, steps)."""
    origins = groups[:, None].expand_as(valid)[valid]
    both = valid[:, 1:] & valid[:, :-1]
    pairs = (moved[:, :-1][both], steps[:, 1:][both]) if bool(both.any()) else None
    return LeftOutErrors(steps[valid], pairs, excess, origins)


@torch.no_grad()
def left_out_errors(
    problem: TrainingProblem,
    decoder: Decoder,
    dynamics: LatentDynamics,
    latents: Tensor,
    settings: Settings,
    *,
    bases: LeftOutBases | None,
    left_out: Tensor,
    ridge: Ridge,
) -> LeftOutErrors:
    """The errors that a fit to some of the trajectories makes on the others.

    Args:
        problem: the training data.
        decoder: fitted to all of them.
        dynamics: fitted to those that are not `left_out`, or to all if linear.
        latents: (snapshots, channels, p) float64.
        settings: integrator.
        bases: of the trajectories without each fold, where they can be had.
        left_out: (sequences,) which sequences the dynamics were not fitted to.
        ridge: with which a linear one-step map is fitted.
    """
    folds = assign_folds(problem.groups)
    several = int(folds.max()) > 0
    excess = torch.zeros(problem.num_channels, dtype=torch.float64)
    if bases is not None and several:
        excess = bases.excess(folds)
    trajectories = problem.timeline.gather(latents.flatten(1))
    if isinstance(dynamics, LinearDynamics) and problem.timeline.uniform and several:
        refits = _Refits(trajectories, problem.timeline, folds, bases, ridge)
        errors = _linear_errors(refits)
        smaller = _known_more(refits, errors[2])
        single, moved, whole = smaller * _in_modes(decoder, refits, errors)
        valid = problem.timeline.valid[:, 1:]
        found = collect(single, moved, valid, excess, problem.groups)
        grown = _mean_squares(whole, valid)
        map_ = torch.linalg.matrix_exp(problem.timeline.steps[0, 0] * dynamics.linear.detach())
        return replace(found, grown=(grown, map_.to("cpu", torch.float64)))
    chosen = left_out if bool(left_out.any()) else torch.ones_like(left_out)
    return model_errors(
        dynamics,
        trajectories[chosen],
        problem.timeline.select(chosen),
        settings,
        excess,
        problem.groups[chosen],
    )


@dataclass(frozen=True, eq=False)
class _Refits:
    """The best basis and the one-step map of some of the trajectories."""

    trajectories: Tensor
    timeline: Timeline
    folds: Tensor
    bases: LeftOutBases | None
    ridge: Ridge

    def without(self, *folds: int) -> tuple[Tensor, Tensor]:
        """Latents (sequences, longest, r) of all sequences, and the map (r, r)."""
        left_out = torch.isin(self.folds, torch.tensor(folds))
        known = self.trajectories if self.bases is None else self.bases.latents(left_out)
        return known, Transitions(known, self.timeline, self.folds).fit(self.ridge, folds)


def _linear_errors(refits: _Refits) -> Tensor:
    """One-step maps, each fitted without one fold and tried on it, in the basis without that fold.

    Returns:
        (3, sequences, steps, r) errors of single steps, these moved on by a step, and errors of
        whole forecasts from the first snapshots.
    """
    sequences, length, size = refits.trajectories.shape
    errors = torch.zeros(3, sequences, length - 1, size, dtype=torch.float64)
    for fold in range(int(refits.folds.max()) + 1):
        chosen = refits.folds == fold
        known, matrix = refits.without(fold)
        made = known[chosen, 1:] - known[chosen, :-1] @ matrix.T
        whole = _whole_errors(known[chosen], matrix)
        errors[:, chosen] = torch.stack([made, made @ matrix.T, whole])
    return errors


def _in_modes(decoder: Decoder, refits: _Refits, errors: Tensor) -> Tensor:
    """Errors (3, sequences, steps, r) as latents of a decoder."""
    if refits.bases is None:
        return errors
    modes_seen = refits.bases.modes_seen(decoder)
    changed = torch.empty_like(errors)
    for fold in range(int(refits.folds.max()) + 1):
        chosen = refits.folds == fold
        change = refits.bases.change_of_basis(chosen, modes_seen)
        codes = errors[:, chosen].unflatten(-1, (-1, change.shape[1]))
        changed[:, chosen] = (codes @ change.T).flatten(-2)
    return changed


def _known_more(refits: _Refits, whole: Tensor) -> float:
    """How much smaller errors of the model are, which is fitted to one fold more.

    Their squares fall like a power of the number of trajectories: not at all where steps err by
    chance, like one over it where only a regression does, faster where each of a few trajectories
    shows something new. What leaving a second fold out adds tells.

    Args:
        refits: what errors came from.
        whole: (sequences, steps, r) errors of whole forecasts without one fold.
    """
    count = int(refits.folds.max()) + 1
    if count < LEAST_FOLDS:
        return (1 - 1 / count) ** 0.5
    less = 0.0
    for fold in range(count):
        chosen = refits.folds == fold
        known, matrix = refits.without(fold, (fold + 1) % count)
        valid = refits.timeline.valid[chosen, 1:]
        less += float(_whole_errors(known[chosen], matrix)[valid].square().sum())
    seen = float(whole[refits.timeline.valid[:, 1:]].square().sum())
    growth = math.log(less / seen) if 0 < seen < less < math.inf else 0.0
    power = growth / math.log((count - 1) / (count - 2))
    return (1 - 1 / count) ** (min(power, MOST_POWER) / 2)


def _whole_errors(truth: Tensor, matrix: Tensor) -> Tensor:
    """(sequences, steps, r) of forecasts from the first of some states."""
    state, reached = truth[:, 0], []
    for _ in range(truth.shape[1] - 1):
        state = state @ matrix.T
        reached.append(state)
    return truth[:, 1:] - torch.stack(reached, dim=1)


def _mean_squares(errors: Tensor, valid: Tensor) -> Tensor:
    """(leads,) of errors (sequences, leads, r), as far as every lead is `valid` somewhere."""
    count = valid.sum(0)
    squares = (errors.square().sum(2) * valid).sum(0)
    return (squares / count.clamp(min=1))[count > 0]


@torch.no_grad()
def model_errors(
    dynamics: LatentDynamics,
    trajectories: Tensor,
    timeline: Timeline,
    settings: Settings,
    excess: Tensor,
    groups: Tensor,
) -> LeftOutErrors:
    """The errors of `dynamics` as they are, on trajectories (sequences, longest, r) of `groups`."""
    states = trajectories.to(next(dynamics.parameters()))
    advance = step_map(
        dynamics, timeline.steps, method=settings.stepping, substeps=settings.num_substeps
    )
    last = timeline.steps.shape[1] - 1
    steps, moved = [], []
    for index in range(last + 1):
        reached = advance(states[:, index], index)
        steps.append(states[:, index + 1] - reached)
        following = min(index + 1, last)  # after the last step nothing is asked
        moved.append(advance(states[:, index + 1], following) - advance(reached, following))
    return collect(
        torch.stack(steps, dim=1).to("cpu", torch.float64),
        torch.stack(moved, dim=1).to("cpu", torch.float64),
        timeline.valid[:, 1:],
        excess,
        groups,
    )
