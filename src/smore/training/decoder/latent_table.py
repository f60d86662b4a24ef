"""The latents of all training snapshots, in coordinates where modes are orthonormal."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from smore.decoder import Decoder, mode_gram, orthonormal_gauge
from smore.inference import LatentPrior, NormalEquations, normal_equations, posterior
from smore.training.decoder._variable_projection import solve_codes
from smore.training.problem import TrainingProblem

# A snapshot with fewer observed points per channel than this times p needs the others' help.
ENOUGH_POINTS = 2.0
STATES_AT_ONCE = 64  # their covariances are held together


@torch.no_grad()
def solve_latents(
    problem: TrainingProblem, decoder: Decoder, chunk_size: int | None
) -> tuple[Tensor, float]:
    """Latents (snapshots, channels, p), float64, and their mean squared reconstruction error.

    Where a snapshot is observed at enough points they are least squares; elsewhere the most
    probable ones under the distribution of the others. Changes the gauge of `decoder` so that its
    modes are L2-orthonormal; what offset and modes have in common goes to the latents, which are
    then those of the whole field.
    """
    equations = normal_equations(decoder, problem.blocks, chunk_size)
    latents = latent_table(equations)
    shape = latents.shape
    _complete(equations, latents)
    squared = sum(float(e.squared_residual(latents[e.snapshots]).sum()) for e in equations)
    error = squared / sum(float(each.count.sum()) for each in equations)

    gram, offset = mode_gram(decoder, problem.blocks, chunk_size)
    shift = -torch.linalg.lstsq(gram, offset[:, None], driver="gelsd").solution[:, 0]
    matrix = orthonormal_gauge(gram, latents - shift)
    decoder.change_gauge(matrix, shift)
    return torch.linalg.solve(matrix, (latents - shift).flatten(0, 1).T).T.view(shape), error


def latent_table(equations: Sequence[NormalEquations]) -> Tensor:
    """Least-squares latents (snapshots, codes, p) of all snapshots, float64."""
    num_snapshots = sum(len(each.snapshots) for each in equations)
    shape = (num_snapshots, equations[0].num_codes, equations[0].moment.shape[-1])
    latents = torch.empty(shape, dtype=torch.float64)
    for each in equations:
        latents[each.snapshots] = solve_codes(each)
    return latents


def _complete(equations: Sequence[NormalEquations], latents: Tensor) -> None:
    """Replace the latents of poorly observed snapshots, in place."""
    least = ENOUGH_POINTS * latents.shape[-1]
    well = torch.zeros(len(latents), dtype=torch.bool)
    for each in equations:
        well[each.snapshots] = (each.summed().count >= least).all(1)
    if bool(well.all()) or int(well.sum()) < 2:
        return
    prior = LatentPrior.fit(latents[well].flatten(1))
    squared, count = torch.zeros(2, equations[0].count.shape[1], dtype=torch.float64)
    for each in equations:
        rows = well[each.snapshots]
        squared += each.squared_residual(latents[each.snapshots])[rows].sum(0)
        count += each.count[rows].sum(0)
    noise = (squared / count).clamp(min=torch.finfo(torch.float32).eps ** 2)
    for each in equations:
        for rows in (~well[each.snapshots]).nonzero()[:, 0].split(STATES_AT_ONCE):
            some = each.select(rows)
            latents[some.snapshots] = posterior(some, prior, noise).mean
