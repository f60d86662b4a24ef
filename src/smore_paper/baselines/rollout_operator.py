"""Training that neural operators share: one network is one time step, applied over and over.

û₀ = u₀,   û_{n+1} = G(û_n),   L = Σ_n mean (û_n - u_n)²

over the nine steps of a ten-snapshot window, with channels of mean zero and variance one. Adam with
default betas, in minibatches of whole windows. The paper gives no learning rate for the operators:
they start at the 1e-3 of their authors, who all let it fall, here along a cosine that ends with the
budget, so that a short training ends well too.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from smore.data import Normalization, Trajectories
from smore.runtime import ProgressLine, resolve_device
from smore.surrogate import count_parameters
from smore.training import draw_batches
from smore_paper.baselines.base import EVALUATE_EVERY, Baseline, Budget, Training
from smore_paper.baselines.grid import Grid, require_complete, windows

LEARNING_RATE = 1e-3


@dataclass(eq=False)
class RolloutOperator(Baseline):
    """A network from the field at one time to the field one step later, on a fixed grid.

    Args:
        batch_size: windows per update.
        windows_at_once: windows of a batch that are rolled out together; their gradients add up to
            that of the batch, so it only decides on memory. None for the whole batch.
        device: auto, cpu, cuda, cuda:1, mps.

    Attributes:
        updates_run: updates in `fit`, those of an epoch that the budget cut short included.
    """

    updates_run: int = field(init=False)
    batch_size: int = field(default=32, kw_only=True)
    windows_at_once: int | None = field(default=None, kw_only=True)
    device: str = field(default="auto", kw_only=True)

    def __post_init__(self) -> None:
        self._device = resolve_device(self.device)

    @abstractmethod
    def build(self, grid: Grid, num_channels: int) -> nn.Module:
        """A network (batch, channels, rows, columns) -> the same, with fresh weights."""

    @property
    def num_parameters(self) -> int:
        return count_parameters(self._network)

    def begin(self, data: Trajectories, seed: int) -> tuple[nn.Module, Tensor]:
        """A network with fresh weights, and the windows of `data` as normalised images."""
        self._grid = Grid.of(data)
        fields = windows(data)
        self._normalization = Normalization.fit(data)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            self._network = self.build(self._grid, data.num_channels).to(self._device)
        return self._network, self._images(fields)

    def _train(self, training: Training) -> tuple[int, str]:
        data, select_on = training.data, training.select_on
        _, images = self.begin(data, training.seed)
        best = _Best(self._network, None if select_on is None else self.error_on(select_on))
        batches = _endless_batches(len(images), self.batch_size, training.seed)
        updates_per_epoch = math.ceil(len(images) / self.batch_size)
        with ProgressLine(f"training {self.name}", 100, shown=training.progress) as line:
            self.updates_run = self._optimise(
                images, batches, updates_per_epoch, training.budget, best, line
            )
        best.restore()
        return self.updates_run // updates_per_epoch, str(self._device)

    def _optimise(
        self,
        images: Tensor,
        batches: Iterator[Tensor],
        updates_per_epoch: int,
        budget: Budget,
        best: _Best,
        line: ProgressLine,
    ) -> int:
        """Update until the budget is used up; return the number of updates."""
        optimizer = torch.optim.Adam(self._network.parameters(), lr=LEARNING_RATE)
        good = copy_of_state(self._network)
        updates, used = 0, 0.0
        self._network.train()
        while used < 1:
            optimizer.zero_grad()
            batch = images[next(batches)].to(self._device)
            loss = accumulate_rollout_loss(self._network, batch, self.windows_at_once)
            if not (math.isfinite(loss) and gradient_is_finite(self._network)):
                self._network.load_state_dict(good)
                _warn_of_divergence(self.name, loss, updates)
                break
            good = copy_of_state(self._network)
            optimizer.param_groups[0]["lr"] = LEARNING_RATE * (1 + math.cos(math.pi * used)) / 2
            optimizer.step()
            updates += 1
            used = budget.used(updates / updates_per_epoch)
            if updates % (EVALUATE_EVERY * updates_per_epoch) == 0 or used == 1:
                best.judge()
            line.update(
                int(100 * used), f"epoch {updates / updates_per_epoch:.1f}, loss {loss:.1e}"
            )
        return updates

    def error_on(self, trajectories: Trajectories) -> Callable[[], float]:
        """The mean squared error of free forecasts of `trajectories`, in the data's units."""
        truth = windows(trajectories)[:, 1:].astype(np.float64)

        def error() -> float:
            forecast = self._rollout(trajectories.leading(1), truth.shape[1])
            return float(np.square(forecast - truth).mean())

        return error

    @torch.no_grad()
    def _rollout(self, first: Trajectories, num_steps: int) -> NDArray[np.floating]:
        self._grid.require_same(first)
        require_complete(first)
        self._network.eval()
        start = self._images(np.stack([sequence.fields for sequence in first]))[:, 0]
        parts = []
        for state in start.split(self.windows_at_once or self.batch_size):
            steps = []
            state = state.to(self._device)
            for _ in range(num_steps):
                state = self._network(state)
                steps.append(state.cpu())
            parts.append(torch.stack(steps, dim=1))
        return self._normalization.undo(self._grid.points(torch.cat(parts).numpy()))

    def _images(self, fields: NDArray[np.floating]) -> Tensor:
        """Fields (..., channels, points) -> normalised float32 images (..., rows, columns)."""
        normalised = self._normalization.apply(fields).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(self._grid.images(normalised)))


