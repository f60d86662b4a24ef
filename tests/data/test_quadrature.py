"""Quadrature integrates what it must: constants, periodic functions, functions on the sphere."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from smore.data import Mesh, Trajectories
from smore.data.quadrature import cell_widths, latitude_cells, longitude_cells


def mesh_of(**axes: np.ndarray) -> Mesh:
    values = np.zeros((1, *(len(axis) for axis in axes.values())))
    dataset = xr.Dataset({"u": (("time", *axes), values)}, coords={"time": [0.0], **axes})
    return Trajectories.from_xarray(dataset).sequences[0].mesh


GLOBAL_GRIDS = {
    "equiangular, cell-centred": (np.arange(-89.0, 90.0, 2.0), np.arange(0.0, 360.0, 3.0)),
    "with poles, north to south": (np.linspace(90.0, -90.0, 91), np.arange(-180.0, 180.0, 3.0)),
    "Gaussian": (
        np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(64)[0])),
        np.arange(0.0, 360.0, 3.0),
    ),
    "every second Gaussian latitude": (
        np.rad2deg(np.arcsin(np.polynomial.legendre.leggauss(128)[0]))[::2],
        np.arange(0.0, 360.0, 3.0),
    ),
    "first meridian twice": (np.arange(-89.0, 90.0, 2.0), np.linspace(0.0, 360.0, 121)),
}


@pytest.mark.parametrize("name", GLOBAL_GRIDS)
def test_sphere(name: str) -> None:
    latitude, longitude = GLOBAL_GRIDS[name]
    mesh = mesh_of(latitude=latitude, longitude=longitude)
    phi, lam = np.deg2rad(mesh.coords).T
    assert mesh.weights.sum() == pytest.approx(4 * np.pi, rel=1e-12)
    assert mesh.weights @ np.sin(phi) ** 2 == pytest.approx(4 * np.pi / 3, rel=2e-3)
    assert mesh.weights @ (np.cos(phi) * np.cos(lam)) ** 2 == pytest.approx(4 * np.pi / 3, rel=2e-3)


def test_part_of_the_sphere_has_its_exact_area() -> None:
    mesh = mesh_of(lat=np.arange(30.5, 60.0), lon=np.arange(0.5, 90.0))
    area = (np.sin(np.deg2rad(60)) - np.sin(np.deg2rad(30))) * np.pi / 2
    assert mesh.weights.sum() == pytest.approx(area, rel=1e-12)


def test_the_date_line_is_not_special() -> None:
    across = longitude_cells(np.array([170.0, 175.0, 180.0, -175.0, -170.0]))
    np.testing.assert_allclose(across, np.deg2rad(5.0))


def test_spectral_accuracy_for_periodic_functions() -> None:
    axis = np.linspace(-1.0, 1.0, 32, endpoint=False)
    mesh = mesh_of(x=axis, y=axis)
    np.testing.assert_allclose(mesh.weights, (2 / 32) ** 2)
    x, y = mesh.coords.T
    integral = mesh.weights @ np.exp(np.sin(np.pi * x) + np.cos(np.pi * y))
    assert integral == pytest.approx(4 * np.i0(1.0) ** 2, rel=1e-12)


@given(
    st.lists(st.floats(-80, 80), min_size=2, max_size=20, unique_by=lambda x: round(x, 3)),
    st.randoms(use_true_random=False),
)
def test_cells_belong_to_their_points(values: list[float], random) -> None:
    """Positive, and the same for a point whatever the order of the axis."""
    order = list(range(len(values)))
    random.shuffle(order)
    axis = np.array(values)
    for cells in (cell_widths, latitude_cells, longitude_cells):
        widths = cells(axis)
        assert (widths > 0).all()
        np.testing.assert_allclose(cells(axis[order]), widths[order])


def test_stretched_grid_converges_to_the_integral() -> None:
    errors = []
    for size in (20, 40):
        edges = np.linspace(0, 1, size + 1) ** 2
        mesh = mesh_of(x=(edges[1:] + edges[:-1]) / 2)
        errors.append(abs(mesh.weights @ np.exp(mesh.coords[:, 0]) - (np.e - 1)))
    assert errors[1] < errors[0] / 1.9


def test_scattered_points_share_the_measure_of_their_box() -> None:
    coords = np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 3.0]])
    fields = np.zeros((1, 1, 1, 3))
    box = Trajectories.from_arrays(fields, coords, [0.0]).sequences[0].mesh
    np.testing.assert_allclose(box.weights, 2.0)
    sphere = Trajectories.from_arrays(fields, coords, [0.0], geometry="sphere").sequences[0].mesh
    np.testing.assert_allclose(sphere.weights, 4 * np.pi / 3)


@pytest.mark.parametrize("name", ["quadrature_weights", "cell_area", "area"])
def test_the_users_weights_are_taken(grid: xr.Dataset, name: str) -> None:
    area = np.arange(15.0).reshape(3, 5)
    mesh = Trajectories.from_xarray(grid.assign({name: (("y", "x"), area)})).sequences[0].mesh
    np.testing.assert_array_equal(mesh.weights, area.ravel())
