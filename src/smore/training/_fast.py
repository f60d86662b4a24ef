"""`recipe="fast"`: decoder first, dynamics second, each by what solves it best.

The dynamics never feed back into the decoder, so nothing is lost by fitting one after the other:
the decoder in closed form, then a gauge in which modes are orthonormal, then the dynamics of the
latents, in closed form where they are linear.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from smore.decoder import Decoder
from smore.dynamics import ForcedLinear
from smore.errors import DivergenceError
from smore.surrogate import build_dynamics
from smore.training._defaults import resolve
from smore.training._study import study
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.decoder.fit import DecoderFit, Status
from smore.training.decoder.latent_table import solve_latents
from smore.training.decoder.pieces import Piece, make_pieces
from smore.training.dynamics.fit import fit_dynamics
from smore.training.dynamics.linear import Ridge
from smore.training.held_out import held_out
from smore.training.leaving_out.bases import LeftOutBases
from smore.training.leaving_out.errors import left_out_errors
from smore.training.preparing import Prepared
from smore.training.problem import TrainingProblem
from smore.training.trained import Trained


def train_fast(
    prepared: Prepared,
    device: torch.device,
    *,
    generator: torch.Generator,
    checkpoints: Checkpoints,
    status: Status,
) -> Trained:
    """Train a decoder, then dynamics.

    Args:
        prepared: data and settings.
        device: of the networks.
        generator: draws weights, samples and anchors.
        checkpoints: where the state of each stage goes now and then.
        status: told the steps done and how it goes.
    """
    if prepared.settings.dynamics == "linear":
        return _train_linear(prepared, device, generator, checkpoints, status)
    problem, settings = prepared.problem, prepared.settings
    assert settings.latent_dim is not None
    pieces = make_pieces(
        problem.blocks,
        settings.latent_dim,
        centred=settings.dynamics != "conservative",
        joint=settings.latents == "joint",
    )
    fit = DecoderFit(prepared, pieces, device, generator, checkpoints, status)
    decoder = fit.run()
    settings, findings = fit.settings, fit.findings
    latents, findings["decoder_error"] = solve_latents(problem, decoder, settings.chunk_size)
    _require_finite(latents)
    dynamics = build_dynamics(settings, problem.num_channels, generator).to(device)
    bases = _left_out_bases(problem, pieces, decoder)
    findings |= fit_dynamics(
        problem,
        dynamics,
        latents,
        settings,
        bases=bases,
        decoder_error=findings["decoder_error"],
        generator=generator,
        checkpoints=checkpoints,
        status=status,
    )
    status(settings.decoder_steps + settings.dynamics_steps, "")
    steps = int(findings["decoder_steps"])
    return Trained(
        decoder=decoder,
        dynamics=dynamics,
        settings=settings,
        latents=latents.to(next(decoder.parameters())),
        epoch=max(steps - 1, 0),
        epochs_run=steps,
        findings=findings,
        divergence=fit.divergence,
        left_out=left_out_errors(
            problem,
            decoder,
            dynamics,
            latents,
            settings,
            bases=bases,
            left_out=held_out(problem.groups, settings.validation_fraction),
            ridge=Ridge(findings.get("ridge", 0.0), findings.get("ridge_power", 0.0)),
        ),
    )


def _train_linear(
    prepared: Prepared,
    device: torch.device,
    generator: torch.Generator,
    checkpoints: Checkpoints,
    status: Status,
) -> Trained:
    """Dynamics and size first, by forecasts inside the record; then a decoder that holds them."""
    status(0, "choosing what forecasts best")
    studied = study(prepared, device)
    prepared = prepared.ending(studied.recent)
    problem = prepared.problem
    settings = resolve(studied.settings, problem.blocks, problem.num_channels)
    fit = DecoderFit(
        replace(prepared, settings=settings),
        [studied.piece],
        device,
        generator,
        checkpoints,
        status,
    )
    decoder = fit.run()
    findings = fit.findings | studied.findings
    latents, findings["decoder_error"] = solve_latents(problem, decoder, settings.chunk_size)
    _require_finite(latents)
    dynamics = build_dynamics(fit.settings, problem.num_channels).double()
    assert isinstance(dynamics, ForcedLinear)
    system, errors = studied.in_latents_of(decoder)
    findings["generator_change"] = system.assign(dynamics)
    status(settings.decoder_steps + settings.dynamics_steps, "")
    steps = int(findings["decoder_steps"])
    return Trained(
        decoder=decoder,
        dynamics=dynamics,
        settings=fit.settings,
        latents=latents.to(next(decoder.parameters())),
        epoch=max(steps - 1, 0),
        epochs_run=steps,
        findings=findings,
        divergence=fit.divergence,
        left_out=errors,
        recent=studied.recent,
        dmd=studied.dmd,
    )


def _left_out_bases(
    problem: TrainingProblem, pieces: list[Piece], decoder: Decoder
) -> LeftOutBases | None:
    """Known where all snapshots share their points."""
    if len(pieces) > 1 or pieces[0].compressed is None:
        return None
    return LeftOutBases(
        pieces[0].compressed,
        problem.timeline,
        decoder.num_codes(problem.num_channels),
        decoder.latent_dim,
        decoder.num_outputs,
    )


def _require_finite(latents: Tensor) -> None:
    if not bool(torch.isfinite(latents).all()):
        raise DivergenceError(
            "latents are not finite: the decoder's modes do not determine them; try a smaller "
            "latent_dim",
            part="latents",
        )
