# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---
# %% [markdown]
# # VTU in, VTU out
#
# Unstructured meshes come from their own files and go back to such files, with their cells. Here is
# a series of VTU files of heat that spreads in an L-shaped plate, written as a solver would.

# %%
import meshio
import numpy as np
from scipy.spatial import Delaunay

side = np.linspace(0, 1, 19)
points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
points = points[~((points[:, 0] > 0.5) & (points[:, 1] > 0.5))]
cells = Delaunay(points).simplices
centres = points[cells].mean(1)
cells = cells[~((centres[:, 0] > 0.5) & (centres[:, 1] > 0.5))]

# The graph Laplacian of the mesh stands for diffusion.
laplacian = np.zeros((len(points), len(points)))
for a, b in ((0, 1), (1, 2), (2, 0)):
    laplacian[cells[:, a], cells[:, b]] = laplacian[cells[:, b], cells[:, a]] = 1
laplacian -= np.diag(laplacian.sum(1))
values, vectors = np.linalg.eigh(laplacian)
start = np.exp(-40 * np.square(points - [0.2, 0.8]).sum(1)) * 80

lines = ['<VTKFile type="Collection" version="0.1"><Collection>']
flat = np.column_stack([points, np.zeros(len(points))])
for n in range(40):
    heat = vectors @ (np.exp(0.15 * n * values) * (vectors.T @ start)) + 20
    meshio.Mesh(flat, [("triangle", cells)], point_data={"temperature": heat}).write(f"{n:02}.vtu")
    lines.append(f'<DataSet timestep="{0.15 * n:.2f}" file="{n:02}.vtu"/>')
with open("heat.pvd", "w") as file:
    file.write("\n".join([*lines, "</Collection></VTKFile>"]))

# %% language="bash" magic_args="-e"
# smore data info heat.pvd
# smore fit heat.pvd -o heat.smore --select time=0:4.4
# smore forecast heat.smore heat.pvd --select time=4.5:6 --steps 8 -o forecast.pvd
# ls forecast*

# %% [markdown]
# ParaView opens `forecast.pvd`. Inside each file are the cells as they came, the temperature and its
# standard deviation. smore reads them as it read the others:

# %% language="bash" magic_args="-e"
# smore data info forecast.pvd

# %%
from smore import SMORE

model = SMORE.load("heat.smore")
model.plot.evaluation("heat.pvd")
