"""`recipe="fast"`: decoder first, dynamics second, each by what solves it best.

The dynamics never feed back into the decoder, so nothing is lost by fitting one after the other:
the decoder by variable projection, then a gauge in which modes are orthonormal, then the dynamics
of the latents, in closed form where they are linear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from smore.decoder import Decoder, FilterNetwork
from smore.dynamics import LatentDynamics
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.decoder.closed_form import solve_decoder
from smore.training.decoder.compression import Compressed
from smore.training.decoder.latent_table import solve_latents
from smore.training.decoder.pieces import Piece, make_pieces
from smore.training.decoder.variable_projection import fit_decoder, projection_error
from smore.training.dynamics.fit import Status, fit_dynamics, held_out
from smore.training.dynamics.linear import Ridge
from smore.training.leaving_out.bases import LeftOutBases
from smore.training.leaving_out.errors import left_out_errors
from smore.training.problem import TrainingProblem
from smore.training.trained import Trained

# A closed form this close to what any linear basis could do is as good as descent would make it.
NEAR_LIMIT = 1.5
# Most steps of descent with FiLM matrices solved for at each, and how many times larger these are.
ELIMINATED_STEPS = 200
ELIMINATED_RATE = 4.0


def train_fast(
    problem: TrainingProblem,
    decoder: FilterNetwork,
    dynamics: LatentDynamics,
    settings: Settings,
    *,
    generator: torch.Generator,
    checkpoints: Checkpoints,
    status: Status,
) -> Trained:
    """Train `decoder`, then `dynamics`, in place.

    Args:
        problem: the training data.
        decoder: fresh decoder.
        dynamics: fresh dynamics.
        settings: steps, rates, integrator.
        generator: draws samples and anchors.
        checkpoints: where the state of each stage goes now and then.
        status: told the steps done and how it goes.
    """
    # With an offset the latent energy would not be the field's.
    with_offset = settings.dynamics != "conservative"
    pieces = make_pieces(
        problem.blocks, decoder.latent_dim, centred=with_offset, joint=decoder.joint
    )
    findings, divergence = _fit_decoder(
        problem, pieces, decoder, settings, with_offset, generator, checkpoints, status
    )
    latents, findings["decoder_error"] = solve_latents(problem, decoder, settings.chunk_size)
    _require_finite(latents)
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
    left_out = held_out(problem.groups, settings.validation_fraction)
    return Trained(
        decoder=decoder,
        dynamics=dynamics,
        latents=latents.to(next(decoder.parameters())),
        epoch=int(findings["decoder_steps"]) - 1,
        epochs_run=int(findings["decoder_steps"]),
        findings=findings,
        divergence=divergence,
        left_out=left_out_errors(
            problem,
            decoder,
            dynamics,
            latents,
            settings,
            bases=bases,
            left_out=left_out,
            ridge=Ridge(findings.get("ridge", 0.0), findings.get("ridge_power", 0.0)),
        ),
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


def _fit_decoder(
    problem: TrainingProblem,
    pieces: list[Piece],
    decoder: FilterNetwork,
    settings: Settings,
    with_offset: bool,
    generator: torch.Generator,
    checkpoints: Checkpoints,
    status: Status,
) -> tuple[dict[str, float], DivergenceError | None]:
    """Closed form, variable projection, or both; the steps and what no linear basis could better.

    A decoder that diverged is still one, in its last good state: the dynamics are fitted to it, and
    the error is returned to be raised when there is a model to look at.
    """
    limit = sum(piece.limit for piece in pieces)
    # Bases for one mesh each, or for some of the data, say little about a basis for all.
    known = {"pod_limit": limit} if len(pieces) == 1 and limit > 0 else {}

    def progress(place: int, loss: float) -> None:
        status(place, f"decoder error {loss:.2e}" + f" (best possible {limit:.2e})" * bool(known))

    rate = settings.decoder_learning_rate
    descent: dict[str, Any] = {"num_steps": settings.decoder_steps, "rate": rate}
    compressed = pieces[0].compressed if len(pieces) == 1 else None
    if compressed is not None:
        left_out = solve_decoder(decoder, compressed.block, with_offset=with_offset)
        error = left_out / compressed.total_points + compressed.rest
        progress(0, error)
        if error <= NEAR_LIMIT * limit:
            return {"decoder_steps": 0} | known, None
        descent = _eliminated(problem, pieces[0], compressed, decoder, settings)
    divergence = None
    try:
        steps = fit_decoder(
            decoder,
            descent.pop("pieces", pieces),
            generator=generator,
            with_offset=with_offset,
            chunk_size=settings.chunk_size,
            backtrack=settings.on_divergence == "backtrack",
            checkpoints=checkpoints,
            progress=progress,
            **descent,
        )
    except DivergenceError as error:
        if not error.epoch:  # nothing has been learned
            raise
        steps, divergence = error.epoch, error
    if compressed is not None:
        solve_decoder(decoder, compressed.block, with_offset=with_offset)
    return {"decoder_steps": steps} | known, divergence


def _eliminated(
    problem: TrainingProblem,
    piece: Piece,
    compressed: Compressed,
    decoder: FilterNetwork,
    settings: Settings,
) -> dict[str, Any]:
    """Descent with FiLM matrices solved for, judged by left-out trajectories if there are any."""
    how = {
        "num_steps": min(settings.decoder_steps, ELIMINATED_STEPS),
        "rate": ELIMINATED_RATE * settings.decoder_learning_rate,
        "eliminate": True,
    }
    out = held_out(problem.groups, settings.validation_fraction)
    if not bool(out.any()):
        return how
    snapshots = problem.timeline.scatter(out[:, None].expand_as(problem.timeline.valid))
    columns = snapshots.repeat_interleave(decoder.num_codes(problem.num_channels))
    training, judging = compressed.part(~columns), compressed.part(columns)
    if training is None or judging is None:
        return how
    return how | {
        "pieces": [replace(piece, block=training)],
        "judge": lambda: projection_error(decoder, judging, settings.chunk_size),
    }


def _require_finite(latents: Tensor) -> None:
    if not bool(torch.isfinite(latents).all()):
        raise DivergenceError(
            "latents are not finite: the decoder's modes do not determine them; try a smaller "
            "latent_dim",
            part="latents",
        )
