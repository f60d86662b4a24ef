"""From what a filter believes to latent states as the rest of smore knows them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from smore.assimilation._filtering import Belief, Step, StreamFilter
from smore.assimilation._levels import Levels
from smore.inference import LatentState, code_blocks


def latents_of(filter_: StreamFilter, beliefs: Sequence[Belief]) -> tuple[Tensor, Tensor]:
    """Latents (1, times, codes, p) and covariances (1, times, codes, p, p) of each code."""
    decoder = filter_.surrogate.decoder
    codes = decoder.num_codes(filter_.surrogate.num_channels)
    found = [filter_.latent(belief) for belief in beliefs]
    means = torch.as_tensor(np.stack([each.mean for each in found]))
    blocks = [code_blocks(torch.as_tensor(each.covariance), codes) for each in found]
    latents = means.unflatten(1, (codes, -1)).to(next(decoder.parameters()).cpu())
    return latents[None], torch.stack(blocks)[None]


def latent_state(
    filter_: StreamFilter, belief: Belief, levels: Levels, num_values: int, last: Step | None
) -> LatentState:
    """A belief as `SMORE.infer` returns it.

    Args:
        filter_: that made it.
        belief: what is known.
        levels: sizes of errors.
        num_values: readings behind it.
        last: the step that made it, for its residuals; None where there is none.
    """
    surrogate = filter_.surrogate
    codes = surrogate.decoder.num_codes(surrogate.num_channels)
    alpha = filter_.latent(belief)
    covariance = torch.as_tensor(alpha.covariance)
    prior = surrogate.prior
    whitened = torch.linalg.lstsq(prior.factor, torch.as_tensor(alpha.root)).solution
    left = float(whitened.square().sum())
    noise = surrogate.least_noise * torch.as_tensor(levels.growth)
    return LatentState(
        mean=torch.as_tensor(alpha.mean).view(1, codes, -1),
        covariance=covariance[None],
        num_values=torch.tensor([num_values]),
        residual=_residual(filter_, alpha.mean, last),
        times=torch.tensor([belief.time], dtype=torch.float64),
        determined=torch.tensor([max(len(alpha.mean) - left, 0.0)], dtype=torch.float64),
        prior_share=(covariance.trace() / prior.covariance.trace().clamp(min=1e-300))[None],
        noise=noise + torch.as_tensor(levels.instruments),
        noise_known=torch.ones(surrogate.num_channels, dtype=torch.bool),
        growth=torch.as_tensor(levels.growth),
    )


def _residual(filter_: StreamFilter, mean: np.ndarray, last: Step | None) -> Tensor:
    """(1, channels) mean squared misfit of the readings that were taken last."""
    surrogate = filter_.surrogate
    found = torch.full((1, surrogate.num_channels), torch.nan, dtype=torch.float64)
    if last is None or not last.taken.any():
        return found
    taken = last.readings.select(last.taken)
    rows, values = filter_.rows(taken)
    missed = np.square(values - rows @ mean)
    for channel in np.unique(taken.channels):
        found[0, channel] = float(missed[taken.channels == channel].mean())
    return found
