"""Mesh files, written whole or not at all: VTU with a PVD of their times, XDMF with HDF5."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import h5py
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from smore.data.cells import POLYGON
from smore.data.reading.mesh_files._plans import Array, Plan
from smore.data.reading.mesh_files._vtk_arrays import ABOUT, TYPES
from smore.data.reading.mesh_files._xdmf import NUM_NODES, TOPOLOGIES
from smore.errors import DataError, unwritable
from smore.runtime import require_room

_NAMES = {dtype: name for name, dtype in TYPES.items()}
_COUNT = np.dtype("<u8")


def save_mesh(dataset: xr.Dataset, path: str | PathLike[str]) -> None:
    """Write fields on a mesh with cells: .pvd (a .vtu for every time), .vtu (one time) or .xdmf.

    Lazy fields are made a block of points at a time.

    Raises:
        DataError: no cells, several sequences, or a file that cannot be written.
    """
    path = Path(path)
    plan = Plan.of(dataset)
    unfinished = path.with_name(f".{uuid.uuid4().hex}")
    needed = sum(a.dtype.itemsize * a.components for a in plan.arrays)
    needed = len(plan.times) * (needed * plan.cells.num_points + _mesh_bytes(plan))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        require_room(path.parent, needed, str(path), "make room or choose another place")
        unfinished.mkdir()
        _WRITERS[path.suffix.casefold()](plan, path, unfinished)
    except OSError as error:
        raise DataError(unwritable(path, error)) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _mesh_bytes(plan: Plan) -> int:
    cells = plan.cells
    return cells.nodes.nbytes + cells.corners.nbytes + cells.offsets.nbytes + 2**14


def _write_pvd(plan: Plan, path: Path, unfinished: Path) -> None:
    folder = path.with_suffix("")
    if folder.exists() and not all(each.suffix == ".vtu" for each in folder.iterdir()):
        raise DataError(f"the folder {folder} would be replaced, and holds other files; move them")
    names = [f"{path.stem}_{number:05d}.vtu" for number in range(len(plan.times))]
    _write_frames(plan, [unfinished / name for name in names])
    lines = [
        f'<DataSet timestep="{time!r}" part="0" file={quoteattr(f"{folder.name}/{name}")}/>'
        for time, name in zip(plan.times.tolist(), names, strict=True)
    ]
    text = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="1.0">\n<Collection>\n'
    listing = path.with_name(f"{unfinished.name}.pvd")
    listing.write_text(text + "\n".join(lines) + "\n</Collection>\n</VTKFile>\n", "utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    unfinished.rename(folder)
    listing.replace(path)


def _write_vtu(plan: Plan, path: Path, unfinished: Path) -> None:
    if len(plan.times) != 1:
        raise DataError(f"a .vtu file holds one time, got {len(plan.times)}; write .pvd or .xdmf")
    _write_frames(plan, [unfinished / path.name])
    (unfinished / path.name).replace(path)


def _write_frames(plan: Plan, paths: list[Path]) -> None:
    """A file for every time; fields are put in their place a block of points at a time."""
    cells, fixed = plan.cells, _small(plan.cells.corners)
    mesh = {
        "Points": cells.nodes.astype("<f8"),
        "connectivity": fixed,
        "offsets": _small(cells.offsets[1:]),
        "types": cells.kinds,
    }
    sizes = [each.nbytes for each in mesh.values()]
    sizes += [a.dtype.itemsize * a.components * cells.num_points for a in plan.arrays]
    places = np.concatenate([[0], np.cumsum([size + _COUNT.itemsize for size in sizes])]).tolist()
    starts = []
    for time, path in zip(plan.times.tolist(), paths, strict=True):
        header = _header(plan, mesh, places, time).encode("utf-8")
        starts.append(len(header))
        with path.open("wb") as file:
            file.write(header)
            for values in mesh.values():
                file.write(np.array(values.nbytes, _COUNT).tobytes())
                file.write(np.ascontiguousarray(values).data)
            for size, place in zip(sizes[4:], places[4:], strict=False):
                file.seek(len(header) + place)
                file.write(np.array(size, _COUNT).tobytes())
            file.truncate(len(header) + places[-1])
            file.seek(0, 2)
            file.write(b"\n</AppendedData>\n</VTKFile>\n")
    for array, place in zip(plan.arrays, places[4:], strict=False):
        dtype = array.dtype.newbyteorder("<")
        width = dtype.itemsize * array.components
        for points in plan.blocks():
            block = array.read(points)
            for values, path, start in zip(block, paths, starts, strict=True):
                with path.open("r+b") as file:
                    file.seek(start + place + _COUNT.itemsize + width * points.start)
                    file.write(np.ascontiguousarray(values, dtype).data)


def _small(numbers: NDArray[np.int64]) -> NDArray:
    return numbers.astype("<i4" if numbers.max(initial=0) < 2**31 else "<i8")


def _header(plan: Plan, mesh: dict[str, NDArray], places: list[int], time: float) -> str:
    cells = plan.cells

    def array(name: str, dtype: np.dtype, components: int, place: int, units: str = "") -> str:
        told = (
            f'<DataArray type="{_NAMES[dtype.newbyteorder("=")]}" Name={quoteattr(name)} '
            f'NumberOfComponents="{components}" format="appended" offset="{place}"'
        )
        if not units:
            return told + "/>"
        key = '<InformationKey name="UNITS_LABEL" location="vtkDataArray">'
        return f"{told}>{key}{escape(units)}</InformationKey></DataArray>"

    fields = [
        array(each.name, each.dtype, each.components, place, each.units)
        for each, place in zip(plan.arrays, places[4:], strict=False)
    ]
    section, other = ("CellData", "PointData") if cells.on_cells else ("PointData", "CellData")
    codes = " ".join(map(str, json.dumps(plan.about).encode("utf-8")))
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" '
        'header_type="UInt64">',
        "<UnstructuredGrid>",
        "<FieldData>",
        f'<DataArray type="Float64" Name="TimeValue" NumberOfTuples="1" format="ascii">{time!r}'
        "</DataArray>",
        f'<DataArray type="String" Name="{ABOUT}" NumberOfTuples="1" format="ascii">{codes} 0'
        "</DataArray>",
        "</FieldData>",
        f'<Piece NumberOfPoints="{len(cells.nodes)}" NumberOfCells="{cells.num_cells}">',
        f"<{section}>",
        *fields,
        f"</{section}>",
        f"<{other}/>",
        f"<Points>{array('Points', mesh['Points'].dtype, 3, places[0])}</Points>",
        "<Cells>",
        *(
            array(name, mesh[name].dtype, 1, place)
            for name, place in zip(list(mesh)[1:], places[1:4], strict=True)
        ),
        "</Cells>",
        "</Piece>",
        "</UnstructuredGrid>",
        '<AppendedData encoding="raw">_',
    ]
    return "\n".join(lines)


def _write_xdmf(plan: Plan, path: Path, unfinished: Path) -> None:
    store = path.with_suffix(".h5")
    with h5py.File(unfinished / "values.h5", "w") as file:
        file["mesh/points"] = plan.cells.nodes
        topology = _topology(plan, file)
        for array in plan.arrays:
            shape: tuple[int, ...] = (plan.cells.num_points,)
            shape = shape if array.components == 1 else (*shape, array.components)
            safe = _inner_name(plan, array)
            targets = [
                file.create_dataset(f"time{number}/{safe}", shape, array.dtype)
                for number in range(len(plan.times))
            ]
            for points in plan.blocks():
                for target, values in zip(targets, array.read(points), strict=True):
                    target[points] = values
    text = _xdmf_text(plan, store.name, topology)
    (unfinished / "listing.xdmf").write_text(text, "utf-8")
    (unfinished / "values.h5").replace(store)
    (unfinished / "listing.xdmf").replace(path)


def _inner_name(plan: Plan, array: Array) -> str:
    """A name of a dataset that needs no care."""
    return f"array{plan.arrays.index(array)}"


def _topology(plan: Plan, file: h5py.File) -> str:
    """The cells in HDF5, and the element that names them."""
    cells = plan.cells
    numbers = {kind: number for number, kind in TOPOLOGIES.values()}
    names = {kind: name for name, (_, kind) in TOPOLOGIES.items()}
    kinds = np.unique(cells.kinds).tolist()
    if len(kinds) == 1 and kinds[0] not in (3, POLYGON):
        count = NUM_NODES[kinds[0]]
        file["mesh/cells"] = _small(cells.corners).reshape(-1, count)
        told = f'TopologyType="{names[kinds[0]].capitalize()}"'
    else:
        # The number of the type, of the nodes where it does not tell, and the nodes.
        counts = np.diff(cells.offsets)
        told_counts = np.isin(cells.kinds, (3, POLYGON))
        extra = 1 + told_counts.astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts + extra)])
        stream = np.empty(int(starts[-1]), np.int64)
        stream[starts[:-1]] = np.array([numbers.get(kind, 0) for kind in range(64)])[cells.kinds]
        stream[starts[:-1][told_counts] + 1] = counts[told_counts]
        places = np.repeat(starts[:-1] + extra - cells.offsets[:-1], counts)
        stream[places + np.arange(len(cells.corners))] = cells.corners
        file["mesh/cells"] = _small(stream)
        told = 'TopologyType="Mixed"'
    return f'<Topology {told} NumberOfElements="{cells.num_cells}">'


def _xdmf_text(plan: Plan, store: str, topology: str) -> str:
    with_cells = {"Float": "f", "Int": "i"}

    def item(dataset: str, dtype: np.dtype, shape: tuple[int, ...]) -> str:
        kind = next(name for name, letter in with_cells.items() if letter == dtype.kind)
        return (
            f'<DataItem Format="HDF" NumberType="{kind}" Precision="{dtype.itemsize}" '
            f'Dimensions="{" ".join(map(str, shape))}">{escape(store)}:/{dataset}</DataItem>'
        )

    cells = plan.cells
    stream = _small(cells.corners)
    single = "Mixed" not in topology
    length = (
        len(stream)
        if single
        else len(stream) + cells.num_cells + int(np.isin(cells.kinds, (3, POLYGON)).sum())
    )
    shape = (cells.num_cells, len(stream) // cells.num_cells) if single else (length,)
    mesh = [
        topology + item("mesh/cells", stream.dtype, shape) + "</Topology>",
        '<Geometry GeometryType="XYZ">'
        + item("mesh/points", np.dtype(float), cells.nodes.shape)
        + "</Geometry>",
    ]
    centre = "Cell" if cells.on_cells else "Node"
    lines = ['<?xml version="1.0"?>', '<Xdmf Version="3.0">', "<Domain>"]
    lines += [f'<Information Name="smore" Value={quoteattr(json.dumps(plan.about))}/>']
    lines += ['<Grid Name="series" GridType="Collection" CollectionType="Temporal">']
    for number, time in enumerate(plan.times.tolist()):
        lines += [
            f'<Grid Name="time{number}" GridType="Uniform">',
            f'<Time Value="{time!r}"/>',
            *mesh,
        ]
        for array in plan.arrays:
            kind = "Scalar" if array.components == 1 else "Vector"
            size: tuple[int, ...] = (cells.num_points,)
            size = size if array.components == 1 else (*size, array.components)
            told = item(f"time{number}/{_inner_name(plan, array)}", array.dtype, size)
            units = (
                f'<Information Name="units" Value={quoteattr(array.units)}/>' if array.units else ""
            )
            lines += [
                f'<Attribute Name={quoteattr(array.name)} AttributeType="{kind}" Center="{centre}">'
                f"{units}{told}</Attribute>"
            ]
        lines += ["</Grid>"]
    return "\n".join([*lines, "</Grid>", "</Domain>", "</Xdmf>", ""])


_WRITERS: dict[str, Callable[[Plan, Path, Path], None]] = {
    ".pvd": _write_pvd,
    ".vtu": _write_vtu,
    ".xdmf": _write_xdmf,
}
WRITTEN_MESH_SUFFIXES = tuple(_WRITERS)
