"""Which tensors a model consists of, compared with those in a file before anything is built.

A file may be forged, its checksum included: settings that ask for gigabytes must not get them, and
whatever does not fit is told by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from smore.data import Mesh, Tessellation
from smore.decoder import Decoder, Interpolation, interpolation_of
from smore.dynamics import LatentDynamics
from smore.settings import Settings
from smore.surrogate import MONTHS, Description, MeshLayout, build_decoder, build_dynamics

DECODER, DYNAMICS, PRIOR = "decoder.", "dynamics.", "prior."
# As bytes: what a forged file has for booleans may be neither true nor false.
SEEN = "mesh.seen"
REFERENCE, DISAGREEMENT = "reference.", "error.disagreement."

_SIZES = ("latent_dim", "hidden_dim", "rank", "dynamics_hidden_dim")


class _Expected(NamedTuple):
    dtype: torch.dtype
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')} numbers of shape {self.shape}"


def hollow_networks(
    tensors: Mapping[str, Tensor], description: Description
) -> tuple[Decoder, LatentDynamics]:
    """Decoder and dynamics as `description` has them, without memory for their weights.

    Raises:
        ValueError: `tensors` are other ones than such a model consists of, or hold NaN or infinity.
    """
    _require_possible(tensors, description.settings)
    dim, channels = description.coordinate_map.decoder_dim, len(description.channels)
    interpolation = _interpolation(tensors, description)
    with torch.device("meta"):
        decoder = build_decoder(description.settings, dim, channels, interpolation)
        dynamics = build_dynamics(description.settings, channels).double()
    expected = _numbered(DECODER, decoder) | _numbered(DYNAMICS, dynamics)
    expected |= _expected_beside_networks(tensors, description, dynamics.dim)
    for name in [*expected, *tensors]:
        _require_expected(name, tensors.get(name), expected.get(name))
    return decoder, dynamics


def _interpolation(tensors: Mapping[str, Tensor], description: Description) -> Interpolation | None:
    """Of a gridded basis, whose nodes are the points of the mesh."""
    if description.settings.decoder != "gridded":
        return None
    expected = _expected_mesh(description)
    if not expected:
        raise ValueError("its decoder is gridded, and there is no mesh")
    for name, each in expected.items():
        _require_expected(name, tensors.get(name), each)
    found = interpolation_of(stored_mesh(tensors, description), description.coordinate_map)
    if found is None:
        raise ValueError("its decoder is gridded, and nothing can be said between its points")
    return found


def stored_mesh(tensors: Mapping[str, Tensor], description: Description) -> Mesh:
    """The training mesh; there has to be one."""
    assert description.mesh is not None
    return Mesh.of(
        tensors["mesh.coords"].numpy(),
        tensors["mesh.weights"].numpy(),
        description.mesh.dims,
        description.mesh.shape,
        description.mesh.coordinate_dims,
        _stored_cells(tensors, description.mesh),
    )


def _stored_cells(tensors: Mapping[str, Tensor], layout: MeshLayout) -> Tessellation | None:
    if layout.cells is None:
        return None
    nodes = tensors["mesh.nodes" if layout.cells.on_cells else "mesh.coords"].numpy()
    parts = [tensors[f"mesh.cell_{name}"].numpy() for name in ("kinds", "offsets", "corners")]
    return Tessellation.checked(nodes, *parts, on_cells=layout.cells.on_cells)


def cell_tensors(cells: Tessellation) -> dict[str, Tensor]:
    """What a file holds of the cells of the training mesh."""
    tensors = {
        f"mesh.cell_{name}": torch.tensor(getattr(cells, name))
        for name in ("kinds", "offsets", "corners")
    }
    return tensors | ({"mesh.nodes": torch.tensor(cells.nodes)} if cells.on_cells else {})


def named_part(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with `prefix`, without it."""
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def num_priors(tensors: Mapping[str, Tensor]) -> int:
    """How many priors there are among `tensors`."""
    return sum(name.endswith(".factor") for name in named_part(PRIOR, tensors))


def _require_possible(tensors: Mapping[str, Tensor], settings: Settings) -> None:
    """Refuse sizes so far beyond the tensors that even their shapes would be trouble."""
    longest = max((size for tensor in tensors.values() for size in tensor.shape), default=0)
    for name in _SIZES:
        value = getattr(settings, name)
        if value is not None and value > longest:
            raise ValueError(f"{name} is {value}, no tensor is that long")
    if settings.num_hidden > len(tensors):
        raise ValueError(f"num_hidden is {settings.num_hidden}, there are not that many tensors")


