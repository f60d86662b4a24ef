"""Every kind of figure beside a stored one, which somebody has looked at."""

from __future__ import annotations

import io

import matplotlib.image
import numpy as np
import pytest
from pictured import PLANE, cases, picture
from pictured_figures import FIGURES, STORED, small
from PIL import Image

from pictured_shapes import l_shape
from smore.data.quadrature import tessellated_mesh

CASES = cases()
GREY = np.array([0.8, 0.8, 0.8])
# Root mean square of what differs, of 1: edges are smoothed otherwise by other versions.
CLOSE = 0.04
# The same of blocks of pixels of whole figures.
ALIKE = 0.02


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


def blocks(picture) -> np.ndarray:
    """Means over 4 x 4 pixels: other versions smooth edges and place letters a little otherwise."""
    colours = np.asarray(picture.convert("RGB"), dtype=float) / 255
    height, width = (size // 4 * 4 for size in colours.shape[:2])
    return colours[:height, :width].reshape(height // 4, 4, width // 4, 4, 3).mean(axis=(1, 3))


def difference(found, stored) -> float:
    assert found.size == stored.size
    return float(np.sqrt(np.mean((blocks(found) - blocks(stored)) ** 2)))


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_as_stored(name):
    with Image.open(STORED / f"figure-{name}.png") as stored:
        assert difference(small(FIGURES[name]()), stored) < ALIKE


def test_what_is_missing_is_found():
    """A figure without its colour bars, or with two panels exchanged, is another one."""
    figure = FIGURES["forecast"]()
    with Image.open(STORED / "figure-forecast.png") as stored:
        for axes in figure.axes:
            for bar in axes.child_axes:
                bar.set_visible(False)
        assert difference(small(figure), stored) > ALIKE
    with Image.open(STORED / "figure-certificate.png") as stored:
        figure = FIGURES["certificate"]()
        figure.axes[1].lines[-1].set_visible(False)
        figure.axes[0].set_ylabel("")
        assert difference(small(figure), stored) > ALIKE


def test_stored_pictures_are_small():
    assert all(path.stat().st_size < 30_000 for path in STORED.glob("*.png"))
