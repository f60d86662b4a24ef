"""SMORE: the front door.

>>> model = SMORE(dynamics="koopman").fit("training.nc")             # doctest: +SKIP
>>> forecast = model.forecast("sensors.nc", times=[0.5, 1.0, 1.5])   # doctest: +SKIP
>>> print(model.evaluate("test.nc").verdict())                       # doctest: +SKIP
"""

from __future__ import annotations

import os
import time
from typing import Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from smore.data import Clock, Mesh, Missing, Sequence, Trajectories, require_snapshots
from smore.data.quadrature import scattered_mesh
from smore.device import resolve_device
from smore.errors import DataError, NotFittedError
from smore.evaluation import Evaluation
from smore.inference import FitMethod, LatentState
from smore.networks import count_parameters
from smore.presets import preset_settings
from smore.settings import Settings
from smore.stability.certificate import Certificate
from smore.stability.decoder_constants import DecoderConstants, decoder_constants
from smore.stability.forecast_bound import ForecastBound, forecast_bound
from smore.stability.modes import DynamicModes, dynamic_modes
from smore.surrogate import Surrogate
from smore.training import train
from smore.training.preparation import assemble, prepare

Data = Trajectories | xr.Dataset | list[xr.Dataset] | str | os.PathLike[str]


class SMORE:
    """A stable, mesh-agnostic surrogate of a time-dependent PDE.

    Args:
        settings: any field of `smore.Settings`, by keyword.

    Attributes:
        settings: what was asked for.
        surrogate_: what was learned; its `description.settings` hold every choice made.
    """

    settings: Settings
    surrogate_: Surrogate

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings.of(**settings)

    @classmethod
    def from_preset(cls, name: str, **overrides: Any) -> Self:
        """A model with one of the paper's nine configurations, such as "wave-koopman"."""
        return cls.from_settings(preset_settings(name, **overrides))

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """A model with exactly these settings."""
        model = cls()
        model.settings = settings
        return model

    def fit(
        self,
        data: Data,
        *,
        select_on: Data | None = None,
        missing: Missing = "refuse",
        progress: bool = True,
    ) -> Self:
        """Learn decoder and dynamics from trajectories.

        Args:
            data: training trajectories, or a Dataset or file that holds them.
            select_on: trajectories that select the checkpoint. By default a share of the training
                trajectories is held out for that; the paper uses its test set.
            missing: what to do about missing values in a Dataset or file: "refuse" or "mask".
            progress: show a progress line.

        Raises:
            DataError: data that cannot be used, before any work is done.
            DivergenceError: training turned non-finite; the model keeps its last good state.
        """
        started = time.monotonic()
        device = resolve_device(self.settings.device)
        prepared = prepare(
            as_trajectories(data, missing),
            None if select_on is None else as_trajectories(select_on, missing),
            self.settings,
            device,
        )
        trained = train(prepared, device, show_progress=progress)
        self.surrogate_ = assemble(prepared, trained, time.monotonic() - started)
        if trained.divergence is not None:
            raise trained.divergence
        return self

    def infer(
        self, observations: Data, *, method: FitMethod = "posterior", missing: Missing = "refuse"
    ) -> LatentState:
        """The reduced state behind the first snapshot of every sequence of observations.

        Args:
            observations: values at any points, of some or all channels.
            method: "posterior" (mean and covariance under the prior of the training latents),
                "least-squares", or "adam" (the paper's fit).
            missing: what to do about missing values in a Dataset or file: "refuse" or "mask".
        """
        return self._fitted().infer(as_trajectories(observations, missing), method)

    def forecast(
        self,
        observations: Data | LatentState,
        times: ArrayLike,
        *,
        points: Mesh | ArrayLike | None = None,
        method: FitMethod = "posterior",
        missing: Missing = "refuse",
    ) -> xr.Dataset:
        """Fields at `times`, from observations of the initial state.

        Args:
            observations: what `infer` takes, or what it returned.
            times: when to forecast, increasing and not before the observations, as the training
                data tell time (numbers, or dates if they had dates).
            points: where: a mesh, or coordinates (points, dim). By default the training mesh, or
                the points of each sequence if the training sequences had different meshes.
            method: see `infer`.
            missing: see `infer`.

        Returns:
            A Dataset with the channels, units and coordinates of the training data.
        """
        surrogate = self._fitted()
        description = surrogate.description
        if isinstance(observations, LatentState):
            state, observed = observations, None
        else:
            trajectories = surrogate.aligned(as_trajectories(observations, missing))
            state = surrogate.infer(trajectories, method)
            observed = [sequence.mesh for sequence in trajectories]
        meshes = self._where(points, observed, len(state))
        given = np.asarray(times)
        if description.clock.kind == "datetime" and given.dtype.kind in "UO":
            given = given.astype("datetime64[us]")
        instants = np.atleast_1d(description.clock.to_numbers(given))
        latents = surrogate.advance(
            state, _intervals(state.times.numpy(), instants, description.clock)
        )[:, 1:]
        return Trajectories(
            sequences=tuple(
                Sequence(instants, surrogate.decode(each, mesh), mesh)
                for each, mesh in zip(latents, meshes, strict=True)
            ),
            channels=description.channels,
            space=description.space,
            clock=description.clock,
            groups=tuple(range(len(state))),
        ).to_xarray()

    def evaluate(
        self,
        data: Data,
        *,
        observations: Data | None = None,
        method: FitMethod = "posterior",
        missing: Missing = "refuse",
    ) -> Evaluation:
        """Forecast every sequence from its first snapshot and score it against the others.

        Args:
            data: the truth.
            observations: what is known of the first snapshots, one sequence for each of `data`;
                by default all of them.
            method: see `infer`.
            missing: see `infer`.
        """
        surrogate = self._fitted()
        trajectories = as_trajectories(data, missing)
        require_snapshots(trajectories, 2)
        names = [channel.name for channel in surrogate.description.channels]
        here = [channel.name for channel in trajectories.channels]
        if not set(names) <= set(here):
            raise DataError(
                f"the model forecasts {', '.join(names)}, the data have {', '.join(here)}; "
                "rename the channels"
            )
        trajectories = trajectories.select_channels(names)
        known = trajectories if observations is None else as_trajectories(observations, missing)
        if len(known) != len(trajectories):
            raise DataError(
                f"expected observations of {len(trajectories)} sequences, got {len(known)}"
            )
        return surrogate.evaluate(trajectories, known, method)

    def certify(self) -> Certificate:
        """What has been proved about the stability of the dynamics as forecasts iterate them."""
        return self._fitted().certificate

    def modes(self) -> DynamicModes:
        """Frequencies, growth rates and amplitudes that the dynamics consist of."""
        return dynamic_modes(self._fitted())

    def decoder_constants(self, points: Mesh | None = None) -> DecoderConstants:
        """How large fields can be and how fast they change with the latent state (Theorem 2).

        Args:
            points: the mesh to integrate over; by default the training mesh.
        """
        surrogate = self._fitted()
        mesh = points or surrogate.mesh
        if mesh is None:
            raise DataError("the training sequences had different meshes: say where with points")
        return decoder_constants(surrogate, mesh)

    def forecast_bound(
        self,
        data: Data,
        *,
        observations: Data | None = None,
        method: FitMethod = "posterior",
        missing: Missing = "refuse",
    ) -> ForecastBound:
        """Bound the error of forecasts of `data`, and measure it (Theorem 3).

        Args:
            data: the truth, on one mesh and with equal time steps.
            observations: see `evaluate`.
            method: see `infer`.
            missing: see `infer`.
        """
        surrogate = self._fitted()
        trajectories = surrogate.aligned(as_trajectories(data, missing))
        known = trajectories if observations is None else as_trajectories(observations, missing)
        constants = self.decoder_constants(trajectories.sequences[0].mesh)
        return forecast_bound(surrogate, trajectories, known, method, constants)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """Read a model that `save` wrote."""
        surrogate = Surrogate.load(path, resolve_device(device))
        model = cls.from_settings(surrogate.description.settings)
        model.surrogate_ = surrogate
        return model

    @property
    def num_parameters(self) -> int:
        """Trainable numbers in decoder and dynamics."""
        surrogate = self._fitted()
        return count_parameters(surrogate.decoder, surrogate.dynamics)

    def __repr__(self) -> str:
        settings = self.settings
        if hasattr(self, "surrogate_"):
            settings = self.surrogate_.description.settings
        state = (
            f"{self.num_parameters:,} parameters" if hasattr(self, "surrogate_") else "not fitted"
        )
        return f"<SMORE: {settings.dynamics}, latent_dim={settings.latent_dim}, {state}>"

    def _fitted(self) -> Surrogate:
        if not hasattr(self, "surrogate_"):
            raise NotFittedError("this model is not trained yet: call fit, or SMORE.load a file")
        return self.surrogate_

    def _where(
        self, points: Mesh | ArrayLike | None, observed: list[Mesh] | None, num_states: int
    ) -> list[Mesh]:
        """The mesh of each forecast."""
        if points is not None:
            return [self._mesh_of(points)] * num_states
        if self.surrogate_.mesh is not None:
            return [self.surrogate_.mesh] * num_states
        if observed is None:
            raise DataError("this model was trained on several meshes: say where with `points`")
        return observed

    def _mesh_of(self, points: Mesh | ArrayLike) -> Mesh:
        space = self.surrogate_.description.space
        try:
            coords = np.asarray(points.coords if isinstance(points, Mesh) else points, float)
        except ValueError:
            raise DataError("points must be numbers of shape (points, dim)") from None
        if coords.ndim != 2 or coords.shape[1] != space.dim or not np.isfinite(coords).all():
            raise DataError(
                f"points must be finite and of shape (points, {space.dim}) for the coordinates "
                f"{', '.join(space.names)}, got an array of shape {coords.shape}"
            )
        if not len(coords):
            raise DataError("expected at least one of the points to forecast at, got none")
        return points if isinstance(points, Mesh) else scattered_mesh(coords, space.geometry)


