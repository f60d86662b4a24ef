"""The states of all snapshots in some blocks, by a named method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from smore.data.blocks import Block
from smore.decoder import Decoder
from smore.errors import SettingsError
from smore.inference.fits import adam, least_squares, posterior
from smore.inference.latent_state import LatentState, misfit
from smore.inference.normal_equations import normal_equations
from smore.inference.prior import LatentPrior

FitMethod = Literal["posterior", "least-squares", "adam"]
FIT_METHODS: tuple[str, ...] = get_args(FitMethod)


def infer_states(
    decoder: Decoder,
    blocks: Sequence[Block],
    times: Tensor,
    *,
    method: FitMethod = "posterior",
    prior: LatentPrior | None = None,
    noise: Tensor | None = None,
    num_steps: int = 1000,
    rate: float = 1e-2,
    chunk_size: int | None = None,
) -> LatentState:
    """Latent states of the snapshots in `blocks`, with the decoder frozen.

    Args:
        decoder: the trained decoder.
        blocks: the observations.
        times: (snapshots,) their times.
        method: "posterior" (needs `prior` and `noise`), "least-squares", or "adam" (the paper,
            `num_steps` steps at `rate`).
        noise: (channels,) variance of observed values about the decoder, normalised units.
        chunk_size: points decoded at once.
    """
    if method not in FIT_METHODS:
        raise SettingsError(f"unknown fit {method!r}; choose one of {', '.join(FIT_METHODS)}")
    num, num_channels = len(times), blocks[0].num_channels
    dim = decoder.latent_dim
    mean = torch.empty(num, num_channels, dim, dtype=torch.float64)
    covariances: list[tuple[Tensor, Tensor]] = []
    residual = torch.empty(num, num_channels, dtype=torch.float64)
    num_values = torch.empty(num, dtype=torch.int64)
    for equations in normal_equations(decoder, blocks, chunk_size):
        if method == "posterior":
            assert prior is not None
            assert noise is not None
            codes, covariance = posterior(equations, prior, noise)
            covariances.append((equations.snapshots, covariance))
        elif method == "least-squares":
            codes = least_squares(equations)
        else:
            codes = adam(equations, num_steps, rate)
        mean[equations.snapshots] = codes
        squared = equations.squared_residual(codes)
        residual[equations.snapshots] = misfit(squared, equations.count)
        num_values[equations.snapshots] = equations.count.sum(-1).long()
    return LatentState(mean, _join(covariances, num), num_values, residual, times)


def _join(covariances: list[tuple[Tensor, Tensor]], num: int) -> Tensor | None:
    """One covariance for all states where they share it, else one each."""
    if not covariances:
        return None
    if len(covariances) == 1:
        return covariances[0][1]
    joined = covariances[0][1].new_empty(num, *covariances[0][1].shape[1:])
    for snapshots, covariance in covariances:
        joined[snapshots] = covariance
    return joined
