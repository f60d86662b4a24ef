"""Reading the learned dynamics: rates and periods of the modes they are made of.

    dα/dt = W α,   W v_j = λ_j v_j   ⇒   α(t) = Σ_j c_j e^{λ_j t} v_j,   c = V⁻¹ α(0)

A conjugate pair is one real oscillation, 2 Re(c_j e^{λ_j t} v_j), and is listed once. Other
dynamics are read near the mean of the training states, through their Jacobian there.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from smore.data import time_unit
from smore.dynamics import ForcedLinear, LinearDynamics

if TYPE_CHECKING:
    from smore.surrogate import Surrogate

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

LINEAR = "linear dynamics"
LINEARISED = "linearised at the mean of the training states"
# Weights are float32: rates that differ by less than this share of the largest are the same rate.
RESOLUTION = 1e-6
# From here on eigenvectors are so close to dependent that states have no reliable coordinates.
LARGEST_CONDITION = 1e8
# A mode this many times as large as the states it is part of is there to be cancelled by another.
# Rounding to float32 leaves a defective matrix a condition of some 1e4: this is how it shows.
CANCELLED = 3.0
# A growing mode that is weaker than this share of the strongest does no harm for a while.
NOTABLE = 0.01


@dataclass(frozen=True, eq=False)
class DynamicModes:
    """Modes of the latent dynamics, the strongest first; a conjugate pair is one mode.

    Attributes:
        rates: (modes,) λ per `time_units`, imaginary part >= 0.
        vectors: (r, modes) right eigenvectors of length 1.
        left: (modes, r) left eigenvectors: `left @ (α - centre)` are the coordinates c of α.
        amplitudes: (modes,) rms of a mode's contribution in the latent norm, over the training
            states and the phases of the oscillation. With L2-orthonormal modes of the decoder
            that is the rms of its field, in normalised units.
        pair: (modes,) whether the mode stands for a conjugate pair.
        centre: (r,) the state that the modes are departures from.
        spread: rms distance of the training states from it.
        condition: condition number of the matrix of all eigenvectors.
        about: what the modes are modes of, in words.
        time_units: of the rates: the data's, months or hours where it has dates; "" if unknown.
    """

    rates: ComplexArray
    vectors: ComplexArray
    left: ComplexArray
    amplitudes: FloatArray
    pair: NDArray[np.bool_]
    centre: FloatArray
    spread: float
    condition: float
    about: str
    time_units: str

    def __len__(self) -> int:
        return len(self.rates)

    @property
    def growth_rate(self) -> FloatArray:
        """(modes,) σ = Re λ; negative where a mode decays."""
        return self.rates.real

    @property
    def frequency(self) -> FloatArray:
        """(modes,) cycles per unit of time, Im λ / 2π."""
        return self.rates.imag / (2 * np.pi)

    @property
    def period(self) -> FloatArray:
        """(modes,) time of one cycle; infinite where a mode does not oscillate."""
        return _reciprocal(self.frequency)

    @property
    def efolding_time(self) -> FloatArray:
        """(modes,) time in which a mode grows or decays by a factor e, 1 / |σ|."""
        return _reciprocal(np.abs(self.growth_rate))

    @property
    def damping_ratio(self) -> FloatArray:
        """(modes,) -σ / |λ|: 1 for pure decay, 0 for pure oscillation, -1 for pure growth."""
        size = np.abs(self.rates)
        return np.divide(-self.growth_rate, size, out=np.zeros(len(self)), where=size > 0)

    @property
    def amplitude_share(self) -> FloatArray:
        """(modes,) amplitudes as shares of their sum."""
        return self.amplitudes / max(self.amplitudes.sum(), np.finfo(float).tiny)

    def contributions(self, latents: ArrayLike) -> FloatArray:
        """What each mode contributes to latents (..., r): (..., modes, r), α - centre in sum."""
        coordinates = (np.asarray(latents, float) - self.centre) @ self.left.T
        both = np.where(self.pair, 2.0, 1.0) * coordinates
        return (both[..., None] * self.vectors.T).real

    def cautions(self) -> list[str]:
        """What to know before the modes are believed; empty when there is nothing."""
        found = []
        if self.condition > LARGEST_CONDITION:
            found.append(
                f"the eigenvectors are close to dependent (condition number {self.condition:.1e}): "
                "amplitudes and mode fields are not meaningful, rates only roughly"
            )
        elif self.amplitudes.max() > CANCELLED * self.spread:
            ratio = self.amplitudes.max() / self.spread
            found.append(
                f"modes cancel each other: the strongest is {ratio:.2g} times as large as the "
                "training states; read amplitudes and mode fields together, not one by one"
            )
        growing = self._growing()
        if len(growing):
            fastest = growing[np.argmax(self.growth_rate[growing])]
            time = f"{self.efolding_time[fastest]:.3g} {self.time_units}".rstrip()
            end = "trust no forecast much longer than that"
            if self.about != LINEAR:
                end = "near the mean state; only the nonlinear terms can stop it"
            found.append(
                f"{len(growing)} of the modes that matter grow, the fastest (mode {fastest + 1}) "
                f"by a factor e every {time}: {end}"
            )
        return found

    def _growing(self) -> NDArray[np.intp]:
        grows = self.growth_rate > RESOLUTION * np.abs(self.rates).max()
        return np.flatnonzero(grows & (self.amplitudes > NOTABLE * self.amplitudes.max()))


def dynamic_modes(surrogate: Surrogate) -> DynamicModes:
    """The modes of a model's latent dynamics.

    Linear dynamics are decomposed as they are. All others are linearised at the mean of the
    training states, and their modes are departures from it.

    Args:
        surrogate: a trained model, `SMORE.surrogate_`.
    """
    prior = surrogate.prior
    matrix, about = linearisation(surrogate)
    mean = prior.mean.numpy()
    centre = np.zeros_like(mean) if about == LINEAR else mean
    if isinstance(surrogate.dynamics, ForcedLinear):
        centre = surrogate.dynamics.centre_weights[0].numpy()
    # Its columns have the second moment of the training states about the centre.
    spread = np.column_stack([prior.factor.numpy(), mean - centre])
    # Per month for monthly data, per hour for hourly ones: nobody thinks in seconds of years.
    unit = time_unit(surrogate.description.clock, surrogate.description.pace)
    rates, eigenvectors = np.linalg.eig(matrix * (unit.length / surrogate.description.pace.scale))
    # A singular matrix of eigenvectors has no inverse; its modes come with a caution.
    inverse = np.linalg.pinv(eigenvectors)
    found = []
    for group, rate in _same_rates(rates):
        is_pair = rate.imag > 0
        found += [
            (rate, *mode, is_pair)
            for mode in _principal(eigenvectors[:, group], inverse[group], spread, is_pair)
        ]
    found.sort(key=lambda mode: -mode[3])
    return DynamicModes(
        rates=np.array([mode[0] for mode in found]),
        vectors=np.stack([mode[1] for mode in found], axis=1),
        left=np.stack([mode[2] for mode in found]),
        amplitudes=np.array([mode[3] for mode in found]),
        pair=np.array([mode[4] for mode in found]),
        centre=centre,
        spread=float(np.linalg.norm(spread)),
        condition=float(np.linalg.cond(eigenvectors)),
        about=about,
        time_units=unit.name,
    )


def linearisation(surrogate: Surrogate) -> tuple[FloatArray, str]:
    """The linear dynamics (r, r) per unit of model time, and what they are."""
    dynamics = copy.deepcopy(surrogate.dynamics).to("cpu", torch.float64).requires_grad_(False)
    if isinstance(dynamics, LinearDynamics):
        return dynamics.linear.numpy(), LINEAR
    jacobian = torch.autograd.functional.jacobian(dynamics, surrogate.prior.mean)
    assert isinstance(jacobian, torch.Tensor)
    return jacobian.numpy(), LINEARISED


def _same_rates(rates: ComplexArray) -> list[tuple[list[int], complex]]:
    """Indices of rates that cannot be told apart, with their mean; of a pair only the upper one."""
    tolerance = RESOLUTION * np.abs(rates).max()
    rates = np.where(np.abs(rates.imag) <= tolerance, rates.real, rates)
    groups: list[list[int]] = []
    for index in np.flatnonzero(rates.imag >= 0).tolist():
        for group in groups:
            if abs(rates[index] - rates[group[0]]) <= tolerance:
                group.append(index)
                break
        else:
            groups.append([index])
    return [(group, complex(rates[group].mean())) for group in groups]


def _principal(
    vectors: ComplexArray, left: ComplexArray, spread: FloatArray, is_pair: bool
) -> list[tuple[ComplexArray, ComplexArray, float]]:
    """(right vector, left vector, amplitude) of each mode of one rate.

    A repeated rate leaves its eigenvectors free: any basis of their span will do. The principal
    axes of the training states within the span say most with the fewest modes.

    Args:
        vectors: (r, k) right eigenvectors.
        left: (k, r) left eigenvectors.
        spread: (r, n) with the second moment of the training states.
        is_pair: complex vectors that stand for their conjugates too; else the span is real.
    """
    # Real eigenvectors of a repeated rate may come as complex combinations.
    span = vectors if is_pair else np.column_stack([vectors.real, vectors.imag])
    frame = np.linalg.svd(span, full_matrices=False)[0][:, : len(left)]
    onto_frame: NDArray = frame.conj().T @ vectors @ left
    if not is_pair:
        onto_frame = onto_frame.real
    axes, deviations, _ = np.linalg.svd(onto_frame @ spread, full_matrices=False)
    right, left = frame @ axes, axes.conj().T @ onto_frame
    # E|2 Re(c v)|² over all phases of c is 2 E|c|², for v of length 1.
    amplitudes = deviations * (np.sqrt(2.0) if is_pair else 1.0)
    return list(zip(right.T, left, amplitudes.tolist(), strict=True))


def _reciprocal(values: FloatArray) -> FloatArray:
    """1 / x, infinite at 0."""
    return np.divide(1.0, values, out=np.full(len(values), np.inf), where=values != 0)
