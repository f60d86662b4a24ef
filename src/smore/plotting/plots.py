"""The figures of a model, as `model.plot` has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import xarray as xr
from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from smore.analysis import (
    ForecastBound,
    SensorPlan,
    dynamic_modes,
    mode_fields,
    plan_sensors,
)
from smore.assimilation import Analysis
from smore.data import Channel, Mesh, Trajectories
from smore.evaluation import Skill
from smore.inference import FitMethod
from smore.plotting._figures import story_figure, story_film
from smore.plotting._forecasts import analysis_story, evaluation_story, forecast_story
from smore.plotting._mode_fields import NUM_PANELS
from smore.plotting._skill import skill_figure
from smore.plotting.certificate import certificate_figure, linear_part, rollouts
from smore.plotting.ground import MOST_DIMENSIONS, Ground
from smore.plotting.modes import overview_figure, spectrum_figure
from smore.plotting.sensors import sensor_figure
from smore.plotting.story import chosen_channels
from smore.surrogate import Surrogate, mesh_of

# Whatever a model reads: trajectories, a Dataset, a file.
Readable = Any
Read = Callable[..., Trajectories]


class Plots:
    """Figures of a trained model; `smore ... --figure` draws the same.

    Every method returns a matplotlib `Figure`; those with `animate` return a `FuncAnimation`
    instead when it is set, to be saved as a GIF or shown by its `to_jshtml`.

    Args:
        surrogate: the model.
        read: its `observations`: from whatever it is given to aligned trajectories.
    """

    def __init__(self, surrogate: Surrogate, read: Read) -> None:
        self._surrogate, self._read = surrogate, read

    def __repr__(self) -> str:
        names = [name for name in vars(Plots) if not name.startswith("_")]
        return f"<figures of a model: {', '.join(names)}>"

    def forecast(
        self,
        forecast: xr.Dataset,
        observations: Readable = None,
        *,
        truth: Readable = None,
        sequence: int = 0,
        channel: str | Sequence[str] | None = None,
        animate: bool = False,
    ) -> Figure | FuncAnimation:
        """A forecast with its standard deviation, and if it is known the truth and the error.

        Args:
            forecast: what `model.forecast` returned.
            observations: what it was made from; places are marked.
            truth: with the times and points of the forecast.
            sequence: which one.
            channel: one or several; by default all.
            animate: all times one after the other instead of some beside each other.
        """
        story = forecast_story(
            forecast,
            self._surrogate.description,
            self._trajectories(observations),
            self._trajectories(truth),
            sequence=sequence,
            channels=_names(channel),
            film=animate,
        )
        return story_film(story) if animate else story_figure(story)

    def evaluation(
        self,
        truth: Readable,
        skill: Skill | None = None,
        *,
        sequence: int = 0,
        channel: str | Sequence[str] | None = None,
        method: FitMethod = "posterior",
        reliability: bool = False,
        animate: bool = False,
    ) -> Figure | FuncAnimation:
        """Truth, forecast from the first snapshot, error and error bar of one sequence.

        Args:
            truth: trajectories, a Dataset or a file.
            skill: what `model.skill` returned, drawn below.
            sequence: which one.
            channel: one or several; by default all.
            method: see `SMORE.infer`.
            reliability: whether levels of intervals are compared with shares of the truth too.
            animate: all times one after the other, without skill.
        """
        trajectories = self._trajectories(truth)
        assert trajectories is not None
        story = evaluation_story(
            self._surrogate,
            trajectories,
            sequence=sequence,
            channels=_names(channel),
            method=method,
            film=animate,
        )
        return story_film(story) if animate else story_figure(story, skill, reliability=reliability)

    def analysis(
        self,
        analysis: Analysis,
        fields: xr.Dataset | None = None,
        *,
        truth: Readable = None,
        channel: str | Sequence[str] | None = None,
        animate: bool = False,
    ) -> Figure | FuncAnimation:
        """What `model.assimilate` found, where sensors were, and if it is known the truth.

        Args:
            analysis: what it returned.
            fields: what `analysis.fields` returned, if not for the times of the stream.
            truth: with the times and points of `fields`.
            channel: one or several; by default all.
            animate: all times one after the other instead of some beside each other.
        """
        story = analysis_story(
            analysis,
            analysis.fields() if fields is None else fields,
            self._trajectories(truth),
            channels=_names(channel),
            film=animate,
        )
        return story_film(story) if animate else story_figure(story)

    def skill(self, skill: Skill) -> Figure:
        """Errors against lead time beside those of references, intervals, and reliability."""
        return skill_figure(skill)

    def modes(
        self,
        *,
        points: Mesh | ArrayLike | None = None,
        channel: str | Sequence[str] | None = None,
    ) -> Figure:
        """The spectrum of the dynamics and the fields of the strongest modes.

        Args:
            points: where; by default the training mesh. Without one there is the spectrum alone.
            channel: one or several; by default all.
        """
        surrogate = self._surrogate
        modes, description = dynamic_modes(surrogate), surrogate.description
        nowhere = points is None and surrogate.mesh is None
        if nowhere or description.space.dim > MOST_DIMENSIONS:
            return spectrum_figure(modes)
        ground = Ground.of(mesh_of(surrogate, points), description)
        fields = mode_fields(surrogate, modes, ground.mesh, NUM_PANELS)
        return overview_figure(modes, fields, ground, self._channels(channel))

    def sensors(
        self,
        plan: SensorPlan | int = 10,
        *,
        points: Mesh | ArrayLike | None = None,
        channel: str | Sequence[str] | None = None,
    ) -> Figure:
        """What sensors leave unknown, and as many random ones.

        Args:
            plan: what `model.place_sensors` returned, or how many sensors to place.
            points: where; by default the training mesh.
            channel: one or several; by default all.
        """
        mesh = mesh_of(self._surrogate, points)
        chosen = self._channels(channel)
        if isinstance(plan, int):
            plan = plan_sensors(self._surrogate, plan, candidates=mesh)
        return sensor_figure(self._surrogate, plan, mesh, chosen)

    def certificate(self, bound: ForecastBound | None = None) -> Figure:
        """Spectra that the certificate rests on, its bound beside rollouts, and that of forecasts.

        Args:
            bound: what `model.forecast_bound` returned.
        """
        surrogate = self._surrogate
        return certificate_figure(
            surrogate.certificate, linear_part(surrogate), rollouts(surrogate), bound
        )

    def _channels(self, channel: str | Sequence[str] | None) -> list[Channel]:
        description = self._surrogate.description
        numbers = chosen_channels(description, _names(channel))
        return [description.channels[number] for number in numbers]

    def _trajectories(self, data: Readable) -> Trajectories | None:
        return None if data is None else self._read(data, missing="mask")


def _names(channel: str | Sequence[str] | None) -> list[str] | None:
    return [channel] if isinstance(channel, str) else None if channel is None else list(channel)
