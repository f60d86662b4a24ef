"""Unstructured meshes in a dataset, by the UGRID conventions.

Every mesh file is read as such a dataset, and every file is written from one: what xarray holds
is the one form in which cells travel. Beyond the conventions a variable of shape types names the
kinds of cells by VTK's numbers, since the number of nodes does not tell them all.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.cells import KINDS, Tessellation, cell_centres, polygon_kind
from smore.data.mesh import Mesh
from smore.data.reading._roles import role_of
from smore.data.reading.record import LeftOut, Reading, Taken, listed, shown
from smore.data.space import Space
from smore.errors import DataError

TOPOLOGY = "mesh_topology"
NODE_DIM = "mesh_node"
FILL = -1
# The attribute with the arrays of a mesh file that are no fields.
LEFT_OUT = "left_out"
# What the conventions call cells, by dimension, and kinds of cells in space by number of nodes.
ELEMENTS = {1: "edge", 2: "face", 3: "volume"}
_SOLIDS = {4: 10, 5: 14, 6: 13, 8: 12}


@dataclass(frozen=True, eq=False)
class ToldCells:
    """The cells that a dataset tells of.

    Attributes:
        nodes: by the name of the coordinate of the points, (nodes,) that of the nodes.
        kinds, offsets, corners, on_cells: see `Tessellation`.
        topology: the variable that describes them.
        variables: all that describe them, with which a dataset of the points tells of them again.
        left_out: values elsewhere on the mesh, and arrays of the file that are no fields.
    """

    nodes: dict[str, NDArray[np.float64]]
    kinds: NDArray
    offsets: NDArray
    corners: NDArray
    on_cells: bool
    topology: str
    variables: dict[str, xr.Variable]
    left_out: tuple[LeftOut, ...]

    def tessellation(self, names: abc.Sequence[str]) -> Tessellation:
        """With coordinates in this order.

        Raises:
            DataError: coordinates that the nodes do not have.
        """
        if set(names) != set(self.nodes):
            raise DataError(
                f"the nodes of the cells have the coordinates {listed(self.nodes)}, got "
                f"{listed(names)}; leave --coords out, or name all of them"
            )
        nodes = np.stack([self.nodes[name] for name in names], axis=1)
        return Tessellation.checked(
            nodes, self.kinds, self.offsets, self.corners, on_cells=self.on_cells
        )

    def recorded(self, reading: Reading) -> Reading:
        """The record of a layout, with the part that the cells play."""
        where = f"named by '{shown(self.topology)}'"
        taken = [
            replace(each, why=where)
            if each.part == "coordinate" and each.name in self.nodes and each.why != "asked for"
            else each
            for each in reading.taken
        ]
        taken.append(Taken(self.topology, "cells", "cf_role 'mesh_topology'"))
        return replace(reading, taken=tuple(taken), left_out=(*reading.left_out, *self.left_out))


def topology_of(dataset: xr.Dataset) -> str | None:
    """The variable that describes a mesh, if there is one."""
    for name, variable in dataset.variables.items():
        if variable.attrs.get("cf_role") == "mesh_topology":
            return str(name)
    return None


def unpacked(
    dataset: xr.Dataset, channels: abc.Sequence[str] | None
) -> tuple[xr.Dataset, ToldCells | None]:
    """`dataset` as one of scattered points, and the cells that it tells of.

    Values at the nodes are taken where there are any, else those of the cells; `channels`, as the
    user or a model names them, may ask for the latter.

    Raises:
        DataError: a mesh that is not described as the conventions ask.
    """
    topology = topology_of(dataset)
    if topology is None:
        return dataset, None
    attrs = dataset[topology].attrs
    dim = next((dim for dim in (3, 2, 1) if f"{ELEMENTS[dim]}_node_connectivity" in attrs), None)
    if dim is None:
        raise DataError(
            f"expected '{topology}' to name a face_node_connectivity (UGRID), has "
            f"{', '.join(map(str, attrs))}"
        )
    element = ELEMENTS[dim]
    table = _variable(dataset, attrs[f"{element}_node_connectivity"], topology)
    coordinates = str(attrs.get("node_coordinates", "")).split()
    columns = [_variable(dataset, name, topology) for name in coordinates]
    if not columns or any(len(column.dims) != 1 for column in columns):
        raise DataError(
            f"expected '{topology}' to name the node_coordinates, each along the nodes, got "
            f"{', '.join(coordinates) or 'none'}"
        )
    node_dim = str(columns[0].dims[0])
    cell_dim = str(attrs.get(f"{element}_dimension", table.dims[0]))
    kinds, offsets, corners = _cells(dataset, table, cell_dim, dim, attrs)
    on_cells = _on_cells(dataset, channels, node_dim, cell_dim)
    nodes = {
        name: np.asarray(each.values, float)
        for name, each in zip(coordinates, columns, strict=True)
    }
    mesh = _describing(dataset, topology, [*coordinates, *_centre_names(attrs, element)])
    elsewhere = [
        str(name)
        for name, variable in dataset.variables.items()
        if name not in mesh and (node_dim if on_cells else cell_dim) in variable.dims
    ]
    gone = [*(set(mesh) - (set() if on_cells else set(coordinates))), *elsewhere]
    left_out = _left_out(
        dataset, [name for name in elsewhere if name in dataset.data_vars], on_cells
    )
    kept = dataset.drop_vars(gone)
    if not on_cells:
        cells = (kinds, offsets, corners, False, topology, mesh, left_out)
        return _located(kept, coordinates), ToldCells(nodes, *cells)
    places = _centres(dataset, nodes, (kinds, offsets, corners), attrs, element, cell_dim)
    kept = kept.drop_vars([name for name in places if name in kept]).assign_coords(places)
    by_point = dict(zip(places, nodes.values(), strict=True))
    cells = (kinds, offsets, corners, True, topology, mesh, left_out)
    return _located(kept, list(places)), ToldCells(by_point, *cells)


def _centre_names(attrs: dict, element: str) -> list[str]:
    return str(attrs.get(f"{element}_coordinates", "")).split()


def _describing(dataset: xr.Dataset, topology: str, places: list[str]) -> dict[str, xr.Variable]:
    """The variables that describe a mesh: its topology, tables, kinds of cells and places."""
    attrs = dataset[topology].attrs
    tables = [str(name) for key, name in attrs.items() if str(key).endswith("_connectivity")]
    return {
        str(name): variable
        for name, variable in dataset.variables.items()
        if name in (topology, *tables, *places)
        or str(variable.attrs.get("cf_role", "")).endswith("_connectivity")
        or "vtk" in variable.attrs
    }


def _left_out(dataset: xr.Dataset, elsewhere: list[str], on_cells: bool) -> tuple[LeftOut, ...]:
    here, there = ("cells", "nodes") if on_cells else ("nodes", "cells")
    why = f"values of {there}, beside those of {here}; --channels takes these instead"
    no_fields = np.atleast_1d(dataset.attrs.get(LEFT_OUT, [])).tolist()
    return (
        *(LeftOut(name, why) for name in elsewhere),
        *(LeftOut(str(name), "whole numbers or bookkeeping, no field") for name in no_fields),
    )


def _located(dataset: xr.Dataset, names: list[str]) -> xr.Dataset:
    """Which variables say where points are is no question here."""
    recorded = np.atleast_1d(dataset.attrs.get("coordinate_names", [])).tolist()
    order = recorded if sorted(recorded) == sorted(names) else names
    return dataset.set_coords(names).assign_attrs(coordinate_names=order)


def _variable(dataset: xr.Dataset, name: object, topology: str) -> xr.Variable:
    if name not in dataset.variables:
        raise DataError(f"'{topology}' names a variable '{name}', which is not there")
    return dataset.variables[str(name)]


def _cells(
    dataset: xr.Dataset, table: xr.Variable, cell_dim: str, dim: int, attrs: dict
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Kinds, offsets and corners from a padded table of nodes."""
    if table.ndim != 2 or cell_dim not in table.dims:
        raise DataError(
            f"expected a table of nodes over '{cell_dim}' and another dimension, got one over "
            f"{', '.join(map(str, table.dims))}"
        )
    values = table.transpose(cell_dim, ...).values
    first = int(table.attrs.get("start_index", 0))
    fill = table.attrs.get("_FillValue", table.encoding.get("_FillValue", FILL))
    there = ~np.isnan(values) if values.dtype.kind == "f" else values != fill
    numbers = np.where(there, values, first).astype(np.int64) - first
    there &= numbers >= 0
    counts = there.sum(axis=1)
    if (there != (np.arange(values.shape[1]) < counts[:, None])).any():
        raise DataError("expected the nodes of a cell first and padding after them")
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    shapes = attrs.get(f"{ELEMENTS[dim]}_shape_type")
    if shapes in dataset.variables and set(dataset[shapes].attrs) >= {"vtk"}:
        kinds = dataset[shapes].values.astype(np.uint8)
    elif dim == 3:
        kinds = np.array([_SOLIDS.get(count, 0) for count in range(values.shape[1] + 1)])[counts]
    else:
        kinds = np.array([polygon_kind(count) for count in range(values.shape[1] + 1)])[counts]
        kinds = kinds if dim == 2 else np.full(len(counts), 3)
    return kinds.astype(np.uint8), offsets, numbers[there]


