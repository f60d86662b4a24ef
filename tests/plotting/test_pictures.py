"""Every kind of figure beside a stored one, which somebody has looked at."""

from __future__ import annotations

import io

import matplotlib.image
import numpy as np
import pytest
from pictured import PLANE, STORED, cases, picture

from pictured_shapes import l_shape
from smore.data.quadrature import tessellated_mesh

CASES = cases()
GREY = np.array([0.8, 0.8, 0.8])
# Root mean square of what differs, of 1: edges are smoothed otherwise by other versions.
CLOSE = 0.04


def pixels(figure) -> np.ndarray:
    file = io.BytesIO()
    figure.savefig(file, format="png")
    file.seek(0)
    return matplotlib.image.imread(file)[..., :3]


@pytest.mark.parametrize("blank", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_as_stored(name, blank):
    found = pixels(picture(*CASES[name], blank))
    stored = matplotlib.image.imread(STORED / f"{name}{'-blank' if blank else ''}.png")[..., :3]
    assert found.shape == stored.shape
    assert np.sqrt(np.mean((found - stored) ** 2)) < CLOSE


@pytest.mark.parametrize("on_cells", [False, True])
def test_holes_and_what_is_outside_are_grey(on_cells):
    """The share of the panel that is drawn is that of the cells."""
    mesh = tessellated_mesh(l_shape(on_cells), "box")
    found = pixels(picture(mesh, PLANE, False))
    drawn = (np.abs(found - GREY) > 0.02).any(axis=2).mean()
    width = np.ptp(mesh.tessellation.nodes, axis=0)
    assert drawn == pytest.approx(mesh.weights.sum() / width.max() ** 2, abs=0.06)
    # The middle of the missing quarter, and of the hole.
    size = len(found)
    for x, y in ((0.75, 0.75), (0.25, 0.25)):
        pixel = found[round((1 - y) * size), round(x * size)]
        assert np.allclose(pixel, GREY, atol=0.02)