class _Best:
    """The weights with the lowest error so far; the last ones where nothing is measured."""

    def __init__(self, network: nn.Module, error: Callable[[], float] | None) -> None:
        self.network, self.error = network, error
        self.lowest, self.state = math.inf, dict[str, Tensor]()

    def judge(self) -> None:
        """Keep the present weights if their error is the lowest."""
        if self.error is None:
            return
        found = self.error()
        self.network.train()  # which a forecast ends
        if found < self.lowest:  # never true for a NaN
            self.lowest, self.state = found, copy_of_state(self.network)

    def restore(self) -> None:
        """Go back to what was kept, if anything was."""
        if self.state:
            self.network.load_state_dict(self.state)


class AppendCoordinates(nn.Module):
    """Fields (batch, channels, rows, columns) with the coordinates as further channels."""

    coordinates: Tensor

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        places = torch.from_numpy(np.array(grid.coordinates))
        self.register_buffer("coordinates", places, persistent=False)

    def forward(self, fields: Tensor) -> Tensor:
        places = self.coordinates.expand(len(fields), *self.coordinates.shape)
        return torch.cat([fields, places], dim=1)


def accumulate_rollout_loss(
    network: nn.Module, batch: Tensor, windows_at_once: int | None = None
) -> float:
    """L of a batch (windows, times, channels, rows, columns); its gradient is added to `.grad`."""
    total = 0.0
    for part in batch.split(windows_at_once or len(batch)):
        state = part[:, 0]
        loss = state.new_zeros(())
        for target in part[:, 1:].unbind(1):
            state = network(state)
            loss = loss + mse_loss(state, target)
        loss = loss * (len(part) / len(batch))
        loss.backward()
        total += float(loss.detach())
    return total


def _endless_batches(num_windows: int, batch_size: int, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from draw_batches(num_windows, batch_size, generator)


def copy_of_state(network: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def gradient_is_finite(network: nn.Module) -> bool:
    gradients = (weight.grad for weight in network.parameters())
    return all(bool(each.isfinite().all()) for each in gradients if each is not None)


def _warn_of_divergence(name: str, loss: float, updates: int) -> None:
    warnings.warn(
        f"{name}: rollout loss {loss:.3g} or its gradient turned non-finite after {updates} "
        "updates; training stopped and the weights before that are kept. Try another seed or "
        "shorter windows",
        RuntimeWarning,
        stacklevel=5,
    )