def _on_cells(
    dataset: xr.Dataset, channels: abc.Sequence[str] | None, node_dim: str, cell_dim: str
) -> bool:
    """Whether values are those of the cells."""
    names = [c for c in channels or () if c in dataset] or list(map(str, dataset.data_vars))
    at_nodes = [name for name in names if node_dim in dataset[name].dims]
    return not at_nodes and any(cell_dim in dataset[name].dims for name in names)


def _centres(
    dataset: xr.Dataset,
    nodes: dict[str, NDArray[np.float64]],
    cells: tuple[NDArray, NDArray, NDArray],
    attrs: dict,
    element: str,
    cell_dim: str,
) -> dict[str, xr.Variable]:
    """Where the cells are: as the file says, else their centroids under the nodes' names."""
    told = _centre_names(attrs, element)
    if len(told) == len(nodes) and all(name in dataset.variables for name in told):
        # Where nodes are called x, cells may be called so too once there are no nodes.
        names = [
            node if name == f"cell_{node}" else name for name, node in zip(told, nodes, strict=True)
        ]
        return {name: dataset.variables[own] for name, own in zip(names, told, strict=True)}
    angles = [role_of(name, dataset[name]).role for name in nodes]
    on_sphere = sorted(map(str, angles)) == ["latitude", "longitude"]
    order = (
        [angles.index("latitude"), angles.index("longitude")] if on_sphere else range(len(nodes))
    )
    names = [list(nodes)[column] for column in order]
    places = np.stack([nodes[name] for name in names], axis=1)
    found = cell_centres(
        Tessellation.checked(places, *cells, on_cells=True), "sphere" if on_sphere else "box"
    )
    by_name = {
        name: xr.Variable((cell_dim,), column, dataset[name].attrs)
        for name, column in zip(names, found.T, strict=True)
    }
    return {name: by_name[name] for name in nodes}


