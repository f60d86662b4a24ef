"""A trained surrogate: what every recipe ends in, whatever it did on the way.

A decoder, dynamics of its latents, the prior of these latents, and a description of what all the
numbers mean to the user. Immutable: training makes it, everything else only asks it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from smore.data import Block, Mesh, Trajectories, make_blocks
from smore.data.timeline import Timeline
from smore.decoder import Decoder
from smore.description import Description
from smore.dynamics import LatentDynamics, forecast_latents, rollout, step_map
from smore.errors import DataError, DivergenceError, ForecastRangeWarning, ModelFileError
from smore.evaluation import Evaluation, evaluate_latents
from smore.inference import FitMethod, LatentPrior, LatentState, infer_states
from smore.inference.observations import align
from smore.networks import build_decoder, build_dynamics
from smore.stability.certificate import Certificate, Claims
from smore.storage import load_file, save_file

# Where the decoder reproduces the training data to round-off, observations are still no better
# than single precision.
LEAST_NOISE = 1e-14
# Latents this many times as far out as any training latent are not a forecast any more.
FAR = 3.0


class StoredText(BaseModel):
    """What a model file says in words and numbers, beside its tensors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: Description
    claims: Claims


@dataclass(frozen=True, eq=False)
class Surrogate:
    """Decoder, dynamics, prior, description and certificate of a trained model.

    Args:
        decoder: any coordinates -> (offset, modes).
        dynamics: vector field of the reduced state, in float64 on the CPU: states are small, and
            what is certified is what is iterated.
        prior: distribution of the training latents.
        description: settings, units, normalisation, training record.
        mesh: the training mesh, if all sequences shared one of moderate size.
        certificate: what has been proved about the dynamics as they are iterated.
    """

    decoder: Decoder
    dynamics: LatentDynamics
    prior: LatentPrior
    description: Description
    mesh: Mesh | None
    certificate: Certificate

    def infer(self, observations: Trajectories, method: FitMethod) -> LatentState:
        """The states behind the first snapshot of every sequence."""
        settings = self.description.settings
        first = self.aligned(observations).leading(1)
        self.warn_outside(sequence.mesh for sequence in first)
        noise = torch.tensor(self.description.noise_variance, dtype=torch.float64)
        return infer_states(
            self.decoder,
            self.blocks(first),
            torch.tensor([sequence.times[0] for sequence in first], dtype=torch.float64),
            method=method,
            prior=self.prior,
            noise=noise.clamp(min=LEAST_NOISE),
            num_steps=settings.final_fit_steps,
            rate=settings.fit_rate,
            chunk_size=settings.chunk_size,
        )

    @torch.no_grad()
    def advance(self, state: LatentState, intervals: NDArray[np.float64]) -> Tensor:
        """Latents (states, n + 1, channels, p) after intervals (states, n) of the data's time.

        Raises:
            DivergenceError: they overflow.
        """
        settings = self.description.settings
        assert settings.time_scale is not None
        latents = forecast_latents(
            self.dynamics,
            state.flat,
            torch.as_tensor(intervals / settings.time_scale),
            longest_step=self.description.time_step / settings.time_scale,
            method=settings.stepping,
            substeps=settings.num_substeps,
        )
        decodable = latents.to(next(self.decoder.parameters()))
        if not bool(torch.isfinite(decodable).all()):
            raise DivergenceError(
                "the forecast overflows: the latent dynamics are not stable over this horizon; "
                "forecast less far, or train longer with the stability regularisers",
                part="forecast",
            )
        self._warn_beyond(latents)
        return decodable.unflatten(-1, (-1, self.decoder.latent_dim))

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
            warnings.warn(
                f"from step {first} on the forecast is up to {ratio:.2g} times as far from the "
                "training mean as any training state: the dynamics are not stable this far; "
                "trust it no longer",
                ForecastRangeWarning,
                stacklevel=3,
            )

    @torch.no_grad()
    def decode(self, latents: Tensor, mesh: Mesh) -> NDArray[np.float32]:
        """Fields (..., channels, points) in the data's units from latents (..., channels, p)."""
        self.warn_outside([mesh])
        fields = np.empty((*latents.shape[:-1], mesh.num_points), dtype=np.float32)
        size = self.description.settings.chunk_size or mesh.num_points
        for start in range(0, mesh.num_points, size):
            chunk = slice(start, start + size)
            coords = torch.as_tensor(self.description.coordinate_map(mesh.coords[chunk]))
            decoded = self.decoder.basis(coords.to(latents)).decode(latents).cpu().numpy()
            fields[..., chunk] = self.description.normalization.undo(decoded)
        return fields

    def evaluate(
        self, trajectories: Trajectories, observations: Trajectories, method: FitMethod
    ) -> Evaluation:
        """Forecast every sequence from `observations` of its first snapshot and score the rest."""
        description = self.description
        trajectories = self.aligned(trajectories)
        timeline = Timeline.of(trajectories, 1.0)
        state = self.infer(observations, method)
        starts = torch.tensor([sequence.times[0] for sequence in trajectories])
        if not torch.equal(starts, state.times):
            raise DataError("the observations are not of the time of each first snapshot")
        forecast = timeline.scatter(self.advance(state, timeline.steps.numpy()))
        return evaluate_latents(
            self.decoder,
            self.blocks(trajectories),
            forecast,
            self.prior.mean.view(forecast.shape[1:]).to(forecast),
            trajectories,
            timeline,
            scale=torch.tensor(description.normalization.scale, dtype=torch.float64),
            variance=torch.tensor(description.training_variance, dtype=torch.float64),
            horizon=description.horizon,
            chunk_size=description.settings.chunk_size,
        )

    def warn_outside(self, meshes: Iterable[Mesh]) -> None:
        """Warn about points beyond the domain of the training data."""
        for mesh in {id(mesh): mesh for mesh in meshes}.values():
            self.description.coordinate_map.warn_outside(mesh.coords, self.description.space)

    def aligned(self, trajectories: Trajectories) -> Trajectories:
        """`trajectories` with the channels, coordinates and clock of the model."""
        description = self.description
        return align(trajectories, description.channels, description.space, description.clock)

    def blocks(self, trajectories: Trajectories) -> list[Block]:
        """Aligned trajectories in the decoder's coordinates and units."""
        return make_blocks(
            trajectories,
            self.description.normalization,
            self.description.coordinate_map,
            device=next(self.decoder.parameters()).device,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file."""
        tensors = {f"decoder.{name}": value for name, value in self.decoder.state_dict().items()}
        for name, value in self.dynamics.state_dict().items():
            tensors[f"dynamics.{name}"] = value
        tensors |= {"prior.mean": self.prior.mean, "prior.factor": self.prior.factor}
        tensors["certificate.centre"] = torch.tensor(self.certificate.centre)
        tensors["certificate.factor"] = torch.tensor(self.certificate.factor)
        if self.mesh is not None:
            tensors["mesh.coords"] = torch.tensor(self.mesh.coords)
            tensors["mesh.weights"] = torch.tensor(self.mesh.weights)
        text = StoredText(description=self.description, claims=self.certificate.claims)
        save_file(path, tensors, text.model_dump_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: torch.device) -> Surrogate:
        """Read what `save` wrote."""
        tensors, text = load_file(path)
        try:
            stored = StoredText.model_validate_json(text)
            return cls._from_tensors(tensors, stored, device)
        except (ValidationError, KeyError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise ModelFileError(f"{path} does not describe a model: {reason}") from None

    @classmethod
    def _from_tensors(
        cls, tensors: dict[str, Tensor], stored: StoredText, device: torch.device
    ) -> Surrogate:
        description = stored.description
        decoder = build_decoder(description.settings, description.coordinate_map.decoder_dim)
        dynamics = build_dynamics(description.settings, len(description.channels)).double()
        decoder.load_state_dict(_part(tensors, "decoder."))
        dynamics.load_state_dict(_part(tensors, "dynamics."))
        mesh = None
        if description.mesh is not None:
            mesh = Mesh(
                tensors["mesh.coords"].numpy(),
                tensors["mesh.weights"].numpy(),
                description.mesh.dims,
                description.mesh.shape,
                description.mesh.coordinate_dims,
            )
        return cls(
            decoder.to(device),
            dynamics,
            LatentPrior(tensors["prior.mean"], tensors["prior.factor"]),
            description,
            mesh,
            Certificate(
                stored.claims,
                tensors["certificate.centre"].numpy(),
                tensors["certificate.factor"].numpy(),
            ),
        )


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
