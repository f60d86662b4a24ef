"""Small pictures of fields, on meshes with holes, in space and on a sphere.

`python tests/plotting/pictured.py` draws the stored ones anew; look at them before they are kept.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from pictured_figures import FIGURES, STORED, small

import meshes
from pictured_shapes import l_shape, solid
from smore.data import Mesh, Space
from smore.data.quadrature import scattered_mesh, tessellated_mesh
from smore.plotting import draw_field

PLANE = Space(names=("x", "y"), units=("", ""))
SOLID = Space(names=("x", "y", "z"), units=("m", "m", "m"))
GLOBE = Space(names=("latitude", "longitude"), units=("", ""), geometry="sphere")


def scattered() -> Mesh:
    places = np.random.default_rng(0).uniform(-1, 1, size=(1500, 2))
    radius = np.linalg.norm(places, axis=1)
    return scattered_mesh(places[(radius > 0.4) & (radius < 1)], "box")


def cases() -> dict[str, tuple[Mesh, Space]]:
    return {
        "nodes": (tessellated_mesh(l_shape(False), "box"), PLANE),
        "cells": (tessellated_mesh(l_shape(True), "box"), PLANE),
        "polygons": (tessellated_mesh(meshes.polygon_mesh(6, True), "box"), PLANE),
        "scattered": (scattered(), PLANE),
        "slice-nodes": (tessellated_mesh(solid(False), "box"), SOLID),
        "slice-cells": (tessellated_mesh(solid(True), "box"), SOLID),
        "globe-nodes": (tessellated_mesh(meshes.sphere_mesh(8), "sphere"), GLOBE),
        "globe-cells": (tessellated_mesh(meshes.sphere_mesh(8, True), "sphere"), GLOBE),
    }


def picture(mesh: Mesh, space: Space, blank: bool) -> Figure:
    """A wave; `blank`: NaN in a corner."""
    scale = 0.03 if space.geometry == "sphere" else 5.0
    values = np.sin(scale * mesh.coords[:, 0]) * np.cos(scale * mesh.coords[:, 1])
    if blank:
        values[mesh.coords[:, 0] < np.quantile(mesh.coords[:, 0], 0.2)] = np.nan
    figure = Figure(figsize=(1.6, 1.6), dpi=60)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    draw_field(axes, mesh, values, space, limits=(-1.0, 1.0), colours="RdBu_r")
    for text in axes.texts:
        text.set_visible(False)  # letters differ from machine to machine
    return figure


if __name__ == "__main__":
    for name, (mesh, space) in cases().items():
        for blank in (False, True):
            picture(mesh, space, blank).savefig(STORED / f"{name}{'-blank' if blank else ''}.png")
    for name, draw in FIGURES.items():
        small(draw()).save(STORED / f"figure-{name}.png", optimize=True)
