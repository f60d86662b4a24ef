"""What a recipe returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from smore.decoder import Decoder
from smore.dynamics import LatentDynamics
from smore.errors import DivergenceError
from smore.settings import Settings
from smore.surrogate import PodDmd
from smore.training.dynamics.forced.calibration import LeadErrors
from smore.training.leaving_out.errors import LeftOutErrors


@dataclass
class Trained:
    """Networks and latents after training.

    Args:
        decoder: the selected decoder.
        dynamics: the selected dynamics.
        settings: with every choice that was made on the way.
        latents: (snapshots, codes, p) the latent table that goes with them.
        epoch: the selected epoch or step, counted from 0.
        epochs_run: epochs or steps completed.
        history: (epoch, forecast error) of every evaluation stage.
        divergence: why training ended early, if it did.
        findings: numbers worth keeping, such as the decoder's error beside the POD limit.
        left_out: errors on trajectories that the fit left out, if it did.
        recent: snapshots of every sequence, the last ones, that it was trained on; None for all.
        dmd: a reference, see `Study`.
    """

    decoder: Decoder
    dynamics: LatentDynamics
    settings: Settings
    latents: Tensor
    epoch: int
    epochs_run: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)
    divergence: DivergenceError | None = None
    findings: dict[str, float] = field(default_factory=dict)
    left_out: LeftOutErrors | LeadErrors | None = None
    recent: int | None = None
    dmd: PodDmd | None = None
