"""Linear dynamics: one-step map, ridge by cross-validation, real generator, refinement.

The least-squares map x ↦ M x over one step is a linear problem. Its ridge pulls towards standing
still and is chosen by how well rollouts follow trajectories that were left out. The generator W
with expm(W h) = M is a real logarithm. Noise in the latents biases a one-step fit, so W is then
refined on whole rollouts for as long as left-out trajectories gain from that. In the end growing
eigenvalues are made to decay, where left-out trajectories hardly notice.

There is no constant term: latents are those of the whole field, not of its deviation from a mean,
so a mean flow is itself a direction that the map can keep.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import expm, logm
from torch import Tensor

from smore.data import Timeline
from smore.dynamics import LinearDynamics
from smore.errors import HiddenFrequencyWarning
from smore.runtime import one_thread
from smore.stability import project_spectrum
from smore.training.dynamics.quadratic import interval_integrals
from smore.training.leaving_out.bases import LeftOutBases

RIDGES = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1e-1)
# The penalty of a direction grows with this power of its energy: 0 pulls weak directions towards
# standing still, 1 pulls all alike.
POWERS = (0.0, 0.5)
NUM_FOLDS = 8
# A mode that decays by more than this over a step leaves nothing to take the logarithm of.
SMALLEST_MODULUS = 1e-6
# An error of the dynamics that is this share of the decoder's is not worth refining.
NEGLIGIBLE = 0.01
# Iterations of the refinement that are tried, and the gain on left-out trajectories that is asked.
REFINEMENTS = (5, 10, 20)
LEAST_GAIN = 0.01
# Eigenvalues that are made to decay do so by this share per step, and left-out trajectories may
# lose this share of their accuracy.
DECAY = 1e-6
STABLE_COST = 0.05
# Beyond this share of half a turn per step a frequency and its alias look alike; a warning is due
# when so much of the variance turns so fast.
NEARLY_HALF_A_TURN = 0.9
HIDDEN_SHARE = 0.01


class Ridge(NamedTuple):
    """The penalty of a one-step regression.

    Args:
        size: relative to the mean energy of a direction.
        power: of a direction's energy, see POWERS.
    """

    size: float = 0.0
    power: float = 0.0


@one_thread()
@torch.no_grad()
def fit_generator(
    dynamics: LinearDynamics,
    trajectories: Tensor,
    timeline: Timeline,
    groups: Tensor,
    *,
    bases: LeftOutBases | None = None,
    unresolved: float = 0.0,
    stabilise: str = "auto",
) -> dict[str, float]:
    """Fit `dynamics`, in place, to trajectories with equal steps.

    Args:
        dynamics: linear dynamics.
        trajectories: (sequences, longest, r) float64.
        timeline: their lengths and steps.
        groups: (sequences,) which trajectory each was cut from.
        bases: latents that know nothing of left-out trajectories, where they can be had.
        unresolved: squared error of a state that the decoder makes anyhow.
        stabilise: "always", "never", or "auto" for "if it costs little".

    Returns:
        The ridge, the relative change that a real generator took, the iterations of refinement,
        how fast the fastest mode grew, and what it costs left-out trajectories that none does.
    """
    folds = assign_folds(groups)
    step = float(timeline.steps[timeline.valid[:, 1:]][0])
    fit = CrossValidation(trajectories, timeline, folds, step, bases, unresolved)
    ridge = fit.best_ridge()
    matrix = Transitions(trajectories, timeline, folds).fit(ridge)
    generator, change = real_generator(matrix, step)
    iterations = fit.useful_iterations()
    if iterations:
        rollouts = Rollouts(trajectories, timeline.valid, step)
        generator = rollouts.refine(generator, iterations)[-1]
    rates = np.linalg.eigvals(generator.numpy()).real
    growth = float(rates.max())
    cost = fit.cost_of_decay() if growth > -DECAY / step else 0.0
    stable = stabilise == "always" or (stabilise == "auto" and cost <= STABLE_COST)
    if stable:
        generator = decaying(generator, step)
    dynamics.linear.copy_(generator)
    share = hidden_share(generator, timeline.scatter(trajectories), step)
    if share > HIDDEN_SHARE:
        warnings.warn(
            f"{share:.0%} of the variance turns by more than {NEARLY_HALF_A_TURN:.0%} of half a "
            "revolution per time step: the step hides the true frequency, so forecasts at other "
            "times than multiples of it are not to be trusted; train on data with smaller steps",
            HiddenFrequencyWarning,
            stacklevel=2,
        )
    return {
        "ridge": ridge.size,
        "ridge_power": ridge.power,
        "generator_change": change,
        "refinement": float(iterations),
        "fastest_growth": growth,
        "cost_of_stability": cost,
        "stabilised": float(stable),
        "modes_made_to_decay": float((rates > -DECAY / step).sum()) if stable else 0.0,
        "hidden_share": share,
    }


def hidden_share(generator: Tensor, states: Tensor, step: float) -> float:
    """Share of the states' energy in eigenmodes with |Im λ| step near π."""
    values, vectors = np.linalg.eig(generator.numpy())
    fast = np.abs(values.imag) * step > NEARLY_HALF_A_TURN * np.pi
    if not fast.any():
        return 0.0
    amplitudes = np.linalg.lstsq(vectors, states.T.numpy(), rcond=None)[0]
    part = (vectors[:, fast] @ amplitudes[fast]).real
    return float((part**2).sum() / float(states.square().sum()))


