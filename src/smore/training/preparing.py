"""From a user's trajectories to a training problem."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from smore.data import (
    BoxMap,
    Mesh,
    Moments,
    Normalization,
    Pace,
    SphereMap,
    Trajectories,
    align,
    channel_moments,
    fit_coordinate_map,
    has_moving_gaps,
    require_snapshots,
    require_variation,
    shared_out,
    stored,
)
from smore.errors import SettingsError
from smore.runtime import ALONE, Team
from smore.settings import DynamicsKind, Settings
from smore.training._carrying import on_one_mesh
from smore.training._defaults import median_step, resolve
from smore.training._filling import filled
from smore.training._nonlinearity import asks_for_quadratic
from smore.training.leaving_out.forecast_error import ForecastError
from smore.training.memory import require_memory
from smore.training.problem import TrainingProblem

# A training mesh up to this size is stored with the model, as the default place of its forecasts.
STORED_POINTS = 2**18


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything training needs to know, with every setting decided.

    Args:
        trajectories: the snapshots that supervise, cut into training windows; in a team, at this
            process's share of the points.
        select_on: what selects the checkpoint, if anything was given or held out; likewise.
        moments: of the channels.
        problem: the same as blocks.
        settings: without any None left that the data can decide.
        asked: as the user gave them.
        forecast_error: selects the checkpoint; None when nothing could be held out.
        selection: what selects the checkpoint, in words.
        pace: from the data's times to model time.
        mesh: of all sequences, if they share one that is not too large to be stored.
        num_points: of the largest mesh.
        team: the processes that share the points.
        given: the same as `trajectories`, on the meshes they came on, if they were carried to one.
        filled: share of the values that were missing now and then, and are filled.
    """

    trajectories: Trajectories
    select_on: Trajectories | None
    moments: Moments
    normalization: Normalization
    coordinate_map: BoxMap | SphereMap
    problem: TrainingProblem
    settings: Settings
    asked: Settings
    forecast_error: ForecastError | None
    selection: str
    pace: Pace
    mesh: Mesh | None
    num_points: int
    team: Team
    given: Trajectories | None = None
    filled: float = 0.0

    @property
    def as_given(self) -> Prepared:
        """On the meshes that the snapshots came on, for what is to be said about these."""
        if self.given is None:
            return self
        return self._with(self.given, None)

    def ending(self, num_snapshots: int | None) -> Prepared:
        """The same of the last snapshots of every sequence, normalised as all are."""
        if num_snapshots is None:
            return self
        given = self.given and self.given.trailing(num_snapshots)
        return self._with(self.trajectories.trailing(num_snapshots), given)

    def _with(self, trajectories: Trajectories, given: Trajectories | None) -> Prepared:
        problem = TrainingProblem.of(
            trajectories,
            self.normalization,
            self.coordinate_map,
            self.pace,
            device=self.problem.blocks[0].device,
            team=self.team,
        )
        return replace(self, trajectories=trajectories, problem=problem, given=given)


def prepare(
    trajectories: Trajectories,
    select_on: Trajectories | None,
    settings: Settings,
    device: torch.device,
    *,
    team: Team = ALONE,
    show_progress: bool = False,
) -> Prepared:
    """Hold out validation data, cut windows, normalise, and decide open settings.

    In a team each process keeps its share of the points. Lazy trajectories are copied to a scratch
    file on the way, with a progress line if asked for.
    """
    require_snapshots(trajectories, 2)
    selection = "given data"
    if settings.recipe == "fast":
        if select_on is not None:
            raise SettingsError(
                "select_on belongs to recipe 'paper': the fast recipe selects on its training data"
            )
        selection = "training data"
    elif select_on is None:
        trajectories, select_on = hold_out(trajectories, settings)
        selection = "last epoch" if select_on is None else "validation split"
    else:
        select_on = align(
            select_on.select_channels([channel.name for channel in trajectories.channels]),
            trajectories.channels,
            trajectories.space,
            trajectories.clock,
        )
        require_snapshots(select_on, 2)
    filled_share = 0.0
    if settings.recipe == "fast" and team.size == 1:  # the paper's masks what is missing
        trajectories, filled_share = filled(trajectories)
    carried = on_one_mesh(trajectories) if team.size == 1 and _may_carry(settings) else None
    given, trajectories = (None, trajectories) if carried is None else (trajectories, carried)
    asked, settings = settings, settings.replace(dynamics=_dynamics(trajectories, settings))
    mesh, num_points = _shared_mesh(trajectories), _most_points(trajectories)
    coordinate_map = fit_coordinate_map(trajectories)
    trajectories = shared_out(_windows(trajectories, settings), team)
    trajectories = stored(trajectories, show_progress=show_progress)
    if select_on is not None:
        select_on = stored(shared_out(select_on, team), show_progress=show_progress)
    moments = channel_moments(trajectories, team)
    require_variation(moments, trajectories.channels)
    normalization = Normalization.of(moments, settings.scaling)
    pace = Pace.of(trajectories)
    if settings.time_scale is not None:
        pace = Pace(scale=settings.time_scale)
    _require_memory(trajectories, settings)
    problem = TrainingProblem.of(
        trajectories, normalization, coordinate_map, pace, device=device, team=team
    )
    open_kind = (
        asked.dynamics == "auto" and settings.dynamics == "linear" and settings.periods is None
    )
    if open_kind and team.size == 1 and asks_for_quadratic(problem, trajectories.groups):
        chosen = settings.replace(dynamics="lrlq")
        return replace(prepare(given or trajectories, None, chosen, device), filled=filled_share)
    settings = settings.replace(time_scale=pace.scale)
    if settings.dynamics != "linear":  # whose sizes are chosen with it
        settings = resolve(settings, problem.blocks, problem.num_channels)
    forecast_error = None
    if select_on is not None:
        forecast_error = ForecastError(
            select_on,
            normalization,
            coordinate_map,
            pace,
            median_step(trajectories, pace) / pace.scale,
            settings,
            device,
            team,
        )
    return Prepared(
        trajectories,
        select_on,
        moments,
        normalization,
        coordinate_map,
        problem,
        settings,
        asked,
        forecast_error,
        selection,
        pace,
        mesh,
        num_points,
        team,
        given and _windows(given, settings),
        filled_share,
    )


