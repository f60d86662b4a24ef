"""DINo: SMORE's decoder with an MLP for its dynamics, trained by Algorithm 1.

The paper's SMORE follows DINo (Yin et al., 2023) in everything but the dynamics, so this baseline
is SMORE with the settings `dynamics="mlp"` and `recipe="paper"`, and nothing else.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from smore.data import Trajectories
from smore.errors import DivergenceError, SettingsError
from smore.model import SMORE
from smore.runtime import resolve_device
from smore.settings import Settings
from smore.surrogate import decode, infer, iterate
from smore.training import Prepared, prepare
from smore.training import train as run_recipe
from smore_paper.baselines.base import Baseline, Budget
from smore_paper.datasets import resolve
from smore_paper.presets import PRESETS


class DINo(Baseline):
    """DINo as a baseline.

    Args:
        settings: of SMORE, with MLP dynamics. Recipe, epochs, seed and the length of training
            sequences come from `fit`.

    Attributes:
        model_: the SMORE model that it is.
    """

    name = "DINo"
    model_: SMORE

    def __init__(self, settings: Settings) -> None:
        if settings.dynamics != "mlp":
            raise SettingsError(f"DINo has dynamics 'mlp', got {settings.dynamics!r}")
        self.settings = settings

    @classmethod
    def for_dataset(cls, dataset: str) -> DINo:
        """The paper's size for a benchmark."""
        name = resolve(dataset)
        return cls(
            next(
                each.settings
                for each in PRESETS.values()
                if each.dataset == name and each.settings.dynamics == "mlp"
            )
        )

    @property
    def num_parameters(self) -> int:
        """As the paper counts: with the weights of the first layer that it fixes at zero."""
        description = self.model_.surrogate_.description
        hidden_dim = description.settings.hidden_dim
        assert hidden_dim is not None
        fixed = description.coordinate_map.decoder_dim * hidden_dim
        return self.model_.num_parameters + fixed

    def _train(
        self,
        train: Trajectories,
        select_on: Trajectories | None,
        seed: int,
        budget: Budget,
        progress: bool,
    ) -> tuple[int, str]:
        """Algorithm 1 for as many epochs as the budget allows.

        Unless told what to select on, it holds out a share of the training trajectories for that,
        as SMORE does.

        It cannot be stopped by time, so a time limit is made one on epochs first: two of them are
        timed, after one that pays for first calls. That is part of the budget; evaluation stages
        and what follows training come on top, so that DINo gets rather more than less.
        """
        settings = self.settings.replace(recipe="paper", seed=seed, train_length=None)
        if budget.epochs is not None:
            settings = settings.replace(epochs=budget.epochs)
        if budget.seconds is not None:
            device = resolve_device(settings.device)
            each = seconds_per_epoch(prepare(train, select_on, settings, device), device)
            affordable = max(1, int((budget.seconds - budget.elapsed) / each))
            limit = affordable if budget.epochs is None else min(affordable, budget.epochs)
            settings = settings.replace(epochs=limit)
        self.model_ = SMORE.from_settings(settings)
        try:
            self.model_.fit(train, select_on=select_on, progress=progress)
        except DivergenceError as error:
            if error.epoch is None:  # not in training, so there is no last good state
                raise
            warnings.warn(str(error), RuntimeWarning, stacklevel=3)
        surrogate = self.model_.surrogate_
        device = next(surrogate.decoder.parameters()).device
        return surrogate.description.training.epochs_run, str(device)

    def _rollout(self, first: Trajectories, num_steps: int) -> NDArray[np.floating]:
        """The paper's test-time fit, then equal steps; decoded at the points of each sequence."""
        surrogate = self.model_.surrogate_
        initial = infer(surrogate, surrogate.aligned(first), "adam").flat.numpy()
        path = torch.as_tensor(iterate(surrogate, initial, num_steps)[:, 1:])
        latents = path.unflatten(-1, (-1, surrogate.decoder.latent_dim))
        return np.stack(
            [
                decode(surrogate, each, sequence.mesh)
                for each, sequence in zip(latents, first, strict=True)
            ]
        )


def seconds_per_epoch(prepared: Prepared, device: torch.device) -> float:
    """Time of an epoch of Algorithm 1 on `prepared` data, without evaluation stages."""

    def seconds(epochs: int) -> float:
        settings = prepared.settings.replace(epochs=epochs)
        started = time.monotonic()
        run_recipe(
            replace(prepared, settings=settings, forecast_error=None), device, show_progress=False
        )
        return time.monotonic() - started

    seconds(1)
    return seconds(2) / 2