class Rollouts:
    """The multi-step error of a generator over whole sequences with equal steps."""

    def __init__(self, trajectories: Tensor, valid: Tensor, step: float) -> None:
        self.trajectories, self.step = trajectories, step
        self.weight = valid[:, 1:].to(trajectories) / valid[:, 1:].sum()

    def error(self, generator: Tensor) -> Tensor:
        """Mean squared error per snapshot of free rollouts."""
        return self.map_error(torch.linalg.matrix_exp(self.step * generator))

    def map_error(self, flow: Tensor) -> Tensor:
        """The same for the map over one step (r, r)."""
        state, total = self.trajectories[:, 0], self.trajectories.new_zeros(())
        for number in range(1, self.trajectories.shape[1]):
            state = state @ flow.T
            squared = (state - self.trajectories[:, number]).square().sum(-1)
            total = total + (squared * self.weight[:, number - 1]).sum()
        return total

    @torch.enable_grad()
    def refine(self, generator: Tensor, iterations: int) -> list[Tensor]:
        """The generators after each iteration of L-BFGS from `generator`."""
        current = generator.clone().requires_grad_()
        optimizer = torch.optim.LBFGS(
            [current],
            max_iter=1,
            max_eval=25,
            tolerance_grad=0,
            tolerance_change=0,
            line_search_fn="strong_wolfe",
        )
        first = float(self.error(current).detach())

        def closure() -> Tensor:
            optimizer.zero_grad()
            error = self.error(current) / max(first, 1e-300)
            error.backward()
            assert current.grad is not None
            current.grad = current.grad.contiguous()  # which the optimizer takes for granted
            return error

        found = []
        for _ in range(iterations):
            optimizer.step(closure)
            found.append(current.detach().clone())
        return found


class CrossValidation:
    """What left-out trajectories say about ridge, refinement and decaying modes.

    Args:
        trajectories: (sequences, longest, r) latents.
        timeline: their lengths and steps.
        folds: (sequences,) numbers from 0.
        step: the length of every step.
        bases: latents that know nothing of left-out trajectories, where they can be had.
        unresolved: squared error of a state that the decoder makes anyhow.
    """

    def __init__(
        self,
        trajectories: Tensor,
        timeline: Timeline,
        folds: Tensor,
        step: float,
        bases: LeftOutBases | None,
        unresolved: float,
    ) -> None:
        self.step, self.unresolved = step, unresolved
        self.ridge = Ridge()
        num_folds = int(folds.max()) + 1
        self.transitions = []
        for fold in range(num_folds if num_folds > 1 else 0):
            latents = trajectories if bases is None else bases.latents(folds == fold)
            self.transitions.append(Transitions(latents, timeline, folds))

    def best_ridge(self) -> Ridge:
        """The ridge that forecasts them best; none when there is nothing to leave out."""
        if not self.transitions:
            return self.ridge
        tried = [Ridge(size, power) for size in RIDGES for power in (POWERS if size else (0.0,))]
        errors = []
        for ridge in tried:
            per_fold = [
                float(self._left_out(fold).map_error(each.fit(ridge, without=[fold])))
                for fold, each in enumerate(self.transitions)
            ]
            errors.append(np.nan_to_num(np.mean(per_fold), nan=np.inf))
        self.ridge = tried[int(np.argmin(errors))]
        return self.ridge

    def _folds(self) -> Iterator[tuple[Tensor, Rollouts, Rollouts]]:
        """One-step map, training and left-out rollouts of each fold."""
        for fold, each in enumerate(self.transitions):
            training = each.folds != fold
            rollouts = Rollouts(each.latents[training], each.timeline.valid[training], self.step)
            yield each.fit(self.ridge, without=[fold]), rollouts, self._left_out(fold)

    def _left_out(self, fold: int) -> Rollouts:
        each = self.transitions[fold]
        chosen = each.folds == fold
        return Rollouts(each.latents[chosen], each.timeline.valid[chosen], self.step)

    def useful_iterations(self) -> int:
        """How many iterations of refinement they gain from; 0 where they hardly do."""
        errors = np.zeros(1 + len(REFINEMENTS))
        for matrix, training, testing in self._folds():
            if float(testing.map_error(matrix)) <= NEGLIGIBLE * self.unresolved:
                return 0
            start, _ = real_generator(matrix, self.step)
            found = training.refine(start, REFINEMENTS[-1])
            tried = [start, *(found[iterations - 1] for iterations in REFINEMENTS)]
            errors += [float(testing.error(generator)) for generator in tried]
            if not np.min(errors) < (1 - LEAST_GAIN) * errors[0]:
                return 0
        return (0, *REFINEMENTS)[int(np.argmin(errors))]

    def cost_of_decay(self) -> float:
        """Relative rise of their whole error, the decoder's included, when no mode may grow."""
        free = stable = self.unresolved * len(self.transitions)
        for matrix, _, testing in self._folds():
            free += float(testing.map_error(matrix))
            stable += float(testing.map_error(decaying_map(matrix)))
        return stable / free - 1 if free > 0 else 0.0