def hold_out(
    trajectories: Trajectories, settings: Settings
) -> tuple[Trajectories, Trajectories | None]:
    """(training, validation): whole trajectories, or the end of the only one there is."""
    fraction = settings.validation_fraction
    if fraction == 0:
        return trajectories, None
    rest, held_out = trajectories.split(fraction, settings.seed)
    if held_out is not None:
        return rest, held_out
    pieces = _windows(trajectories, settings)
    num_held_out = min(round(fraction * len(pieces)), len(pieces) - 1)
    if num_held_out == 0:
        return trajectories, None
    kept = len(pieces) - num_held_out
    return pieces.select(range(kept)), pieces.select(range(kept, len(pieces)))


def _may_carry(settings: Settings) -> bool:
    """Whether the settings leave open what decodes; a network is for the meshes as they are."""
    open_decoder = settings.decoder != "network" and settings.hidden_dim is None
    return settings.recipe == "fast" and open_decoder


def _windows(trajectories: Trajectories, settings: Settings) -> Trajectories:
    """The snapshots that supervise, as sequences no longer than a training rollout."""
    if settings.train_length is not None:
        trajectories = trajectories.leading(settings.train_length)
    if settings.dynamics == "linear":  # what is left out is not a matter of windows
        return trajectories
    return trajectories.cut(settings.window)


def _dynamics(trajectories: Trajectories, settings: Settings) -> DynamicsKind:
    """Those of the settings; for "auto" linear about a centre, where these have a closed form.

    What is found to ask for more gets it later, see `asks_for_quadratic`.
    """
    several = settings.latents == "shared" and trajectories.num_channels > 1
    closed = len(trajectories.meshes) == 1 and not has_moving_gaps(trajectories) and not several
    if settings.dynamics == "linear" and not closed:
        raise SettingsError(
            "dynamics 'linear' need snapshots on one mesh, without gaps that move, and joint "
            "latents; use 'koopman'"
        )
    if settings.dynamics != "auto":
        return settings.dynamics
    return "linear" if closed and settings.recipe == "fast" else "koopman"


def _require_memory(trajectories: Trajectories, settings: Settings) -> None:
    """Refuse data that would have to be held in memory and do not fit."""
    if trajectories.is_lazy:
        return
    columns: dict[int, int] = {}
    for sequence in trajectories:
        count = sequence.num_snapshots * sequence.num_channels
        columns[id(sequence.mesh)] = columns.get(id(sequence.mesh), 0) + count
    points = {id(sequence.mesh): sequence.mesh.num_points for sequence in trajectories}
    largest = max(columns, key=lambda mesh: columns[mesh] * points[mesh])
    require_memory(settings, points[largest], columns[largest])


def _shared_mesh(trajectories: Trajectories) -> Mesh | None:
    mesh, *others = trajectories.meshes
    return mesh if not others and mesh.num_points <= STORED_POINTS else None


def _most_points(trajectories: Trajectories) -> int:
    return max(sequence.mesh.num_points for sequence in trajectories)
