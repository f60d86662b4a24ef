"""Files of engineers: VTK, XDMF, Gmsh and OpenFOAM, read as datasets and written from them."""

from smore.data.reading.mesh_files.frames import refusing
from smore.data.reading.mesh_files.opening import MESH_SUFFIXES, is_mesh_file, open_mesh
from smore.data.reading.mesh_files.writing import WRITTEN_MESH_SUFFIXES, save_mesh

__all__ = [
    "MESH_SUFFIXES",
    "WRITTEN_MESH_SUFFIXES",
    "is_mesh_file",
    "open_mesh",
    "refusing",
    "save_mesh",
]
