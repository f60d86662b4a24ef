"""Training of a neural operator until its validation error stops falling, and not by the clock.

The learning rate starts at the authors' 1e-3 and shrinks whenever the error of free forecasts of
validation trajectories has not fallen for a while; when it is a hundredth, training ends. The
weights with the lowest validation error are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from smore.data import Trajectories, fingerprint
from smore.runtime import ALONE, ProgressLine, stop_requests
from smore.training import (
    EVERY_SECONDS,
    Checkpoints,
    Randomness,
    Stateful,
    Variables,
    checkpoint_files,
    draw_batches,
    open_checkpoints,
)
from smore_paper.baselines.rollout_operator import (
    LEARNING_RATE,
    RolloutOperator,
    accumulate_rollout_loss,
    copy_of_state,
    gradient_is_finite,
)

EVALUATE_EVERY = 10  # epochs
PATIENCE = 4  # evaluations without a gain
LEAST_GAIN = 0.01  # of the lowest error so far
SHRINKAGE = 0.3
LOWEST_RATE = 1e-5
MOST_EPOCHS = 1000
PAIRS = "pairs of reals"


@dataclass(frozen=True)
class Convergence:
    """How a training went.

    Attributes:
        epochs: passes over the data.
        best_epoch: after how many of them the weights that are kept were reached.
        converged: whether it ended because nothing was gained any more.
        curve: (epochs, validation error) of every evaluation.
    """

    epochs: int
    best_epoch: int
    converged: bool
    curve: list[tuple[int, float]]
    seconds: float


class _Standing(Variables):
    """Where a training stands: everything that its schedule depends on."""

    def __init__(self) -> None:
        self.epoch, self.best_epoch = 0, 0
        self.rate, self.waited = LEARNING_RATE, 0
        self.lowest, self.mark = math.inf, math.inf
        self.best: dict[str, Tensor] = {}
        self.curve: list[tuple[int, float]] = []

    @property
    def ended(self) -> bool:
        return self.rate < LOWEST_RATE or self.epoch >= MOST_EPOCHS

    def judge(self, error: float, network: nn.Module) -> None:
        """Note an evaluation: keep the best weights, shrink the rate after several in vain."""
        self.curve.append((self.epoch, error))
        if error < self.lowest:  # never true for a NaN
            self.lowest, self.best_epoch = error, self.epoch
            self.best = copy_of_state(network)
        if error < (1 - LEAST_GAIN) * self.mark:
            self.mark, self.waited = error, 0
        else:
            self.waited += 1
        if self.waited == PATIENCE:
            self.shrink()

    def shrink(self) -> None:
        self.rate, self.waited = SHRINKAGE * self.rate, 0


class _InReals:
    """A part whose complex numbers checkpoints, which know none, hold as pairs of real ones."""

    def __init__(self, part: Stateful) -> None:
        self.part = part

    def state_dict(self) -> Any:
        return _in_reals(self.part.state_dict())

    def load_state_dict(self, state: Any) -> None:
        self.part.load_state_dict(_from_reals(state))


def _in_reals(state: Any) -> Any:
    if isinstance(state, Tensor) and state.is_complex():
        return {PAIRS: torch.view_as_real(state.detach())}
    if isinstance(state, Mapping):
        return {key: _in_reals(value) for key, value in state.items()}
    return state


def _from_reals(state: Any) -> Any:
    if not isinstance(state, Mapping):
        return state
    if PAIRS in state:
        return torch.view_as_complex(state[PAIRS].contiguous())
    return {key: _from_reals(value) for key, value in state.items()}


def fit_until_converged(
    operator: RolloutOperator,
    train: Trajectories,
    validation: Trajectories,
    *,
    seed: int,
    checkpoints: Path | None = None,
) -> Convergence:
    """Train `operator` on `train` until forecasts of `validation` stop getting better.

    Args:
        operator: takes what is learned.
        train: the training windows.
        validation: other trajectories, forecast from their first snapshot to their last.
        seed: source of every random number.
        checkpoints: folder to keep the state in; what is found there is gone on with.

    Raises:
        InterruptedTrainingError: a signal asked to stop; a checkpoint is written.
    """

    def identity() -> dict[str, str]:
        sizes = {name: each for name, each in vars(operator).items() if not name.startswith("_")}
        told = {"operator": f"{operator.name} {sizes}", "seed": str(seed)}
        for name, data in (("training", train), ("validation", validation)):
            told |= {f"{name} {part}": text for part, text in fingerprint(data).items()}
        return told

    with stop_requests() as stop:
        kept = open_checkpoints(
            checkpoints,
            identity,
            every=EVERY_SECONDS,
            resume=checkpoints is not None and bool(checkpoint_files(checkpoints)),
            stop=stop,
            team=ALONE,
        )
        network, images = operator.begin(train, seed)
        standing = _optimise(operator, network, images, operator.error_on(validation), seed, kept)
    if standing.best:
        network.load_state_dict(standing.best)
    operator.learned(train, standing.epoch, kept.seconds)
    return Convergence(
        standing.epoch,
        standing.best_epoch,
        standing.rate < LOWEST_RATE,
        standing.curve,
        kept.seconds,
    )


def _optimise(
    operator: RolloutOperator,
    network: nn.Module,
    images: Tensor,
    error: Callable[[], float],
    seed: int,
    checkpoints: Checkpoints,
) -> _Standing:
    """Update until the schedule ends."""
    standing, generator = _Standing(), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    stage = checkpoints.stage(
        "operator",
        network=_InReals(network),
        optimizer=_InReals(optimizer),
        randomness=Randomness(generator),
        standing=_InReals(standing),
    )
    with ProgressLine(f"training {operator.name}", MOST_EPOCHS) as line:
        while not standing.ended:
            optimizer.param_groups[0]["lr"] = standing.rate
            network.train()
            batches = draw_batches(len(images), operator.batch_size, generator)
            loss = _epoch(network, optimizer, [images[batch] for batch in batches], operator)
            standing.epoch += 1
            if loss is None:  # from the best weights, if there are any, with smaller steps
                if standing.best:
                    network.load_state_dict(standing.best)
                optimizer.state.clear()
                standing.shrink()
            elif standing.epoch % EVALUATE_EVERY == 0:
                standing.judge(error(), network)
            stage.step()
            told = f"rate {standing.rate:.0e}, validation error {standing.lowest:.2e}"
            line.update(standing.epoch, told)
    return standing


def _epoch(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: list[Tensor],
    operator: RolloutOperator,
) -> float | None:
    """The summed loss of an epoch; None if it or its gradient turned non-finite."""
    total = 0.0
    for batch in batches:
        optimizer.zero_grad()
        loss = accumulate_rollout_loss(network, batch, operator.windows_at_once)
        if not (math.isfinite(loss) and gradient_is_finite(network)):
            return None
        optimizer.step()
        total += loss
    return total