def _numbered(prefix: str, network: torch.nn.Module) -> dict[str, _Expected]:
    return {
        prefix + name: _Expected(tensor.dtype, tuple(tensor.shape))
        for name, tensor in network.state_dict().items()
    }


def _expected_beside_networks(
    tensors: Mapping[str, Tensor], description: Description, dim: int
) -> dict[str, _Expected]:
    """Priors, errors, certificate and mesh."""

    def real(*shape: int) -> _Expected:
        return _Expected(torch.float64, shape)

    num_channels = len(description.channels)
    expected = {
        "error.floor": real(num_channels),
        "error.share": real(num_channels),
        "error.step": real(dim, dim),
        "certificate.centre": real(dim),
        "certificate.factor": real(dim, dim),
    }
    if "error.leads" in tensors:
        count = tensors["error.leads"].numel()
        expected |= {"error.leads": real(max(count, 2)), "error.variances": real(max(count, 2))}
        if f"{DISAGREEMENT}ages" in tensors:
            ages = max(tensors[f"{DISAGREEMENT}ages"].numel(), 2)
            selves = max(len(tensors.get(f"{DISAGREEMENT}constants", ())), 1)
            expected |= {
                f"{DISAGREEMENT}matrices": real(selves, dim, dim),
                f"{DISAGREEMENT}constants": real(selves, dim),
                f"{DISAGREEMENT}measure": real(dim, dim),
                f"{DISAGREEMENT}ages": real(ages),
                f"{DISAGREEMENT}log_ratios": real(ages, max(count, 2)),
                f"{DISAGREEMENT}end": real(),
            }
    else:
        expected["error.correlation"] = real()
    lasting = ("error.memory", "error.reach", "error.tail")
    if any(name in tensors for name in lasting):  # not in files of before
        expected |= dict.fromkeys(lasting, real(num_channels))
    for number in range(max(num_priors(tensors), 1)):
        expected[f"{PRIOR}{number}.mean"] = real(dim)
        expected[f"{PRIOR}{number}.factor"] = real(dim, dim)
        if f"{PRIOR}{number}.count" in tensors:
            expected[f"{PRIOR}{number}.count"] = _Expected(torch.int64, ())
    return expected | _expected_mesh(description) | _expected_references(description)


def _expected_references(description: Description) -> dict[str, _Expected]:
    if description.references is None or description.mesh is None:
        return {}
    rank = description.references.rank
    shape = (len(description.channels), description.mesh.num_points)
    expected = {f"{REFERENCE}mean": _Expected(torch.float64, shape)}
    if description.references.monthly:
        expected[f"{REFERENCE}monthly"] = _Expected(torch.float32, (MONTHS, *shape))
    if rank:
        expected[f"{REFERENCE}modes"] = _Expected(torch.float64, (shape[0] * shape[1], rank))
        expected[f"{REFERENCE}step"] = _Expected(torch.float64, (rank + 1, rank))
    return expected


def _expected_mesh(description: Description) -> dict[str, _Expected]:
    if description.mesh is None:
        return {}
    num_points = description.mesh.num_points
    expected = {
        "mesh.coords": _Expected(torch.float64, (num_points, description.space.dim)),
        "mesh.weights": _Expected(torch.float64, (num_points,)),
    }
    if (cells := description.mesh.cells) is not None:
        expected["mesh.cell_kinds"] = _Expected(torch.uint8, (cells.num_cells,))
        expected["mesh.cell_offsets"] = _Expected(torch.int64, (cells.num_cells + 1,))
        expected["mesh.cell_corners"] = _Expected(torch.int64, (cells.num_corners,))
        if cells.on_cells:
            shape = (cells.num_nodes, description.space.dim)
            expected["mesh.nodes"] = _Expected(torch.float64, shape)
    if description.mesh.has_unseen:
        expected[SEEN] = _Expected(torch.uint8, (len(description.channels), num_points))
    return expected


def _require_expected(name: str, tensor: Tensor | None, expected: _Expected | None) -> None:
    if tensor is None:
        raise ValueError(f"it has no tensor {name!r}, expected {expected}")
    given = _Expected(tensor.dtype, tuple(tensor.shape))
    if expected is None:
        raise ValueError(f"it has a tensor {name!r} that no such model has")
    if given != expected:
        raise ValueError(f"tensor {name!r} has {given}, expected {expected}")
    if tensor.is_floating_point() and tensor.numel():
        # Both are NaN if any number is; unlike isfinite, this needs no memory.
        lowest, highest = tensor.aminmax()
        if not (lowest.isfinite() and highest.isfinite()):
            raise ValueError(f"tensor {name!r} must be finite, holds NaN or infinity")
