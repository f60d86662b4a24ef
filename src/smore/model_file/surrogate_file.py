"""A surrogate in one file: tensors, and what they mean."""

from __future__ import annotations

import json
import os
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from torch import Tensor

from smore.dynamics import Disagreement, LeadError, StepError
from smore.errors import ModelFileError
from smore.inference import LatentPrior, ModelError
from smore.model_file._tensors import (
    DECODER,
    DISAGREEMENT,
    DYNAMICS,
    PRIOR,
    REFERENCE,
    SEEN,
    cell_tensors,
    hollow_networks,
    named_part,
    num_priors,
    stored_mesh,
)
from smore.model_file.container import load_file, save_file
from smore.settings import RETIRED
from smore.stability import Certificate, Claims
from smore.surrogate import Description, PodDmd, References, Surrogate

# What pydantic may allocate for each letter that is wrong is a hundred times as much.
LONGEST_TEXT = 2**19


class StoredText(BaseModel):
    """What a model file says in words and numbers, beside its tensors."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    description: Description
    claims: Claims

    @classmethod
    def of(cls, text: str) -> StoredText:
        """What JSON says, even if it is made to do harm.

        Raises:
            ValueError: too long, no JSON, nested too deeply, or something else.
        """
        if len(text) > LONGEST_TEXT:
            raise ValueError(f"a description of {len(text)} letters, at most {LONGEST_TEXT} fit")
        try:
            told = json.loads(text)
        except RecursionError:
            raise ValueError("a description that is nested too deeply") from None
        _forget_retired(told)
        # Not from JSON directly: pydantic would copy what is wrong for every fault it finds.
        return cls.model_validate(told)


def _forget_retired(told: Any) -> None:
    """Leave out settings of earlier versions whose value is all that there is now."""
    match told:
        case {"description": {"settings": dict(settings)}}:
            for name, value in RETIRED.items():
                if settings.get(name) == value:
                    del settings[name]


def save_surrogate(surrogate: Surrogate, path: str | os.PathLike[str]) -> None:
    """Write everything to one file."""
    tensors = _named(DECODER, surrogate.decoder.state_dict())
    tensors |= _named(DYNAMICS, surrogate.dynamics.state_dict())
    for number, prior in enumerate(surrogate.priors):
        parts = {"mean": prior.mean, "factor": prior.factor}
        if prior.count is not None:
            parts["count"] = torch.tensor(prior.count)
        tensors |= _named(f"{PRIOR}{number}.", parts)
    error, certificate, mesh = surrogate.error, surrogate.certificate, surrogate.mesh
    tensors |= {
        "error.floor": error.floor,
        "error.share": error.share,
        "error.step": error.step.factor,
        "certificate.centre": torch.tensor(certificate.centre),
        "certificate.factor": torch.tensor(certificate.factor),
    }
    if isinstance(error.step, LeadError):
        tensors |= {"error.leads": error.step.leads, "error.variances": error.step.variances}
        if error.step.disagreement is not None:
            tensors |= _named(DISAGREEMENT, vars(error.step.disagreement))
    else:
        tensors["error.correlation"] = torch.tensor(error.step.correlation, dtype=torch.float64)
    lasting = {"memory": error.memory, "reach": error.reach, "tail": error.tail}
    tensors |= {f"error.{name}": each for name, each in lasting.items() if each is not None}
    if mesh is not None:
        tensors |= {
            "mesh.coords": torch.tensor(mesh.coords),
            "mesh.weights": torch.tensor(mesh.weights),
        }
        if mesh.tessellation is not None:
            tensors |= cell_tensors(mesh.tessellation)
    if surrogate.seen is not None:
        tensors[SEEN] = torch.tensor(surrogate.seen, dtype=torch.uint8)
    tensors |= _named(REFERENCE, _reference_tensors(surrogate.references))
    text = StoredText(description=surrogate.description, claims=certificate.claims)
    save_file(path, tensors, text.model_dump_json())


def load_surrogate(path: str | os.PathLike[str], device: torch.device) -> Surrogate:
    """Read what `save_surrogate` wrote.

    Raises:
        ModelFileError: the file is damaged, or not a model.
    """
    tensors, text = load_file(path)
    try:
        surrogate = _surrogate(tensors, StoredText.of(text))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        reason = ": ".join([".".join(map(str, first["loc"])), first["msg"]])
    except (RuntimeError, ValueError) as error:  # of torch, for an impossible shape
        reason = str(error).splitlines()[0]
    else:
        surrogate.decoder.to(device)
        return surrogate
    # What is wrong may have been written to confuse a terminal.
    reason = "".join(letter if letter.isprintable() else "?" for letter in reason)
    raise ModelFileError(
        f"{path} does not describe a model of this version of smore ({reason[:500]}); fit it again"
    )


def _surrogate(tensors: dict[str, Tensor], stored: StoredText) -> Surrogate:
    description = stored.description
    decoder, dynamics = hollow_networks(tensors, description)
    decoder.load_state_dict(named_part(DECODER, tensors), assign=True)
    dynamics.load_state_dict(named_part(DYNAMICS, tensors), assign=True)
    return Surrogate(
        decoder,
        dynamics,
        _priors(tensors),
        _error(tensors, description),
        description,
        None if description.mesh is None else stored_mesh(tensors, description),
        tensors[SEEN].bool().numpy() if SEEN in tensors else None,
        Certificate(
            stored.claims,
            tensors["certificate.centre"].numpy(),
            tensors["certificate.factor"].numpy(),
        ),
        _references(named_part(REFERENCE, tensors)),
    )


def _reference_tensors(references: References | None) -> dict[str, Tensor]:
    if references is None:
        return {}
    tensors = {"mean": torch.tensor(references.mean)}
    if references.monthly is not None:
        tensors["monthly"] = torch.tensor(references.monthly)
    if references.dmd is not None:
        tensors["modes"] = torch.tensor(references.dmd.modes)
        tensors["step"] = torch.tensor(references.dmd.step)
    return tensors


def _references(tensors: dict[str, Tensor]) -> References | None:
    if not tensors:
        return None
    part = {name: tensor.numpy() for name, tensor in tensors.items()}
    dmd = PodDmd(part["mean"].ravel(), part["modes"], part["step"]) if "modes" in part else None
    return References(part["mean"], part.get("monthly"), dmd)


def _priors(tensors: dict[str, Tensor]) -> tuple[LatentPrior, ...]:
    parts = [named_part(f"{PRIOR}{number}.", tensors) for number in range(num_priors(tensors))]
    return tuple(
        LatentPrior(part["mean"], part["factor"], int(part["count"]) if "count" in part else None)
        for part in parts
    )


def _error(tensors: dict[str, Tensor], description: Description) -> ModelError:
    step: StepError | LeadError
    if "error.leads" in tensors:
        told = named_part(DISAGREEMENT, tensors)
        step = LeadError(
            tensors["error.step"],
            tensors["error.leads"],
            tensors["error.variances"],
            Disagreement(**told) if told else None,
        )
    else:
        correlation = float(tensors["error.correlation"])
        step = StepError(tensors["error.step"], correlation, description.step)
    return ModelError(
        tensors["error.floor"],
        tensors["error.share"],
        step,
        memory=tensors.get("error.memory"),
        reach=tensors.get("error.reach"),
        tail=tensors.get("error.tail"),
    )


def _named(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + name: tensor for name, tensor in tensors.items()}
