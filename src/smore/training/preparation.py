"""From a user's trajectories to a training problem, and from its solution to a surrogate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import (
    AnyBlock,
    BoxMap,
    Mesh,
    Moments,
    Normalization,
    SphereMap,
    Trajectories,
    align,
    channel_moments,
    fit_coordinate_map,
    make_blocks,
    require_snapshots,
    require_variation,
    seen_points,
    shared_out,
    stored,
)
from smore.decoder import Decoder, squared_errors
from smore.errors import SettingsError
from smore.inference import (
    LatentPrior,
    ModelError,
    channel_blocks,
    noise_variance,
    normal_equations,
)
from smore.runtime import ALONE, Team
from smore.settings import Settings
from smore.stability import Stepping, certify_dynamics
from smore.surrogate import LEAST_NOISE, Description, MeshLayout, Surrogate, TrainingRecord
from smore.training._defaults import median_step, resolve
from smore.training._memory import require_memory
from smore.training.decoder.latent_table import latent_table
from smore.training.decoder.residual_model import fit_residual_model
from smore.training.leaving_out.errors import LeftOutErrors, model_errors
from smore.training.leaving_out.forecast_error import ForecastError
from smore.training.problem import TrainingProblem
from smore.training.trained import Trained

# A training mesh up to this size is stored with the model, as the default place of its forecasts.
STORED_POINTS = 2**18
NOISE_SEQUENCES = 32
# First states have a prior of their own from this many per latent direction on.
ENOUGH_STARTS = 2


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
        forecast_error: selects the checkpoint; None when nothing could be held out.
        selection: what selects the checkpoint, in words.
        mesh: of all sequences, if they share one that is not too large to be stored.
        num_points: of the largest mesh.
        team: the processes that share the points.
    """

    trajectories: Trajectories
    select_on: Trajectories | None
    moments: Moments
    normalization: Normalization
    coordinate_map: BoxMap | SphereMap
    problem: TrainingProblem
    settings: Settings
    forecast_error: ForecastError | None
    selection: str
    mesh: Mesh | None
    num_points: int
    team: Team


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
    mesh, num_points = _shared_mesh(trajectories), _most_points(trajectories)
    coordinate_map = fit_coordinate_map(trajectories)
    trajectories = shared_out(_windows(trajectories, settings), team)
    trajectories = stored(trajectories, show_progress=show_progress)
    if select_on is not None:
        select_on = stored(shared_out(select_on, team), show_progress=show_progress)
    moments = channel_moments(trajectories, team)
    require_variation(moments, trajectories.channels)
    normalization = Normalization.of(moments, settings.scaling)
    time_step = median_step(trajectories)
    time_scale = settings.time_scale or time_step
    _require_memory(trajectories, settings)
    problem = TrainingProblem.of(
        trajectories, normalization, coordinate_map, time_scale, device=device, team=team
    )
    settings = resolve(settings, problem.blocks, problem.num_channels)
    settings = settings.replace(time_scale=time_scale)
    forecast_error = None
    if select_on is not None:
        forecast_error = ForecastError(
            select_on,
            normalization,
            coordinate_map,
            time_scale,
            time_step / time_scale,
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
        forecast_error,
        selection,
        mesh,
        num_points,
        team,
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


def _windows(trajectories: Trajectories, settings: Settings) -> Trajectories:
    """The snapshots that supervise, as sequences no longer than a training rollout."""
    if settings.train_length is not None:
        trajectories = trajectories.leading(settings.train_length)
    return trajectories.cut(settings.window)


def assemble(prepared: Prepared, trained: Trained, seconds: float) -> Surrogate:
    """The surrogate that training ended in."""
    trajectories, settings = prepared.trajectories, prepared.settings
    residual = _residual_variance(
        trained.decoder, prepared.problem.blocks, trained.latents, settings
    )
    latents = trained.latents.flatten(1).to("cpu", torch.float64)
    priors = _priors(prepared, latents)
    left_out = _left_out_errors(prepared, trained, residual)
    growth = 1 + left_out.excess / residual.clamp(min=LEAST_NOISE)
    noise = torch.maximum(_noise(prepared, trained), residual)
    model_error = _model_error(prepared, trained, priors[0], left_out)
    mesh, layout, seen = prepared.mesh, None, _seen(prepared)
    if mesh is not None:
        layout = MeshLayout(
            dims=mesh.dims,
            shape=mesh.shape,
            coordinate_dims=mesh.coordinate_dims,
            has_unseen=seen is not None,
        )
    description = Description(
        settings=settings,
        channels=trajectories.channels,
        space=trajectories.space,
        clock=trajectories.clock,
        normalization=prepared.normalization,
        coordinate_map=prepared.coordinate_map,
        time_step=median_step(trajectories),
        horizon=max(sequence.num_snapshots for sequence in trajectories),
        residual_variance=tuple(residual.tolist()),
        noise_variance=tuple(noise.tolist()),
        noise_growth=tuple(growth.tolist()),
        training_variance=_variance(prepared),
        latent_radius=float((latents - latents.mean(0)).norm(dim=1).max()),
        training=TrainingRecord(
            num_sequences=len(trajectories),
            num_snapshots=prepared.problem.timeline.num_snapshots,
            num_points=prepared.num_points,
            selection=prepared.selection,
            selected_epoch=trained.epoch,
            epochs_run=trained.epochs_run,
            seconds=seconds,
            history=tuple(trained.history),
            findings=trained.findings,
        ),
        mesh=layout,
    )
    dynamics = trained.dynamics.to("cpu", torch.float64)
    certificate = certify_dynamics(dynamics, latents.numpy(), _stepping(prepared))
    return Surrogate(
        trained.decoder, dynamics, priors, model_error, description, mesh, seen, certificate
    )


def _seen(prepared: Prepared) -> NDArray[np.bool_] | None:
    """See `Surrogate`."""
    if prepared.mesh is None:
        return None
    here = torch.tensor(seen_points(prepared.trajectories).T, dtype=torch.uint8)
    everywhere = prepared.team.gather(here).bool().numpy()  # ranks have the points in their order
    return None if everywhere.all() else np.ascontiguousarray(everywhere.T)


def _model_error(
    prepared: Prepared,
    trained: Trained,
    prior: LatentPrior,
    left_out: LeftOutErrors,
) -> ModelError:
    settings = prepared.settings
    assert settings.time_scale is not None
    floor, share = fit_residual_model(
        trained.decoder,
        prepared.problem.blocks,
        trained.latents,
        channel_blocks(prior.covariance, prepared.problem.num_channels),
        settings.chunk_size,
    )
    step = median_step(prepared.trajectories) / settings.time_scale
    return ModelError(floor, share, left_out.step_error(step))


def _priors(prepared: Prepared, latents: Tensor) -> tuple[LatentPrior, ...]:
    """Of all training states, and of first ones if these are many enough to tell."""
    everything = LatentPrior.fit(latents)
    first = latents[prepared.problem.timeline.rows[:, 0]]
    if len(first) < ENOUGH_STARTS * latents.shape[1]:
        return (everything,)
    return everything, LatentPrior.fit(first)


def _left_out_errors(prepared: Prepared, trained: Trained, residual: Tensor) -> LeftOutErrors:
    """On what the recipe left out, else on the validation split, else on the training data."""
    if trained.left_out is not None:
        return trained.left_out
    settings, problem = prepared.settings, prepared.problem
    blocks, timeline, latents = problem.blocks, problem.timeline, trained.latents
    excess = torch.zeros_like(residual)
    if prepared.forecast_error is not None:
        blocks, timeline = prepared.forecast_error.blocks, prepared.forecast_error.timeline
        equations = normal_equations(trained.decoder, blocks, settings.chunk_size)
        latents = latent_table(equations).to(trained.latents)
        excess = (_residual_variance(trained.decoder, blocks, latents, settings) - residual).clamp(
            min=0
        )
    trajectories = timeline.gather(latents.flatten(1))
    return model_errors(trained.dynamics, trajectories, timeline, settings, excess)


def _residual_variance(
    decoder: Decoder, blocks: Sequence[AnyBlock], latents: Tensor, settings: Settings
) -> Tensor:
    """(channels,) mean squared residual."""
    squared, count = squared_errors(decoder, blocks, latents, settings.chunk_size)
    return squared.sum(0) / count.sum(0).clamp(min=1)


def _stepping(prepared: Prepared) -> Stepping:
    """What forecasts of the trained model will iterate."""
    settings, clock = prepared.settings, prepared.trajectories.clock
    assert settings.time_scale is not None
    units = f" {clock.units.split(' since ')[0]}" if clock.units else ""
    return Stepping(
        median_step(prepared.trajectories) / settings.time_scale,
        settings.stepping,
        settings.num_substeps,
        f"{settings.time_scale:.6g}{units}",
    )


def _variance(prepared: Prepared) -> tuple[float, ...]:
    """Variance of each channel; 1 for a constant one, whose errors have no other scale."""
    return tuple(each**2 for each in prepared.moments.scale.tolist())


def _noise(prepared: Prepared, trained: Trained) -> Tensor:
    """Scatter about the decoder, judged on an even sample of the training sequences."""
    rows = prepared.problem.timeline.rows
    chosen = np.unique(np.linspace(0, len(rows) - 1, NOISE_SEQUENCES).round().astype(int))
    sample = prepared.trajectories.select(chosen)
    blocks = make_blocks(
        sample,
        prepared.normalization,
        prepared.coordinate_map,
        device=trained.latents.device,
        team=prepared.team,
    )
    latents = torch.cat(
        [
            trained.latents[rows[number, 0] : rows[number, 0] + sequence.num_snapshots]
            for number, sequence in zip(chosen, sample, strict=True)
        ]
    )
    equations = normal_equations(trained.decoder, blocks, prepared.settings.chunk_size)
    return noise_variance(equations, latents)


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