def decaying(generator: Tensor, step: float) -> Tensor:
    """The generator with every eigenvalue decaying by at least DECAY per step."""
    return torch.as_tensor(project_spectrum(generator.numpy(), DECAY / step))


def decaying_map(matrix: Tensor) -> Tensor:
    """The map over a step with every eigenvalue decaying by at least DECAY."""
    values, vectors = np.linalg.eig(matrix.numpy())
    moduli = np.abs(values)
    moved = values * (np.minimum(moduli, np.exp(-DECAY)) / np.maximum(moduli, 1e-300))
    return torch.as_tensor(np.linalg.solve(vectors.T, (vectors * moved).T).T.real)


class IrregularTransitions:
    """Regression of the generator on ∫ a dt between snapshots, whatever their distance in time.

    Args:
        trajectories: (sequences, longest, r) padded.
        timeline: their lengths and steps.
    """

    def __init__(self, trajectories: Tensor, timeline: Timeline) -> None:
        dim = trajectories.shape[-1]
        self.square, self.cross = (torch.zeros(dim, dim, dtype=torch.float64) for _ in range(2))
        values = trajectories.to("cpu", torch.float64).numpy()
        for sequence, valid, steps in zip(
            values, timeline.valid.numpy(), timeline.steps.numpy(), strict=True
        ):
            length = int(valid.sum())
            integrals = interval_integrals(sequence[:length], steps[: length - 1], lambda a: a)
            self.square += integrals.T @ integrals
            self.cross += integrals.T @ torch.as_tensor(np.diff(sequence[:length], axis=0))

    def fit(self, ridge: float) -> Tensor:
        """W (r, r)."""
        identity = torch.eye(len(self.square), dtype=torch.float64)
        square = self.square + ridge * self.square.diagonal().mean() * identity
        return torch.linalg.lstsq(square, self.cross, driver="gelsd").solution.T


class Transitions:
    """The sums that a one-step regression needs, kept apart by trajectory for cross-validation.

    Args:
        latents: (sequences, longest, r) float64 padded trajectories.
        timeline: their lengths and steps; all steps must be equal.
        folds: (sequences,) which fold each belongs to.
    """

    def __init__(self, latents: Tensor, timeline: Timeline, folds: Tensor) -> None:
        self.latents, self.timeline, self.folds = latents, timeline, folds
        pairs = timeline.valid[:, 1:]
        self.sums: list[tuple[Tensor, Tensor]] = []
        for fold in range(int(self.folds.max()) + 1):
            chosen = pairs & (self.folds == fold)[:, None]
            before, after = latents[:, :-1][chosen], latents[:, 1:][chosen]
            self.sums.append((before.T @ before, before.T @ (after - before)))

    def fit(self, ridge: Ridge, without: Collection[int] = ()) -> Tensor:
        """M (r, r) by ridge regression of the change over a step, leaving out some folds."""
        used = [sums for fold, sums in enumerate(self.sums) if fold not in without]
        square = torch.stack([each for each, _ in used]).sum(0)
        cross = torch.stack([each for _, each in used]).sum(0)
        identity = torch.eye(len(square), dtype=torch.float64)
        energies = square.diagonal()
        typical = energies.mean().clamp(min=1e-300)
        penalty = ridge.size * typical * (energies / typical) ** ridge.power
        return identity + _solved(square + penalty.diag(), cross, ridge).T


def _solved(square: Tensor, cross: Tensor, ridge: Ridge) -> Tensor:
    """Of symmetric equations; by a Cholesky factor where a ridge makes sure that there is one."""
    if ridge.size:
        root, failed = torch.linalg.cholesky_ex(square)
        if not int(failed):
            return torch.cholesky_solve(cross, root)
    return torch.linalg.lstsq(square, cross, driver="gelsd").solution


def assign_folds(groups: Tensor) -> Tensor:
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
