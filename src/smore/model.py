"""SMORE: the front door.

>>> model = SMORE(dynamics="koopman").fit("training.nc")             # doctest: +SKIP
>>> forecast = model.forecast("sensors.nc", times=[0.5, 1.0, 1.5])   # doctest: +SKIP
>>> print(model.evaluate("test.nc").verdict())                       # doctest: +SKIP
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from smore.analysis import (
    DecoderConstants,
    DynamicModes,
    ForecastBound,
    SensorPlan,
    StateError,
    decoder_constants,
    dynamic_modes,
    forecast_bound,
    plan_sensors,
    state_error,
    unseen_directions,
)
from smore.assimilation import Analysis, Observations, Tracker, assimilate, read_stream
from smore.data import (
    CSV_SUFFIX,
    Geometry,
    Like,
    Mesh,
    Missing,
    Trajectories,
    numbered_fields,
    read_observations,
    require_snapshots,
)
from smore.errors import DataError, NotFittedError, SettingsError, UnobservedWarning
from smore.evaluation import Evaluation, Skill, evaluate_surrogate, rolling_skill
from smore.inference import FitMethod, LatentState, cautions
from smore.inputs import Data, as_trajectories
from smore.model_file import load_surrogate, save_surrogate
from smore.runtime import html_table, resolve_device
from smore.settings import Settings
from smore.stability import Certificate
from smore.surrogate import (
    ModelCard,
    Noise,
    Surrogate,
    count_parameters,
    decode_departures,
    forecast_dataset,
    infer,
    instants_of,
    mesh_of,
    summary_rows,
)
from smore.training import EVERY_SECONDS, RunOptions, require_same_settings, run_training

if TYPE_CHECKING:
    from smore.plotting import Plots


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
        self._given = settings
        self.settings = _settings_of(settings)

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        """A model with exactly these settings."""
        model = cls()
        model.settings = settings
        model._given = {
            name: getattr(settings, name)
            for name, field in Settings.model_fields.items()
            if getattr(settings, name) != field.default
        }
        return model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every setting as it was given, or its default: what scikit-learn's `clone` asks for.

        Args:
            deep: there is nothing below; it is part of scikit-learn's contract.
        """
        return {
            name: self._given.get(name, field.default)
            for name, field in Settings.model_fields.items()
        }

    def set_params(self, **settings: Any) -> Self:
        """Change some settings; what was learned stays until the next `fit`.

        Raises:
            SettingsError: a setting that does not exist or cannot be; nothing is changed.
        """
        given = self._given | settings
        self.settings = _settings_of(given)
        self._given = given
        return self

    def fit(
        self,
        data: Data,
        *,
        select_on: Data | None = None,
        missing: Missing = "refuse",
        geometry: Geometry | None = None,
        progress: bool = True,
        checkpoints: str | os.PathLike[str] | None = None,
        checkpoint_seconds: float = EVERY_SECONDS,
        resume: bool = False,
    ) -> Self:
        """Learn decoder and dynamics from trajectories.

        Args:
            data: training trajectories, or a Dataset or file that holds them.
            select_on: trajectories that select the checkpoint. By default a share of the training
                trajectories is held out for that; the paper uses its test set.
            missing: what to do about missing values in a Dataset or file: "refuse" or "mask".
            geometry: of a Dataset or file: "sphere" for latitude and longitude in degrees, else
                "box"; default: read from CF attributes and names. The model remembers it.
            progress: show a progress line.
            checkpoints: folder for checkpoints. While it is given, Ctrl-C and SIGTERM write one
                before training stops. They are removed by `discard_checkpoints`, not by `fit`: the
                model is only safe once it is saved.
            checkpoint_seconds: time between checkpoints.
            resume: go on from the newest checkpoint in the folder; a fresh start if there is none.
                The result is the same to the last bit as without an interruption.

        Raises:
            DataError: data that cannot be used, before any work is done.
            SettingsError: the checkpoints are of other settings or data, or `resume` was not asked
                for and there are some.
            DivergenceError: training turned non-finite; the model keeps its last good state.
            InterruptedTrainingError: a signal asked to stop; a checkpoint is written.
            ProcessLostError: this is one of several processes (see `smore.runtime`), and
                another one is gone; a checkpoint is written.
        """
        device = resolve_device(self.settings.device)
        if resume:
            require_same_settings(checkpoints, self.settings)
        how = (missing, self.settings.memory, geometry)
        training = as_trajectories(data, *how)
        selecting = None if select_on is None else as_trajectories(select_on, *how)
        options = RunOptions(progress, checkpoints, checkpoint_seconds, resume)
        self.surrogate_, divergence = run_training(
            training, selecting, self.settings, device, options
        )
        if divergence is not None:
            raise divergence
        return self

    def infer(
        self,
        observations: Data,
        *,
        method: FitMethod = "posterior",
        noise: Noise = None,
        missing: Missing = "refuse",
    ) -> LatentState:
        """The reduced state behind the first snapshot of every sequence of observations.

        Args:
            observations: values at any points, of some or all channels; also a CSV file, with a
                column for every coordinate and observed channel and blanks for missing values.
            method: "posterior" (mean and covariance under the prior of the training latents),
                "least-squares", or "adam" (the paper's fit).
            noise: standard deviation of the instruments in the data's units, one for all channels
                or by channel name; None to estimate it from the observations. Only "posterior"
                makes use of it.
            missing: what to do about missing values in a Dataset or file: "refuse" or "mask".

        Warns:
            UnobservedWarning: a good part of the state was not observed but assumed, observations
                do not fit any state, or their noise is not known.
        """
        return self._infer(self.observations(observations, missing=missing), method, noise)

    def forecast(
        self,
        observations: Data | LatentState,
        times: ArrayLike,
        *,
        points: Mesh | list[Mesh] | ArrayLike | None = None,
        method: FitMethod = "posterior",
        noise: Noise = None,
        uncertainty: bool = True,
        missing: Missing = "refuse",
        lazy: bool = False,
    ) -> xr.Dataset:
        """Fields at `times`, from observations of the initial state.

        Args:
            observations: what `infer` takes, or what it returned.
            times: when to forecast, increasing and not before the observations, as the training
                data tell time (numbers, or dates if they had dates).
            points: where: a mesh, one for each sequence, or coordinates (points, dim). By default
                the training mesh, or the points of each sequence if the training sequences had
                different meshes.
            method: see `infer`.
            noise: see `infer`.
            uncertainty: whether a standard deviation comes with every channel; it needs a state
                with a covariance, that is, method "posterior".
            missing: see `infer`.
            lazy: decode nothing yet. The fields are dask arrays, a slab of the mesh in a chunk;
                written to a file (`to_zarr`, `to_netcdf`) they need never fit into memory.

        Returns:
            A Dataset with the channels, units and coordinates of the training data; the standard
            deviation of channel `u` is called `u_std`. Both are NaN where no training snapshot has
            a value of the channel, on land for instance, and outside the cells of the training
            mesh, where these are known.
        """
        surrogate = self._fitted()
        if isinstance(observations, LatentState):
            state, observed = observations, None
        else:
            trajectories = self.observations(observations, missing=missing)
            state = self._infer(trajectories, method, noise)
            observed = [sequence.mesh for sequence in trajectories]
        meshes = self._where(points, observed, len(state))
        instants = instants_of(surrogate.description.clock, times)
        return forecast_dataset(
            surrogate, state, instants, meshes, uncertainty=uncertainty, lazy=lazy
        )

    def assimilate(
        self,
        stream: Observations,
        *,
        noise: Noise = None,
        smooth: bool = False,
        watch: bool = True,
        estimate: bool = True,
        members: int = 0,
    ) -> Analysis:
        """What a stream of observations says about the fields at all of its times, and after.

        Args:
            stream: values at any points, of some channels, at any times: a CSV file with columns
                `time`, the coordinates, channels and if need be `sensor`; NetCDF or a Dataset (CF
                points, time series, trajectories, or fields with gaps); or trajectories.
            noise: see `infer`; None to estimate it, by likelihood.
            smooth: whether the states of a time know what came after it too.
            watch: whether sensors that contradict all others are taken out, and back in.
            estimate: whether sizes of errors are adjusted to the stream, by likelihood.
            members: of an ensemble, for dynamics that are not linear; 0 linearises them.

        Warns:
            UnobservedWarning: about everything that is doubtful, see `Analysis.cautions`.
        """
        surrogate = self._fitted()
        analysis = assimilate(
            surrogate,
            read_stream(stream, surrogate),
            noise=noise,
            smooth=smooth,
            watch=watch,
            estimate=estimate,
            members=members,
        )
        for caution in analysis.cautions():
            warnings.warn(caution, UnobservedWarning, stacklevel=2)
        return analysis

    def track(
        self,
        *,
        noise: Noise = None,
        lag: float = 0.0,
        file: str | os.PathLike[str] | None = None,
        resume: bool = False,
    ) -> Tracker:
        """Follow a system as observations come in: `update`, `forecast`, `update`, ...

        Args:
            noise: see `infer`; None to estimate it from the first update if that has several
                times, else instruments are taken to be exact.
            lag: how much older than the newest an observation may be, in the data's units of
                time (seconds for dates); older ones are refused.
            file: where the tracker is kept. It is written after every update, whole or not at
                all: a process that is killed loses at most the last one.
            resume: go on from the file, if there is one; its noise and lag count.
        """
        return Tracker.start(self._fitted(), noise=noise, lag=lag, file=file, resume=resume)

    def unseen(
        self,
        state: LatentState,
        *,
        sequence: int = 0,
        count: int = 6,
        points: Mesh | ArrayLike | None = None,
    ) -> xr.Dataset:
        """Fields that the observations behind `state` say little or nothing about.

        Args:
            state: what `infer` returned, with a covariance.
            sequence: which of its states.
            count: most fields, those that leave most open first.
            points: where; by default the training mesh.

        Returns:
            A Dataset with dimensions (direction, ...space), one prior standard deviation in size;
            `left` is the share of the prior variance that is still there.
        """
        surrogate = self._fitted()
        if state.covariance is None:
            raise SettingsError("only method 'posterior' knows what was not seen")
        left, directions = unseen_directions(surrogate.prior, state.covariance_of(sequence))
        mesh = self._where(points, None, 1)[0]
        description = surrogate.description
        fields = decode_departures(surrogate, directions[:count].numpy(), mesh)
        fields *= description.normalization.scale_array[:, None]
        if (seen := surrogate.seen_on(mesh)) is not None:
            fields[..., ~seen] = np.nan
        return numbered_fields(
            fields, mesh, description.channels, description.space, "direction"
        ).assign_coords(left=("direction", left[:count].numpy()))

    def evaluate(
        self,
        data: Data,
        *,
        observations: Data | None = None,
        method: FitMethod = "posterior",
        noise: Noise = None,
        missing: Missing = "refuse",
    ) -> Evaluation:
        """Forecast every sequence from its first snapshot and score it against the others.

        Args:
            data: the truth.
            observations: what is known of the first snapshots, one sequence for each of `data`;
                by default all of them.
            method: see `infer`.
            noise: see `infer`.
            missing: see `infer`.
        """
        surrogate, trajectories = self._fitted(), self._truth(data, missing)
        known = (
            trajectories
            if observations is None
            else self.observations(observations, missing=missing)
        )
        if len(known) != len(trajectories):
            raise DataError(
                f"expected observations of {len(trajectories)} sequences, got {len(known)}"
            )
        return evaluate_surrogate(surrogate, trajectories, known, method, noise)

    def skill(
        self,
        data: Data,
        *,
        horizon: int | None = None,
        origins: int | None = None,
        method: FitMethod = "posterior",
        noise: Noise = None,
        missing: Missing = "refuse",
    ) -> Skill:
        """Forecast from many snapshots of a record and score what followed, by lead time.

        Args:
            data: the truth, best one long sequence.
            horizon: steps ahead; by default half of a single sequence, all of several ones.
            origins: how many forecasts, spread evenly; by default 5, at least one a sequence.
            method: see `infer`.
            noise: see `infer`.
            missing: see `infer`.
        """
        surrogate, trajectories = self._fitted(), self._truth(data, missing)
        return rolling_skill(
            surrogate, trajectories, method, noise, horizon=horizon, num_origins=origins
        )

    def _truth(self, data: Data, missing: Missing) -> Trajectories:
        """Data to compare forecasts with, aligned with the model."""
        surrogate, trajectories = self._fitted(), self.read(data, missing=missing)
        require_snapshots(trajectories, 2)
        names = [channel.name for channel in surrogate.description.channels]
        here = [channel.name for channel in trajectories.channels]
        if not set(names) <= set(here):
            raise DataError(
                f"the model forecasts {', '.join(names)}, the data have {', '.join(here)}; "
                "rename the channels"
            )
        return surrogate.aligned(trajectories.select_channels(names))

    def place_sensors(
        self,
        count: int,
        *,
        candidates: Mesh | ArrayLike | None = None,
        allowed: NDArray[np.bool_] | None = None,
        channels: list[str] | None = None,
        noise: float | dict[str, float] | None = None,
        history: int = 1,
        seed: int = 0,
    ) -> SensorPlan:
        """The points from which the model would know its field best, and what they promise.

        Args:
            count: number of sensors.
            candidates: where the field is wanted, a mesh or coordinates (points, dim); by default
                the training mesh.
            allowed: (candidates,) at which of them a sensor may stand; by default at all. On
                the training mesh no sensor stands where the training data never have a value.
            channels: what every sensor measures; by default all channels.
            noise: standard deviation of the instruments, see `infer`; by default they are exact.
            history: snapshots over which they are watched, for `assimilate`.
            seed: of the random placements compared with.
        """
        surrogate = self._fitted()
        measured = channels or [channel.name for channel in surrogate.description.channels]
        given = noise if isinstance(noise, dict) else dict.fromkeys(measured, noise or 0.0)
        return plan_sensors(
            surrogate,
            count,
            candidates=self._where(candidates, None, 1)[0],
            allowed=allowed,
            channels=measured,
            noise=[given.get(name, 0.0) for name in measured],
            history=history,
            seed=seed,
        )

    def certify(self) -> Certificate:
        """What has been proved about the stability of the dynamics as forecasts iterate them."""
        return self._fitted().certificate

    def card(self) -> ModelCard:
        """Data, settings, scores, certificate and limits, as the model's file keeps them."""
        return ModelCard.of(self._fitted())

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
        trajectories = surrogate.aligned(as_trajectories(data, missing, None, self._geometry))
        known = (
            trajectories
            if observations is None
            else self.observations(observations, missing=missing)
        )
        constants = self.decoder_constants(trajectories.sequences[0].mesh)
        return forecast_bound(surrogate, trajectories, known, method, constants)

    def state_error(self, observations: Data, *, method: FitMethod = "posterior") -> StateError:
        """How far the states inferred from `observations` are from ideal ones, estimated.

        Theorem 3 asks for the residual of the ideal state at the sensors. Without the truth on the
        whole grid it is taken from what trajectories that were left out of training show;
        `forecast_bound`, which has the truth, computes it.

        Args:
            observations: see `infer`.
            method: see `infer`.
        """
        surrogate = self._fitted()
        known = self.observations(observations)
        return state_error(surrogate, known, infer(surrogate, known, method).mean, None)

    @property
    def plot(self) -> Plots:
        """Figures: `plot.forecast`, `plot.modes`, `plot.certificate`, `plot.sensors`, .."""
        from smore.plotting import Plots  # only those who draw load matplotlib

        return Plots(self._fitted(), self.observations)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file."""
        save_surrogate(self._fitted(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, device: str = "auto") -> Self:
        """Read a model that `save` wrote."""
        surrogate = load_surrogate(path, resolve_device(device))
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

    def _repr_html_(self) -> str:
        if not hasattr(self, "surrogate_"):
            asked = self.settings.model_dump(exclude_defaults=True)
            return html_table("SMORE, not fitted yet", asked.items())
        return html_table("SMORE", summary_rows(self.surrogate_))

    def _fitted(self) -> Surrogate:
        if not hasattr(self, "surrogate_"):
            raise NotFittedError("this model is not trained yet: call fit, or SMORE.load a file")
        return self.surrogate_

    def observations(self, data: Data, *, missing: Missing = "refuse", **how: Any) -> Trajectories:
        """What `infer` makes of `data`: the channels, coordinates and clock of the model.

        Args:
            data: see `infer`.
            missing: see `infer`.
            how: other arguments of `Trajectories.open`, such as `select`.
        """
        surrogate = self._fitted()
        if isinstance(data, str | os.PathLike) and Path(data).suffix == CSV_SUFFIX:
            description = surrogate.description
            data = read_observations(
                data,
                space=description.space,
                channels=description.channels,
                clock=description.clock,
            )
        return surrogate.aligned(self.read(data, missing=missing, **how))

    def read(self, data: Data, *, missing: Missing = "refuse", **how: Any) -> Trajectories:
        """Trajectories from `data`, in the geometry and of the channels of the model."""
        description = self._fitted().description
        space, names = description.space, [channel.name for channel in description.channels]
        like = Like(names, space.names if space.geometry == "box" else ())
        return as_trajectories(
            data, missing, description.settings.memory, self._geometry, like=like, **how
        )

    @property
    def _geometry(self) -> Geometry | None:
        """Latitude and longitude are plain coordinates if they were in training; else data tell."""
        return "box" if self._fitted().description.space.geometry == "box" else None

    def _infer(self, observations: Trajectories, method: FitMethod, noise: Noise) -> LatentState:
        state = infer(self._fitted(), observations, method, noise)
        names = [channel.name for channel in self.surrogate_.description.channels]
        for caution in cautions(state, names) if method == "posterior" else []:
            warnings.warn(caution, UnobservedWarning, stacklevel=3)
        return state

    def _where(
        self,
        points: Mesh | list[Mesh] | ArrayLike | None,
        observed: list[Mesh] | None,
        num_states: int,
    ) -> list[Mesh]:
        """The mesh of each forecast."""
        if isinstance(points, list) and all(isinstance(each, Mesh) for each in points):
            if len(points) != num_states:
                raise DataError(f"expected {num_states} meshes to forecast on, got {len(points)}")
            return points
        if points is None and self.surrogate_.mesh is None and observed is not None:
            return observed
        where: Any = points
        return [mesh_of(self.surrogate_, where)] * num_states


def _settings_of(given: dict[str, Any]) -> Settings:
    """Settings, checked.

    Defaults that `get_params` told are no wishes of the user: those of the other recipe would be
    refused.
    """
    fields = Settings.model_fields
    asked = {
        name: value
        for name, value in given.items()
        if name not in fields or value is not fields[name].default
    }
    return Settings.of(**asked)
