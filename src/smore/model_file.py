"""A surrogate in one file: tensors, and what they mean."""

from __future__ import annotations

import os

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from smore.data import Mesh
from smore.description import Description
from smore.dynamics import StepError
from smore.errors import ModelFileError
from smore.inference import LatentPrior
from smore.inference.model_error import ModelError
from smore.networks import build_decoder, build_dynamics
from smore.stability.certificate import Certificate, Claims
from smore.storage import load_file, save_file
from smore.surrogate import Surrogate


class StoredText(BaseModel):
    """What a model file says in words and numbers, beside its tensors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: Description
    claims: Claims


def save_surrogate(surrogate: Surrogate, path: str | os.PathLike[str]) -> None:
    """Write everything to one file."""
    tensors = _named("decoder.", surrogate.decoder.state_dict())
    tensors |= _named("dynamics.", surrogate.dynamics.state_dict())
    for number, prior in enumerate(surrogate.priors):
        tensors |= {f"prior.{number}.mean": prior.mean, f"prior.{number}.factor": prior.factor}
        if prior.count is not None:
            tensors[f"prior.{number}.count"] = torch.tensor(prior.count)
    error, certificate, mesh = surrogate.error, surrogate.certificate, surrogate.mesh
    tensors |= {
        "error.floor": error.floor,
        "error.share": error.share,
        "error.step": error.step.factor,
        "error.correlation": torch.tensor(error.step.correlation, dtype=torch.float64),
        "certificate.centre": torch.tensor(certificate.centre),
        "certificate.factor": torch.tensor(certificate.factor),
    }
    if mesh is not None:
        tensors |= {
            "mesh.coords": torch.tensor(mesh.coords),
            "mesh.weights": torch.tensor(mesh.weights),
        }
    text = StoredText(description=surrogate.description, claims=certificate.claims)
    save_file(path, tensors, text.model_dump_json())


def load_surrogate(path: str | os.PathLike[str], device: torch.device) -> Surrogate:
    """Read what `save_surrogate` wrote.

    Raises:
        ModelFileError: the file is damaged, or not a model.
    """
    tensors, text = load_file(path)
    try:
        stored = StoredText.model_validate_json(text)
        return _surrogate(tensors, stored, device)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        reason = f"{field}: {first['msg']}"
    except KeyError as error:
        reason = f"it has no tensor {error}"
    except (RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
    raise ModelFileError(
        f"{path} does not describe a model of this version of smore ({reason}); fit it again"
    )


def _surrogate(tensors: dict[str, Tensor], stored: StoredText, device: torch.device) -> Surrogate:
    description = stored.description
    decoder = build_decoder(description.settings, description.coordinate_map.decoder_dim)
    dynamics = build_dynamics(description.settings, len(description.channels)).double()
    decoder.load_state_dict(_part("decoder.", tensors))
    dynamics.load_state_dict(_part("dynamics.", tensors))
    return Surrogate(
        decoder.to(device),
        dynamics,
        _priors(tensors),
        _error(tensors, description),
        description,
        _mesh(tensors, description),
        Certificate(
            stored.claims,
            tensors["certificate.centre"].numpy(),
            tensors["certificate.factor"].numpy(),
        ),
    )


def _priors(tensors: dict[str, Tensor]) -> tuple[LatentPrior, ...]:
    numbers = range(sum(name.endswith(".factor") for name in _part("prior.", tensors)))
    counts = [tensors.get(f"prior.{number}.count") for number in numbers]
    return tuple(
        LatentPrior(
            tensors[f"prior.{number}.mean"],
            tensors[f"prior.{number}.factor"],
            None if count is None else int(count),
        )
        for number, count in zip(numbers, counts, strict=True)
    )


def _error(tensors: dict[str, Tensor], description: Description) -> ModelError:
    assert description.settings.time_scale is not None
    step = StepError(
        tensors["error.step"],
        float(tensors["error.correlation"]),
        description.time_step / description.settings.time_scale,
    )
    return ModelError(tensors["error.floor"], tensors["error.share"], step)


def _mesh(tensors: dict[str, Tensor], description: Description) -> Mesh | None:
    if description.mesh is None:
        return None
    return Mesh(
        tensors["mesh.coords"].numpy(),
        tensors["mesh.weights"].numpy(),
        description.mesh.dims,
        description.mesh.shape,
        description.mesh.coordinate_dims,
    )


def _named(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: tensor for name, tensor in tensors.items()}


def _part(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
