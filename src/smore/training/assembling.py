"""From the solution of a training problem to a surrogate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import AnyBlock, make_blocks, seen_points, told_steps
from smore.decoder import Basis, Decoder, squared_errors
from smore.dynamics import departures
from smore.inference import (
    LatentPrior,
    ModelError,
    code_blocks,
    field_variance,
    noise_variance,
    normal_equations,
)
from smore.settings import Settings
from smore.stability import Stepping, certify_dynamics
from smore.surrogate import (
    LEAST_NOISE,
    CellLayout,
    Description,
    MeshLayout,
    ReferenceLayout,
    References,
    Surrogate,
    TrainingRecord,
)
from smore.training._defaults import median_step
from smore.training._references import make_references
from smore.training.decoder.latent_table import latent_table
from smore.training.decoder.residual_correlation import residual_correlation
from smore.training.decoder.residual_model import fit_residual_model
from smore.training.dynamics.forced.calibration import LeadErrors
from smore.training.leaving_out.errors import LeftOutErrors, model_errors
from smore.training.preparing import Prepared
from smore.training.trained import Trained

NOISE_SEQUENCES = 32
# First states have a prior of their own from this many per latent direction on.
ENOUGH_STARTS = 2


def assemble(prepared: Prepared, trained: Trained, seconds: float) -> Surrogate:
    """The surrogate that training ended in."""
    references = make_references(prepared, trained.dmd)  # of what it forgot, too
    prepared = replace(prepared.ending(trained.recent), settings=trained.settings)
    seen = _seen(prepared)
    latents = trained.latents.flatten(1).to("cpu", torch.float64)
    priors = _priors(prepared, latents)
    if prepared.given is not None:  # on which the decoder errs as it will on any other mesh
        prepared, trained = _as_given(prepared, trained)
    trajectories, settings = prepared.trajectories, prepared.settings
    residual = _residual_variance(
        trained.decoder, prepared.problem.blocks, trained.latents, settings
    )
    left_out = _left_out_errors(prepared, trained, residual)
    growth = 1 + left_out.excess / residual.clamp(min=LEAST_NOISE)
    noise = torch.maximum(_noise(prepared, trained), residual)
    model_error = _model_error(prepared, trained, priors[0], left_out)
    mesh, layout = prepared.mesh, None
    if mesh is not None:
        layout = MeshLayout(
            dims=mesh.dims,
            shape=mesh.shape,
            coordinate_dims=mesh.coordinate_dims,
            has_unseen=seen is not None,
            cells=CellLayout.of(mesh.tessellation),
        )
    description = Description(
        settings=settings,
        channels=trajectories.channels,
        space=trajectories.space,
        clock=trajectories.clock,
        normalization=prepared.normalization,
        coordinate_map=prepared.coordinate_map,
        time_step=median_step(trajectories, prepared.pace),
        pace=prepared.pace,
        horizon=_horizon(prepared, trained),
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
            findings=trained.findings | ({"filled": prepared.filled} if prepared.filled else {}),
            first_time=float(min(sequence.times[0] for sequence in trajectories)),
            last_time=float(max(sequence.times[-1] for sequence in trajectories)),
        ),
        mesh=layout,
        references=_reference_layout(references),
    )
    dynamics = trained.dynamics.to("cpu", torch.float64)
    timeline = prepared.problem.timeline
    states = departures(dynamics, latents, timeline.scatter(timeline.times))
    certificate = certify_dynamics(dynamics, states.numpy(), _stepping(prepared))
    return Surrogate(
        trained.decoder,
        dynamics,
        priors,
        model_error,
        description,
        mesh,
        seen,
        certificate,
        references,
    )


def _as_given(prepared: Prepared, trained: Trained) -> tuple[Prepared, Trained]:
    """Snapshots on the meshes they came on, and their latents."""
    prepared = prepared.as_given
    chunk_size = prepared.settings.chunk_size
    equations = normal_equations(trained.decoder, prepared.problem.blocks, chunk_size)
    return prepared, replace(trained, latents=latent_table(equations).to(trained.latents))


def _reference_layout(references: References | None) -> ReferenceLayout | None:
    if references is None:
        return None
    rank = 0 if references.dmd is None else references.dmd.modes.shape[1]
    return ReferenceLayout(monthly=references.monthly is not None, rank=rank)


def _horizon(prepared: Prepared, trained: Trained) -> int:
    """Snapshots of the longest forecast that training looked at."""
    checked = int(trained.findings.get("checked_steps", 0))
    longest = max(sequence.num_snapshots for sequence in prepared.trajectories)
    return checked + 1 if checked else longest


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
    left_out: LeftOutErrors | LeadErrors,
) -> ModelError:
    settings = prepared.settings
    problem, latents = prepared.problem, trained.latents
    covariance = code_blocks(prior.covariance, latents.shape[1])
    floor, share = fit_residual_model(
        trained.decoder, problem.blocks, latents, covariance, settings.chunk_size
    )
    error = ModelError(floor, share, left_out.step_error(_step(prepared)))

    def variance(bases: Sequence[Basis]) -> Tensor:
        return error.residual_variance(field_variance(bases, covariance))

    memory, reach, tail = residual_correlation(
        trained.decoder, problem.blocks, latents, problem.timeline, variance
    )
    return replace(error, memory=memory, reach=reach, tail=tail)


def _priors(prepared: Prepared, latents: Tensor) -> tuple[LatentPrior, ...]:
    """Of all training states, and of first ones if these are many enough to tell."""
    everything = LatentPrior.fit(latents)
    first = latents[prepared.problem.timeline.rows[:, 0]]
    if len(first) < ENOUGH_STARTS * latents.shape[1]:
        return (everything,)
    return everything, LatentPrior.fit(first)


def _left_out_errors(
    prepared: Prepared, trained: Trained, residual: Tensor
) -> LeftOutErrors | LeadErrors:
    """On what the recipe left out, else on the validation split, else on the training data."""
    if trained.left_out is not None:
        return trained.left_out
    settings, problem = prepared.settings, prepared.problem
    blocks, timeline, latents = problem.blocks, problem.timeline, trained.latents
    excess, groups = torch.zeros_like(residual), problem.groups
    if prepared.forecast_error is not None:
        blocks, timeline = prepared.forecast_error.blocks, prepared.forecast_error.timeline
        groups = torch.arange(len(timeline.valid))
        equations = normal_equations(trained.decoder, blocks, settings.chunk_size)
        latents = latent_table(equations).to(trained.latents)
        excess = (_residual_variance(trained.decoder, blocks, latents, settings) - residual).clamp(
            min=0
        )
    trajectories = timeline.gather(latents.flatten(1))
    return model_errors(trained.dynamics, trajectories, timeline, settings, excess, groups)


def _residual_variance(
    decoder: Decoder, blocks: Sequence[AnyBlock], latents: Tensor, settings: Settings
) -> Tensor:
    """(channels,) mean squared residual."""
    squared, count = squared_errors(decoder, blocks, latents, settings.chunk_size)
    return squared.sum(0) / count.sum(0).clamp(min=1)


def _stepping(prepared: Prepared) -> Stepping:
    """What forecasts of the trained model will iterate."""
    settings, clock, pace = prepared.settings, prepared.trajectories.clock, prepared.pace
    unit = told_steps(clock, pace, np.array([pace.scale]))
    assert unit is not None
    return Stepping(_step(prepared), settings.stepping, settings.num_substeps, unit)


def _step(prepared: Prepared) -> float:
    """Median step of the training data, model time."""
    return median_step(prepared.trajectories, prepared.pace) / prepared.pace.scale


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