def as_trajectories(data: Data, missing: Missing = "refuse") -> Trajectories:
    """Trajectories from whatever the user has."""
    if isinstance(data, Trajectories):
        return data
    if isinstance(data, xr.Dataset | list):
        return Trajectories.from_xarray(data, missing=missing)
    if not isinstance(data, str | os.PathLike):
        raise DataError(
            f"expected Trajectories, an xarray Dataset or a file name, got {type(data).__name__}; "
            "arrays go through Trajectories.from_arrays"
        )
    return Trajectories.open(data, missing=missing)


def _intervals(
    starts: NDArray[np.float64], instants: NDArray[np.float64], clock: Clock
) -> NDArray[np.float64]:
    """(states, n) times between the states and the instants, none negative."""
    if (
        instants.ndim != 1
        or not len(instants)
        or not np.isfinite(instants).all()
        or not (np.diff(instants) > 0).all()
        or instants[0] < starts.max()
    ):
        latest, given = clock.to_values(starts.max()), clock.to_values(instants)
        raise DataError(
            f"forecast times must be finite, increase and not lie before the observations (at "
            f"{latest}), got {', '.join(map(str, given.ravel())) or 'none'}"
        )
    return np.diff(
        np.column_stack([starts, np.broadcast_to(instants, (len(starts), len(instants)))])
    )
