"""A trained surrogate: what every recipe ends in, whatever it did on the way.

A decoder, dynamics of its latents, the prior of these latents, and a description of what all the
numbers mean to the user. Immutable: training makes it, everything else only asks it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import AnyBlock, Mesh, Trajectories, make_blocks, stored
from smore.data.timeline import Timeline
from smore.decoder import Decoder
from smore.description import Description
from smore.dynamics import (
    LatentDynamics,
    StepPlan,
    forecast_covariances,
    forecast_path,
    rollout,
    step_map,
)
from smore.errors import (
    DataError,
    DivergenceError,
    ForecastRangeWarning,
    SettingsError,
)
from smore.evaluation import Evaluation, evaluate_latents
from smore.inference import FitMethod, LatentPrior, LatentState, infer_states, normal_equations
from smore.inference.border import check_observations
from smore.inference.model_error import ModelError, channel_blocks, field_variance
from smore.inference.noise import estimate_noise
from smore.inference.observability import observabilities
from smore.inference.observations import align
from smore.stability.certificate import Certificate

Noise = float | Mapping[str, float] | None

# Where the decoder reproduces the training data to round-off, observations are still no better
# than single precision.
LEAST_NOISE = 1e-14
# Points that are decoded at once where the settings do not say.
POINTS_AT_ONCE = 2**14
# Latents this many times as far out as any training latent are not a forecast any more.
FAR = 3.0


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Decoder, dynamics, prior, description and certificate of a trained model.

    Args:
        decoder: any coordinates -> (offset, modes).
        dynamics: vector field of the reduced state, in float64 on the CPU: states are small, and
            what is certified is what is iterated.
        priors: distribution of the training latents, and, if there were many, of first ones.
        error: what the model gets wrong even when it knows the state.
        description: settings, units, normalisation, training record.
        mesh: the training mesh, if all sequences shared one of moderate size.
        seen: (channels, points of `mesh`) at which some training snapshot has a value; None where
            that is all of them, or there is no mesh.
        certificate: what has been proved about the dynamics as they are iterated.
    """

    decoder: Decoder
    dynamics: LatentDynamics
    priors: tuple[LatentPrior, ...]
    error: ModelError
    description: Description
    mesh: Mesh | None
    seen: NDArray[np.bool_] | None
    certificate: Certificate

    @property
    def prior(self) -> LatentPrior:
        """Distribution of all training latents."""
        return self.priors[0]

    def infer(
        self, observations: Trajectories, method: FitMethod, noise: Noise = None
    ) -> LatentState:
        """The states behind the first snapshot of every sequence.

        Args:
            observations: aligned or not.
            method: see `infer_states`.
            noise: standard deviation of the instruments, see `SMORE.infer`.
        """
        state, blocks = self._infer(observations, method, noise)
        return replace(state, observability=observabilities(self.decoder, blocks))

    def _infer(
        self, observations: Trajectories, method: FitMethod, noise: Noise
    ) -> tuple[LatentState, list[AnyBlock]]:
        """The states without their observability, which costs another pass, and what they fit."""
        settings = self.description.settings
        first = stored(self.aligned(observations.leading(1)))
        check_observations(first, self.description.coordinate_map)
        self.warn_outside(sequence.mesh for sequence in first)
        told = self.noise_of(noise)  # refused before any work
        instruments = torch.zeros(len(self.description.channels)) if told is None else told
        blocks = self.blocks(first)
        equations = normal_equations(self.decoder, blocks, settings.chunk_size)
        expected = self.expected_noise + instruments
        seen, is_seen = estimate_noise(equations, self.least_noise + instruments, expected)
        state = infer_states(
            equations,
            torch.tensor([sequence.times[0] for sequence in first], dtype=torch.float64),
            method=method,
            priors=self.priors,
            noise=seen if told is None else expected,
            num_steps=settings.final_fit_steps,
            rate=settings.fit_rate,
            keeps=settings.fit_keeps,
        )
        # New fields may be less unlike the training data than left-out trajectories were; that
        # they are more unlike cannot be told from noise of the instruments.
        growth = (seen - instruments) / self.least_noise
        most = self.expected_noise / self.least_noise
        state = replace(
            state,
            noise_known=is_seen if told is None else is_seen | self._told(noise),
            growth=torch.minimum(growth.clamp(min=1), most),
        )
        return state, blocks

    def _told(self, noise: Noise) -> Tensor:
        """(channels,) whether the user spoke of the noise of a channel."""
        names = [channel.name for channel in self.description.channels]
        return torch.tensor([not isinstance(noise, Mapping) or name in noise for name in names])

    @property
    def least_noise(self) -> Tensor:
        """(channels,) variance of training values about the decoder, normalised units."""
        noise = torch.tensor(self.description.noise_variance, dtype=torch.float64)
        return noise.clamp(min=LEAST_NOISE)

    @property
    def expected_noise(self) -> Tensor:
        """The same of trajectories that were left out."""
        return self.least_noise * torch.tensor(self.description.noise_growth, dtype=torch.float64)

    def noise_of(self, noise: Noise) -> Tensor | None:
        """(channels,) variance of the instruments, normalised units; None to estimate it."""
        if noise is None:
            return None
        names = [channel.name for channel in self.description.channels]
        given = noise if isinstance(noise, Mapping) else dict.fromkeys(names, noise)
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise SettingsError(
                f"noise was given for {', '.join(unknown)}; the model knows the channels "
                f"{', '.join(names)}"
            )
        for name, value in given.items():
            if not 0 <= value < math.inf:
                raise SettingsError(
                    f"the noise of '{name}' is a standard deviation in the data's units, finite "
                    f"and not negative, got {value}"
                )
        deviations = torch.tensor([float(given.get(name, 0.0)) for name in names]).double()
        return (deviations / torch.tensor(self.description.normalization.scale)).square()

    @torch.no_grad()
    def advance(self, state: LatentState, intervals: NDArray[np.float64]) -> Tensor:
        """Latents (states, n + 1, channels, p) after intervals (states, n) of the data's time.

        Raises:
            DivergenceError: they overflow.
        """
        return self._path(state, intervals)[0]

    @torch.no_grad()
    def advance_uncertain(
        self, state: LatentState, intervals: NDArray[np.float64]
    ) -> tuple[Tensor, Tensor]:
        """`advance`, and covariances (states or 1, n + 1, channels, p, p) of each channel.

        Args:
            state: with a covariance.
            intervals: (states, n).
        """
        assert state.covariance is not None
        latents, path, plan = self._path(state, intervals)
        settings = self.description.settings
        covariances = forecast_covariances(
            self.dynamics,
            path,
            plan,
            state.covariance,
            self.error.step,
            method=settings.stepping,
            substeps=settings.num_substeps,
        )
        return latents, channel_blocks(covariances, latents.shape[2])

    def _path(
        self, state: LatentState, intervals: NDArray[np.float64]
    ) -> tuple[Tensor, Tensor, StepPlan]:
        """Latents to decode, and the path (states, steps + 1, r) of the steps between them."""
        settings = self.description.settings
        assert settings.time_scale is not None
        plan = StepPlan.of(
            torch.as_tensor(intervals / settings.time_scale),
            self.description.time_step / settings.time_scale,
        )
        path = forecast_path(
            self.dynamics,
            state.flat,
            plan,
            method=settings.stepping,
            substeps=settings.num_substeps,
        )
        latents = path[:, plan.outputs]
        decodable = latents.to(next(self.decoder.parameters()))
        if not bool(torch.isfinite(decodable).all()):
            raise DivergenceError(
                "the forecast overflows: the latent dynamics are not stable over this horizon; "
                "forecast less far, or train longer with the stability regularisers",
                part="forecast",
            )
        self._warn_beyond(latents)
        self._warn_uncertified(latents)
        return decodable.unflatten(-1, (-1, self.decoder.latent_dim)), path, plan

    @torch.no_grad()
    def iterate(self, states: NDArray[np.float64], num_steps: int) -> NDArray[np.float64]:
        """States (n, r) after 0, 1, .., num_steps training intervals, come what may."""
        settings = self.description.settings
        assert settings.time_scale is not None
        step = self.description.time_step / settings.time_scale
        advance = step_map(
            self.dynamics,
            torch.full((len(states), 1), step, dtype=torch.float64),
            method=settings.stepping,
            substeps=settings.num_substeps,
        )
        path = rollout(lambda state, _: advance(state, 0), torch.as_tensor(states), num_steps)
        return path.numpy()

    def _warn_beyond(self, latents: Tensor) -> None:
        """Warn when latents (states, times, r) leave the range of the training data."""
        distance = (latents - self.prior.mean).norm(dim=-1)
        ratio = float(distance.max()) / max(self.description.latent_radius, 1e-300)
        if ratio > FAR:
            first = int((distance > FAR * self.description.latent_radius).any(0).nonzero()[0])
            where = (
                "the initial state is already far from anything in the training data: check units, "
                "offsets and fill values of the observations"
                if first == 0
                else "the dynamics are not stable this far; trust it no longer"
            )
            warnings.warn(
                f"from step {first} on the forecast is up to {ratio:.2g} times as far from the "
                f"training mean as any training state: {where}",
                ForecastRangeWarning,
                stacklevel=3,
            )

    def _warn_uncertified(self, latents: Tensor) -> None:
        """Warn when latents (states, times, r) leave the set for which stability was proved."""
        if not self.certificate.claims.certified:
            return
        outside = ~self.certificate.covers(latents.numpy()).all(axis=0)
        if outside.any():
            warnings.warn(
                f"from step {int(outside.argmax())} on the forecast is outside the set for which "
                "stability was proved: nothing is promised there (see `smore certify`)",
                ForecastRangeWarning,
                stacklevel=3,
            )

    def seen_on(self, mesh: Mesh) -> NDArray[np.bool_] | None:
        """`seen`, if `mesh` has the points of the training mesh; else None: nothing is known."""
        if self.seen is None or self.mesh is None or not self.mesh.same_points(mesh):
            return None
        return self.seen

    def decode(self, latents: Tensor, mesh: Mesh) -> NDArray[np.float32]:
        """Fields (..., channels, points) in the data's units from latents (..., channels, p)."""
        self.warn_outside([mesh])
        return self.decode_part(latents, mesh, slice(0, mesh.num_points))

    @torch.no_grad()
    def decode_part(self, latents: Tensor, mesh: Mesh, points: slice) -> NDArray[np.float32]:
        """`decode` at some points of a mesh."""
        fields = np.empty((*latents.shape[:-1], points.stop - points.start), dtype=np.float32)
        for chunk, coords in self._chunks(mesh, points):
            decoded = self.decoder.basis(coords).decode(latents.to(coords)).cpu().numpy()
            fields[..., chunk] = self.description.normalization.undo(decoded)
        return fields

    @torch.no_grad()
    def decode_departures(self, departures: NDArray, mesh: Mesh) -> NDArray:
        """What departures (n, r) of the latents, real or complex, change: no offset, normalised.

        Returns:
            (n, channels, points).
        """
        self.warn_outside([mesh])
        codes = departures.reshape(len(departures), -1, self.decoder.latent_dim)
        fields = np.empty((*codes.shape[:2], mesh.num_points), dtype=codes.dtype)
        for chunk, coords in self._chunks(mesh, slice(0, mesh.num_points)):
            modes = self.decoder.basis(coords).modes.to("cpu", torch.float64)
            fields[..., chunk] = codes @ modes.numpy().T
        return fields

    def deviation(
        self, covariances: Tensor, mesh: Mesh, growth: Tensor | None
    ) -> NDArray[np.float32]:
        """Standard deviations (..., channels, points) of fields, in the data's units.

        Args:
            covariances: (..., channels, p, p) of the latents; what the decoder misses is added.
            mesh: where.
            growth: (channels,) how many times more the decoder misses than of the training data;
                by default as of trajectories that were left out.
        """
        return self.deviation_part(covariances, mesh, slice(0, mesh.num_points), growth)

    @torch.no_grad()
    def deviation_part(
        self, covariances: Tensor, mesh: Mesh, points: slice, growth: Tensor | None
    ) -> NDArray[np.float32]:
        """`deviation` at some points of a mesh."""
        if growth is None:
            growth = torch.tensor(self.description.noise_growth, dtype=torch.float64)
        num_channels = covariances.shape[-3]
        prior = channel_blocks(self.prior.covariance, num_channels)
        scale = self.description.normalization.scale_array[:, None]
        fields = np.empty((*covariances.shape[:-2], points.stop - points.start), dtype=np.float32)
        for chunk, coords in self._chunks(mesh, points):
            modes = self.decoder.basis(coords).modes.to("cpu", torch.float64)
            missed = self.error.residual_variance(field_variance(modes, prior)) * growth[:, None]
            variance = field_variance(modes, covariances) + missed
            fields[..., chunk] = variance.sqrt().numpy() * scale
        return fields

    def _chunks(self, mesh: Mesh, points: slice) -> Iterator[tuple[slice, Tensor]]:
        """Slices of a range of points of `mesh`, with their decoder coordinates."""
        size = self.description.settings.chunk_size or POINTS_AT_ONCE
        weight = next(self.decoder.parameters())
        for start in range(points.start, points.stop, size):
            stop = min(start + size, points.stop)
            places = self.description.coordinate_map(mesh.places(slice(start, stop)))
            here = slice(start - points.start, stop - points.start)
            yield here, torch.as_tensor(places).to(weight)

    def evaluate(
        self,
        trajectories: Trajectories,
        observations: Trajectories,
        method: FitMethod,
        noise: Noise = None,
    ) -> Evaluation:
        """Forecast every sequence from `observations` of its first snapshot and score the rest."""
        description = self.description
        truth = stored(self.aligned(trajectories))
        known = truth if observations is trajectories else observations  # copied once
        timeline = Timeline.of(truth, 1.0)
        state, _ = self._infer(known, method, noise)
        starts = torch.tensor([sequence.times[0] for sequence in truth])
        if not torch.equal(starts, state.times):
            raise DataError("the observations are not of the time of each first snapshot")
        forecast = timeline.scatter(self.advance(state, timeline.steps.numpy()))
        return evaluate_latents(
            self.decoder,
            self.blocks(truth),
            forecast,
            self.prior.mean.view(forecast.shape[1:]).to(forecast),
            truth,
            timeline,
            scale=torch.tensor(description.normalization.scale, dtype=torch.float64),
            variance=torch.tensor(description.training_variance, dtype=torch.float64),
            horizon=description.horizon,
            chunk_size=description.settings.chunk_size,
        )

    def warn_outside(self, meshes: Iterable[Mesh]) -> None:
        """Warn about points beyond the domain of the training data."""
        for mesh in {id(mesh): mesh for mesh in meshes}.values():
            self.description.coordinate_map.warn_outside(mesh.reach, self.description.space)

    def aligned(self, trajectories: Trajectories) -> Trajectories:
        """`trajectories` with the channels, coordinates and clock of the model."""
        description = self.description
        return align(trajectories, description.channels, description.space, description.clock)

    def blocks(self, trajectories: Trajectories) -> list[AnyBlock]:
        """Aligned trajectories in the decoder's coordinates and units."""
        return make_blocks(
            trajectories,
            self.description.normalization,
            self.description.coordinate_map,
            device=next(self.decoder.parameters()).device,
        )
