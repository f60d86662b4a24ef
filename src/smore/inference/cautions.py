"""What a practitioner should know before trusting an inferred state, in words."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from smore.inference.latent_state import LatentState

# Residuals whose mean square is so many times the noise are no noise.
MISFIT = 9.0


def cautions(
    state: LatentState, channels: Sequence[str], *, telling: str = "with noise= or --noise"
) -> list[str]:
    """One sentence or two about everything that is doubtful; empty when nothing is.

    Args:
        state: that was inferred.
        channels: their names.
        telling: how noise is told.
    """
    found = [_assumed(state), _misfit(state, channels), _unknown_noise(state, channels, telling)]
    return [each for each in found if each is not None]


def _assumed(state: LatentState) -> str | None:
    """About states that rest on the prior in good part."""
    doubtful = state.rests_on_prior.nonzero()[:, 0]
    if not len(doubtful):
        return None
    of = "" if len(state) == 1 else f" in {len(doubtful)} of {len(state)} sequences"
    size = state.flat.shape[1]
    if state.determined is None or state.prior_share is None:
        return (
            f"{int(state.num_values[doubtful[0]])} observed values cannot determine {size} latent "
            f"directions{of}, and this method knows no prior: the answer is one of many; use "
            "method 'posterior', or observe more"
        )
    worst = int(state.prior_share.argmax())
    return (
        f"part of the answer was not observed but assumed{of}: "
        f"{int(state.num_values[worst])} observed values determine "
        f"{float(state.determined[worst]):.0f} of {size} latent directions, and "
        f"{float(state.prior_share[worst]):.0%} of the variance is known from the training data "
        "alone; observe more, or better places (`smore sensors`)"
    )


def _misfit(state: LatentState, channels: Sequence[str]) -> str | None:
    """About observations that no state explains."""
    if state.noise is None:
        return None
    ratio = torch.nan_to_num(state.residual / state.noise)  # (states, channels)
    if not bool((ratio > MISFIT).any()):
        return None
    number, channel = divmod(int(ratio.argmax()), ratio.shape[1])
    where = "" if len(state) == 1 else f" in sequence {number}"
    return (
        f"the observations of '{channels[channel]}'{where} do not fit any state: on average they "
        f"miss by {float(ratio.max()) ** 0.5:.2g} times the noise; look for a broken sensor, and "
        "check units, offsets and fill values. The stated uncertainty does not cover this"
    )


def _unknown_noise(state: LatentState, channels: Sequence[str], telling: str) -> str | None:
    """About instruments that are taken to be exact for want of knowledge."""
    if state.noise_known is None:
        return None
    observed = ~state.residual.isnan().all(0)
    names = [
        name
        for name, known, seen in zip(channels, state.noise_known, observed, strict=True)
        if seen and not known
    ]
    if not names:
        return None
    return (
        f"the noise of {', '.join(names)} was not told, and there are too few values to see it: "
        "the instruments are taken to be exact, and if they are not, the stated uncertainty is "
        f"too small; tell it {telling} (0 if they are exact)"
    )
