"""What a record is good for: centre, size and dynamics, before any decoder is fitted.

In coordinates of the data's own directions everything that has to be chosen is a small problem of
linear algebra, basis included, and can be judged by forecasts of what was left out. The decoder
then has to hold the subspace that was chosen, and the dynamics are written in its latents.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from smore.data import AnyBlock, Block, Timeline, make_blocks
from smore.decoder import Decoder
from smore.runtime import one_thread
from smore.settings import Settings
from smore.surrogate import PodDmd
from smore.training._defaults import sufficient_directions
from smore.training._references import largest_rank
from smore.training.decoder.compression import Compressed, compress
from smore.training.decoder.pieces import LEAST_POINTS, Piece
from smore.training.dynamics.forced.anomalies import Anomalies
from smore.training.dynamics.forced.calibration import LeadErrors, lead_errors
from smore.training.dynamics.forced.candidates import Candidate, centre_kinds
from smore.training.dynamics.forced.disagreement import younger_selves
from smore.training.dynamics.forced.left_out import left_out_forecasts, missed_more
from smore.training.dynamics.forced.record import (
    Array,
    Record,
    checking_splits,
    choosing_splits,
)
from smore.training.dynamics.forced.search import Search
from smore.training.dynamics.forced.simple_members import plain_dmd, share_of_simple
from smore.training.dynamics.forced.system import Coordinates, System
from smore.training.preparing import Prepared

# Values that are held in double precision where the data are; what a forecast needs may be there.
MOST_PRECISE = 2**26
# Points at which the tails of errors are looked at.
SAMPLED = 400
# Patterns of the centre this close to directions that are there already bring nothing new.
DEPENDENT = 1e-9
# Forecasts of what was left out may lose this share of their accuracy for eigenvalues that decay.
# Little, since later forecasts go further than these, and lose more.
STABLE_COST = 0.01
# Errors below this share of the variance are as good as none.
NEGLIGIBLE = 1e-8
CHUNK = 2**14


@dataclass(frozen=True, eq=False)
class Study:
    """What was chosen.

    Args:
        settings: with the choices.
        piece: the data in the chosen subspace.
        system: dynamics in its coordinates.
        recent: snapshots, the last ones, that the model is of; None for all.
        errors: of forecasts of what was left out, in these coordinates.
        findings: numbers worth keeping.
        dmd: a plain DMD of the values that were ever observed, points before channels, normalised;
            None where the record is too short for one, or not in memory.
    """

    settings: Settings
    piece: Piece
    system: System
    recent: int | None
    errors: LeadErrors
    findings: dict[str, float]
    dmd: PodDmd | None

    @torch.no_grad()
    def in_latents_of(self, decoder: Decoder) -> tuple[System, LeadErrors]:
        """Dynamics and errors in the latents α = T z + t of a decoder of the subspace."""
        assert self.piece.compressed is not None
        block, energies = self.piece.block, self.piece.compressed.energies
        dim, count = decoder.latent_dim, len(energies)
        gram = torch.zeros(dim, dim, dtype=torch.float64)
        cross = torch.zeros(dim, count + 1, dtype=torch.float64)
        for chunk in block.chunks(CHUNK):
            basis = decoder.basis(chunk.coords)
            modes, offset = (each.to("cpu", torch.float64) for each in (basis.modes, basis.offset))
            columns = chunk.values.to("cpu", torch.float64)
            directions = columns[:, :-1] / energies.sqrt()
            gram += modes.T @ modes
            cross += modes.T @ torch.cat([directions, (columns[:, -1] - offset)[:, None]], dim=1)
        block.team.add_up(gram, cross)
        found = torch.linalg.lstsq(gram, cross, driver="gelsd").solution.numpy()
        change, shift = found[:, :-1], found[:, -1]
        return self.system.seen(change, shift), self.errors.seen(change, shift)


@dataclass(frozen=True, eq=False)
class _Chosen:
    """A member of the family.

    Args:
        search: forecasts that chose it.
        checks: forecasts for its error bars.
        candidate: what was chosen.
        decay: whether its eigenvalues were made to decay.
    """

    search: Search
    checks: Search
    candidate: Candidate
    decay: bool


@torch.no_grad()
def study(prepared: Prepared, device: torch.device) -> Study:
    """Choose centre, size and dynamics of a record on one mesh."""
    compressed = compress(_block(prepared, device), None)
    with one_thread() as threads:  # from here on matrices are small
        return _studied(prepared, compressed, threads)


def _studied(prepared: Prepared, compressed: Compressed, threads: int) -> Study:
    settings, problem = prepared.settings, prepared.problem
    record = _record(prepared, compressed)
    centres = centre_kinds(record, prepared.pace, prepared.trajectories.clock, settings.periods)
    search = Search(record, choosing_splits(record), centres, settings.latent_dim)
    candidate = search.best(threads)
    dmd = _plain_dmd(search, compressed, prepared)
    recent, origin = None, compressed.mean
    if candidate.share < 1:
        recent = _num_recent(problem.timeline, record.times[search.rows(None, candidate.share)])
        compressed = compressed.ending(recent)
    cost = _cost_of_decay(search, candidate)
    decay = settings.stabilise == "always" or (settings.stabilise == "auto" and cost <= STABLE_COST)
    anomalies, matrix, constant = search.fitted(None, candidate, decay=decay)
    subspace = _subspace(anomalies, len(constant), settings.latent_dim, compressed)
    subspace = _principal(subspace, compressed.coordinates.numpy())
    within = Coordinates(subspace, (compressed.mean - origin).numpy())
    checks = search  # of many trajectories the same ones are left out for error bars
    if not search.many:
        checks = Search(record, checking_splits(record), centres, settings.latent_dim)
    chosen = _Chosen(search, checks, candidate, decay)
    errors = _lead_errors(chosen, within, compressed, problem.num_channels)
    small = compressed.within(torch.as_tensor(subspace))
    return Study(
        settings=settings.replace(
            latent_dim=subspace.shape[1],
            latents="joint" if problem.num_channels > 1 else "shared",
            periods=tuple((prepared.pace.scale / anomalies.centre.frequencies).tolist()),
        ),
        piece=Piece(small.block, 1 / small.total_points, small.rest, small.rest, small),
        system=System.within(within, anomalies, matrix, constant, record.step),
        recent=recent,
        errors=errors,
        findings={"rank": float(len(constant)), "cost_of_stability": cost} | _found(chosen, errors),
        dmd=dmd,
    )


def _record(prepared: Prepared, compressed: Compressed) -> Record:
    timeline = prepared.problem.timeline
    groups = np.array(prepared.trajectories.groups)
    step = float(timeline.steps[timeline.valid[:, 1:]].median())
    return Record.of(compressed.coordinates.numpy(), timeline, groups, step)


def _lead_errors(
    chosen: _Chosen, within: Coordinates, compressed: Compressed, num_channels: int
) -> LeadErrors:
    """Error bars from forecasts of what was left out.

    Args:
        chosen: what is forecast with.
        within: the coordinates of the model.
        compressed: the data.
        num_channels: of the data.
    """
    checks, candidate, subspace = chosen.checks, chosen.candidate, within.directions
    forecasts, later = (
        left_out_forecasts(each, candidate, decay=chosen.decay) for each in (checks, chosen.search)
    )
    excess = missed_more(checks, candidate, subspace.shape[1]) / compressed.total_points
    sample, outside = _sampled(subspace, compressed)
    return lead_errors(
        forecasts,
        subspace,
        sample=sample,
        outside=outside,
        excess=torch.full((num_channels,), excess, dtype=torch.float64),
        step=checks.record.step,
        latest=later.errors[-1],
        variance=checks.variance,
        selves=younger_selves(checks, candidate, forecasts, within, decay=chosen.decay),
    )


def _found(chosen: _Chosen, errors: LeadErrors) -> dict[str, float]:
    """What was chosen, and how well it did, in numbers."""
    candidate, checks, decay = chosen.candidate, chosen.checks, chosen.decay
    shrinkage, leads = candidate.shrinkage, errors.leads / checks.record.step
    return {
        "ridge": shrinkage.ridge if np.isfinite(shrinkage.ridge) else -1.0,
        "ridge_power": shrinkage.power,
        "towards": shrinkage.towards,
        "share": candidate.share,
        "trend": float(candidate.centre.trend),
        "periods_found": float(candidate.centre.found),
        "checked_steps": float(leads[-1].round()) if checks.splits else 0.0,
        "stretches": float(len(checks.splits)),
        "stretches_unlike": errors.unlike,
        "told_by_disagreement": float(errors.younger is not None),
        "stabilised": float(decay),
    } | share_of_simple(chosen.search, candidate, decay=decay)


def _plain_dmd(search: Search, compressed: Compressed, prepared: Prepared) -> PodDmd | None:
    """The reference that the model is compared with, in field space."""
    block, mesh = compressed.block, prepared.mesh
    if not isinstance(block, Block) or block.team.size > 1 or mesh is None:
        return None
    found = plain_dmd(search, largest_rank(mesh.num_points * prepared.problem.num_channels))
    if found is None:
        return None
    directions, step = found
    change = torch.as_tensor(directions) / compressed.energies.sqrt()[:, None]
    means, modes = [], []
    for chunk in block.chunks(CHUNK):
        columns = chunk.values.to("cpu", torch.float64)
        means.append(columns[:, -1])
        modes.append(columns[:, :-1] @ change)
    return PodDmd(torch.cat(means).numpy(), torch.cat(modes).numpy(), step)


def _num_recent(timeline: Timeline, times: Array) -> int:
    """How many snapshots are as late as some rows of the record, given by their times."""
    early = timeline.times[timeline.valid] < float(times.min()) * (1 - 1e-12) - 1e-9
    return int((~early).sum())


def _block(prepared: Prepared, device: torch.device) -> AnyBlock:
    """All snapshots on their one mesh, channels stacked; in double precision if not too many."""
    problem = prepared.problem
    (block,) = problem.blocks
    precise = prepared.team.size == 1 and not prepared.trajectories.is_lazy
    if precise and block.num_points * block.num_columns <= MOST_PRECISE:
        (found,) = make_blocks(
            prepared.trajectories,
            prepared.normalization,
            prepared.coordinate_map,
            dtype=torch.float64,
        )
        assert isinstance(found, Block)
        block = replace(found, coords=found.coords.to(device, torch.float32))
    return block.stacked() if problem.num_channels > 1 else block


def _subspace(
    anomalies: Anomalies, rank: int, latent_dim: int | None, compressed: Compressed
) -> Array:
    """(R, p) directions that the model needs: for its map, to tell states apart, for its centre."""
    if latent_dim is not None:  # of which the centre gets its share
        states = compressed.coordinates.numpy()
        return np.asarray(np.linalg.svd(states, full_matrices=False)[2][:latent_dim].T)
    enough = sufficient_directions(anomalies.sizes, anomalies.count, compressed.total_points)
    most = max(rank, int(compressed.total_points / LEAST_POINTS))
    basis = anomalies.directions[:, : min(max(rank, enough), most)]
    for pattern in anomalies.centre.weights[1:]:
        beyond = pattern - basis @ (basis.T @ pattern)
        beyond = beyond - basis @ (basis.T @ beyond)
        size = np.linalg.norm(beyond)
        if size > DEPENDENT * anomalies.sizes[0] / np.sqrt(anomalies.count):
            basis = np.column_stack([basis, beyond / size])
    return basis


def _principal(subspace: Array, coordinates: Array) -> Array:
    """The same subspace, along directions in which the data vary independently."""
    turned = np.linalg.svd(coordinates @ subspace, full_matrices=False)[2]
    if len(turned) < subspace.shape[1]:
        return subspace
    return np.asarray(np.linalg.qr(subspace @ turned.T)[0])


def _cost_of_decay(search: Search, candidate: Candidate) -> float:
    """Relative rise of left-out errors when every eigenvalue has to decay."""
    if not search.splits:
        return 0.0
    free, stable = (
        search.score(candidate, decay=decay, negligible=NEGLIGIBLE) for decay in (False, True)
    )
    return float(np.expm1(stable - free))


def _sampled(subspace: Array, compressed: Compressed) -> tuple[Array, Array]:
    """The field at some points (values, R), and the variance there outside the subspace."""
    rows = torch.linspace(0, compressed.block.num_points - 1, SAMPLED).round().long().unique()
    values = compressed.block.at(rows).values[:, :-1].to("cpu", torch.float64)
    sample = (values / compressed.energies.sqrt()).numpy()
    states = compressed.coordinates.numpy()
    missed = states - states @ subspace @ subspace.T
    return sample, np.square(missed @ sample.T).mean(0) + compressed.rest
