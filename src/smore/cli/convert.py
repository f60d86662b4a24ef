"""`smore data convert`: from mesh files to datasets with cells, and to other mesh files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from smore.cli.output import Json, console, print_json
from smore.data import convert_mesh, require_data_format


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="VTU, VTP, PVD, VTK, XDMF, Gmsh or UGRID NetCDF file, or an OpenFOAM case.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="File ending in .nc, .zarr, .pvd, .vtu or .xdmf."),
    ],
    as_json: Json = False,
) -> None:
    """Write the fields of a mesh file to another one, with the cells."""
    require_data_format(target)
    dataset = convert_mesh(source, target)
    names = [str(name) for name in dataset.data_vars]
    left_out = [str(name) for name in dataset.attrs.get("left_out", [])]
    if as_json:
        print_json({"output": str(target), "channels": names, "left_out": left_out})
        return
    console.print(f"[bold]{target}[/]: {', '.join(names)}", soft_wrap=True)
    if left_out:
        told = f"left out, since they are no fields: {', '.join(left_out)}"
        console.print(told, soft_wrap=True, markup=False)