def mesh_variables(mesh: Mesh, space: Space) -> dict[str, xr.Variable]:
    """The cells of a mesh as coordinates of a dataset of its points.

    Raises:
        DataError: a coordinate has a name that these need themselves.
    """
    cells = mesh.tessellation
    assert cells is not None
    element = ELEMENTS[cells.dim]
    point_dim, cell_dim = mesh.dims[0], mesh.dims[0] if cells.on_cells else f"mesh_{element}"
    names = [f"node_{name}" for name in space.names] if cells.on_cells else list(space.names)
    attrs: dict[str, object] = {
        "cf_role": "mesh_topology",
        "topology_dimension": cells.dim,
        "node_coordinates": " ".join(names),
        f"{element}_node_connectivity": f"mesh_{element}_nodes",
        f"{element}_dimension": cell_dim,
        f"{element}_shape_type": f"mesh_{element}_shape",
    }
    if cells.on_cells:
        attrs[f"{element}_coordinates"] = " ".join(space.names)
    kinds = np.unique(cells.kinds)
    shape = {
        "vtk": "numbers of VTK",
        "flag_values": kinds.astype(np.int8),
        "flag_meanings": " ".join(KINDS[kind].name.replace(" ", "_") for kind in kinds.tolist()),
    }
    table = {"cf_role": f"{element}_node_connectivity", "start_index": 0, "_FillValue": FILL}
    variables = {
        TOPOLOGY: xr.Variable((), np.int32(0), attrs),
        f"mesh_{element}_nodes": xr.Variable(
            (cell_dim, f"mesh_{element}_corner"), _padded(cells), table
        ),
        f"mesh_{element}_shape": xr.Variable((cell_dim,), cells.kinds.astype(np.int8), shape),
    }
    if cells.on_cells:
        for name, units, column in zip(names, space.units, cells.nodes.T, strict=True):
            told = {"units": units} if units else {}
            variables[name] = xr.Variable((NODE_DIM,), column, told)
    if taken := set(variables) & {*space.names, point_dim}:
        raise DataError(
            f"the coordinates {', '.join(taken)} have names that cells need; rename them"
        )
    return variables


def _padded(cells: Tessellation) -> NDArray[np.int64]:
    """(cells, most nodes) of every cell, and `FILL`."""
    counts = np.diff(cells.offsets)
    table = np.full((cells.num_cells, int(counts.max())), FILL, np.int64)
    table[np.arange(table.shape[1]) < counts[:, None]] = cells.corners
    return table
