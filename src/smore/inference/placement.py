"""Where to put sensors: the points from which the latent state is known best.

With α = μ + F ξ, ξ ~ N(0, I), and sensors S that see every channel k with noise σ_k², the posterior
covariance is

    C_S = F (I + Σ_{x in S} H(x)ᵀH(x))⁻¹ Fᵀ,        H(x) = rows J₀(x) F_k / σ_k, one per channel,

where F_k are the rows of F that belong to channel k. D-optimal sensors make the determinant in it
as large as possible; it is finite for any F, and directions without prior variance do not count.
Points are chosen one after the other and then exchanged, one for another, for as long as that pays.

Everything is kept as a root of the covariance, C = root rootᵀ, and sensors are only ever added to
it: to take one out of C_S by a rank-one downdate would subtract numbers that agree in all but
σ² / prior variance, which is 1e-10 and less for a decoder that fits well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import torch
from torch import Tensor

from smore.errors import SettingsError
from smore.inference.observability import smallest_singular_value
from smore.inference.prior import LatentPrior

# Random placements that a placement is compared with.
NUM_RANDOM = 32
# Exchanges stop after this many rounds over all sensors, or when none gains this much log det: on
# a fine mesh the last rounds only move sensors between neighbours.
MAX_SWEEPS = 10
LEAST_GAIN = 1e-2
# Candidates worked on at once.
CHUNK = 2**11
# A part of so few sensors is visited with one table of what candidates tell, updated; a larger one
# would be as cheap, but updates subtract, and with more sensors missing more digits cancel.
BLOCK = 16


@dataclass(frozen=True, eq=False)
class Placement:
    """Chosen sensors, and what they promise; errors are mean squares in normalised units.

    An error is the posterior variance of the field, averaged over all channels, observed or not,
    and over all candidates at which the field is wanted.

    Args:
        points: (count,) indices into the candidates, the most informative first: its first n are a
            good choice of n sensors too, though seldom the best.
        observability: c_S = σ_min(J_S), exactly 0 with fewer sensors than latents per channel.
        expected_error: from these sensors.
        random_error: from as many random sensors, mean of NUM_RANDOM placements.
        best_random_error: from the best of them.
        prior_error: without any sensors.
    """

    points: Tensor
    observability: float
    expected_error: float
    random_error: float
    best_random_error: float
    prior_error: float


@dataclass(frozen=True, eq=False)
class Candidates:
    """Points at which a sensor may stand.

    Args:
        modes: J₀, (candidates, p) in float64.
        scale: (channels,) 1/σ_k, which is 0 for a channel that sensors do not see.
    """

    modes: Tensor
    scale: Tensor

    @cached_property
    def columns(self) -> Tensor:
        """J₀ᵀ, (p, candidates), laid out as it is read."""
        return self.modes.T.contiguous()

    def learn(self, root: Tensor, points: Sequence[int]) -> tuple[Tensor, Tensor]:
        """What is known once sensors at `points` have been read.

        One value after the other by Potter's square-root update: no cancellation beyond the root
        of what the covariance itself would suffer, and no failure however small the noise.

        Args:
            root: (channels, p, q) of the covariance before.
            points: indices of the sensors.

        Returns:
            The root after, and the root (channels, p, values) of what the covariance has lost.
        """
        shape, root = root.shape, root.flatten(0, 1)
        losses = []
        for row in self.modes[list(points)]:
            for channel, scale in enumerate(self.scale.tolist()):
                own = root[channel * len(row) : (channel + 1) * len(row)]
                seen = scale * row @ own
                weight = 1 + float(seen @ seen)
                covariance = root @ seen
                root = torch.addr(root, covariance, seen, alpha=-1 / (weight + weight**0.5))
                losses.append(covariance / weight**0.5)
        lost = torch.stack(losses, dim=1) if losses else root[:, :0]
        return root.view(shape), lost.unflatten(0, shape[:2])

    def information(self, root: Tensor) -> Tensor:
        """J₀(x) root_k root_lᵀ J₀(x)ᵀ / (σ_k σ_l) of all x: (channels, channels, candidates)."""
        rows = (self.scale[:, None, None] * root).mT.contiguous()
        parts = []
        for columns in self.columns.split(CHUNK, dim=1):
            seen = rows @ columns  # candidates last: sums over few rows are fast then
            pairs = [[(one * other).sum(0) for other in seen] for one in seen]
            parts.append(torch.stack([torch.stack(row) for row in pairs]))
        return torch.cat(parts, dim=-1)


def gains(information: Tensor) -> Tensor:
    """log det(I + information) of every candidate, what a sensor there adds to the log det."""
    remaining = information + torch.eye(len(information), dtype=information.dtype)[..., None]
    total = torch.zeros_like(information[0, 0])
    for k in range(len(information)):
        pivot = remaining[k, k].clamp(min=1)  # as exact arithmetic has it
        total += pivot.log()
        remaining = remaining - remaining[:, k, None] * remaining[None, k] / pivot
    return total


def pivoted(candidates: Candidates, root: Tensor, count: int) -> list[int]:
    """Up to `count` points by column-pivoted QR on the prior-weighted modes.

    Pivoting takes single columns, a sensor has a row per channel. Column x here is LᵀJ₀(x)ᵀ with
    L Lᵀ = Σ_k C_kk / σ_k²: its squared norm is the prior variance at x, in units of the noise,
    summed over channels. Pivots are what remains of it once the earlier points are known exactly;
    points whose pivot is below the noise are left for a criterion that averages noise.
    """
    weighted = (candidates.scale[:, None, None] * root).transpose(0, 1).flatten(1)
    factor = torch.linalg.qr(weighted.T, mode="r").R
    triangle, order = scipy.linalg.qr(
        (factor @ candidates.modes.T).numpy(), mode="r", pivoting=True, check_finite=False
    )
    above_noise = np.abs(np.diagonal(triangle)) > 1
    return [int(point) for point in order[: min(int(above_noise.sum()), count)]]


def extended(candidates: Candidates, root: Tensor, chosen: list[int], count: int) -> list[int]:
    """`chosen` and further points up to `count`, each the one that adds most to the log det."""
    chosen = list(chosen)
    root, _ = candidates.learn(root, chosen)
    information = candidates.information(root)
    while len(chosen) < count:
        chosen.append(_best(information, taken=chosen))
        root, lost = candidates.learn(root, chosen[-1:])
        information -= candidates.information(lost)
    return chosen


def exchanged(candidates: Candidates, root: Tensor, chosen: list[int]) -> list[int]:
    """`chosen` after rounds of exchanging single points, until none adds LEAST_GAIN to the log det.

    On a budget of MAX_SWEEPS rounds: the first few gain nearly all there is.
    """
    chosen = list(chosen)
    for _ in range(MAX_SWEEPS):
        before = list(chosen)
        _sweep(candidates, root, None, chosen, slice(0, len(chosen)))
        if chosen == before:
            break
    return chosen


def _sweep(
    candidates: Candidates,
    root: Tensor,
    information: Tensor | None,
    chosen: list[int],
    part: slice,
) -> None:
    """Put each sensor of `part` in its best place, given where all others are by then.

    Every sensor needs the covariance from all others. Halving gets it by additions alone: `root`
    knows all sensors outside `part`; add one half to it, then visit the other. A round adds
    count · log₂(count) sensors.
    """
    size = part.stop - part.start
    if information is None and size <= BLOCK:
        information = candidates.information(root)
    if size == 1:
        assert information is not None
        others = chosen[: part.start] + chosen[part.stop :]
        chosen[part.start] = _best(information, others, present=chosen[part.start])
        return
    middle = part.start + size // 2
    first, second = slice(part.start, middle), slice(middle, part.stop)
    for half, other in ((first, second), (second, first)):
        known, lost = candidates.learn(root, chosen[other])
        left = None if information is None else information - candidates.information(lost)
        _sweep(candidates, known, left, chosen, half)


def _best(information: Tensor, taken: Sequence[int], present: int | None = None) -> int:
    """The point outside `taken` that adds most; `present` unless another is truly better."""
    gain = gains(information)
    gain[list(taken)] = -torch.inf
    best = int(gain.argmax())
    if present is not None and float(gain[best]) <= float(gain[present]) + LEAST_GAIN:
        return present
    return best


def place_sensors(
    modes: Tensor,
    prior: LatentPrior,
    noise: Tensor,
    count: int,
    *,
    allowed: Tensor | None = None,
    wanted: Tensor | None = None,
    flows: Tensor | None = None,
    generator: torch.Generator,
) -> Placement:
    """The `count` candidates whose sensors tell most about the state: D-optimal, by exchanges.

    The result is a local optimum: moving any single sensor would gain next to nothing. What is
    maximised is the log det of the posterior precision, in which all directions of the state count
    alike; with too few sensors to see the whole state, others may have the smaller expected error.

    A candidate gets at most one sensor; candidates that coincide may get one each.

    Args:
        modes: J₀ at the candidates, (candidates, p) of all channels or (channels, candidates, r),
            see `one_row_each`.
        prior: of the state, r = channels · p.
        noise: (channels,) variance of an observed value about the decoder, normalised units; inf
            for a channel that sensors do not observe.
        count: number of sensors.
        allowed: (candidates,) boolean, where a sensor may stand; None for everywhere.
        wanted: (candidates,) boolean, where the field is wanted; None for everywhere, whether a
            sensor may stand there or not.
        flows: (looks, r, r) where sensors are watched over time: how the state has moved at every
            look, which makes of every channel one for each look, and of c_S that of the
            observability Gramian. None for one look at the state itself.
        generator: the source of the random placements compared with, on the CPU.

    Raises:
        SettingsError: more sensors than places for them, or noise that is not positive.
    """
    modes, noise = (each.detach().to("cpu", torch.float64) for each in (modes, noise))
    seen = modes[noise.isfinite()] if modes.ndim == 3 else modes[None]
    num_channels = len(noise)
    if flows is not None:
        everything = LatentPrior(prior.mean, torch.eye(len(prior.mean)).double())
        rows, moving = one_row_each(modes, everything, num_channels, flows)
        noise = noise.repeat(len(flows))
        seen = torch.stack([rows @ part for part in moving[noise.isfinite()]])
    modes, root = one_row_each(modes, prior, num_channels, flows)
    open_points = torch.arange(len(modes)) if allowed is None else allowed.cpu().nonzero()[:, 0]
    _check(noise, count, len(open_points))
    candidates = Candidates(modes[open_points], noise.rsqrt())
    field = modes if wanted is None else modes[wanted]
    # The mean over these candidates of (J₀ v)² is ‖triangle v‖².
    triangle = torch.linalg.qr(field / len(field) ** 0.5, mode="r").R

    def error(points: Sequence[int]) -> float:
        known, _ = candidates.learn(root, points)
        return float((triangle @ known).square().sum()) / len(noise)

    start = extended(candidates, root, pivoted(candidates, root, count), count)
    chosen = torch.tensor(exchanged(candidates, root, start))
    among = Candidates(candidates.modes[chosen], candidates.scale)
    chosen = chosen[extended(among, root, [], count)]
    random_errors = [
        error(torch.randperm(len(open_points), generator=generator)[:count].tolist())
        for _ in range(NUM_RANDOM)
    ]
    return Placement(
        points=open_points[chosen],
        observability=smallest_singular_value(seen[:, open_points[chosen]]),
        expected_error=error(chosen.tolist()),
        random_error=sum(random_errors) / NUM_RANDOM,
        best_random_error=min(random_errors),
        prior_error=error([]),
    )


def one_row_each(
    modes: Tensor, prior: LatentPrior, num_channels: int, flows: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Rows J(x) (points, q) and roots (channels, q, r): channel k of the field is J(x) root_k ξ.

    With shared modes J is J₀ and root_k the part of F that belongs to channel k. With modes of its
    own for every channel, J has them all side by side, and root_k is F in the place of the k-th.

    Args:
        modes: (points, p), or (channels, points, r).
        prior: of the state.
        num_channels: of the field.
        flows: see `place_sensors`; roots are then of the channels of every look in turn.
    """
    factors = prior.factor[None] if flows is None else flows @ prior.factor  # (looks, r, r)
    if modes.ndim == 2:
        roots = factors.unflatten(1, (num_channels, modes.shape[1]))
        return modes, roots.flatten(0, 1)
    shape = (len(factors), num_channels, *modes.shape[::2], len(prior.mean))
    root = torch.zeros(shape, dtype=torch.float64)
    for channel in range(num_channels):
        root[:, channel, channel] = factors
    return modes.transpose(0, 1).flatten(1), root.flatten(0, 1).flatten(1, 2)


def _check(noise: Tensor, count: int, num_places: int) -> None:
    if not 1 <= count <= num_places:
        raise SettingsError(
            f"expected a number of sensors from 1 to {num_places}, the candidates where one is "
            f"allowed, got {count}; ask for other numbers, or allow more candidates"
        )
    if not bool((noise > 0).all()) or not bool(noise.isfinite().any()):
        raise SettingsError(
            f"expected noise variances above 0, finite for at least one channel, got "
            f"{noise.tolist()}; use inf only for channels that sensors do not observe"
        )
