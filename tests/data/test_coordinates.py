"""Boxes map to [0, 0.5]^d, spheres to unit vectors, and points outside are noticed."""

import warnings

import numpy as np
import pytest
from pydantic import TypeAdapter

from smore.data import BoxMap, CoordinateMap, SphereMap, Trajectories, fit_coordinate_map
from smore.errors import DataError, OutsideDomainWarning


def on(*meshes: np.ndarray, geometry: str = "box") -> Trajectories:
    fields = [np.zeros((1, 1, len(coords))) for coords in meshes]
    return Trajectories.from_arrays(fields, list(meshes), [0.0], geometry=geometry)


def globe(step: float, shift: float = 0.0) -> np.ndarray:
    latitude = np.arange(-90 + step / 2, 90, step)
    longitude = np.arange(0, 360, step) + shift
    return np.stack([axis.ravel() for axis in np.meshgrid(latitude, longitude)], axis=1)


def test_box_of_all_meshes() -> None:
    data = on(np.array([[0.0, -5.0], [1.0, 0.0]]), np.array([[4.0, 1.0], [2.0, 5.0]]))
    coordinate_map = fit_coordinate_map(data)
    assert coordinate_map == BoxMap(lower=(0.0, -5.0), upper=(4.0, 5.0))
    assert coordinate_map.decoder_dim == 2
    corners = coordinate_map(np.array([[0.0, -5.0], [4.0, 5.0], [2.0, 0.0]]))
    np.testing.assert_array_equal(corners, [[0, 0], [0.5, 0.5], [0.25, 0.25]])


def test_sphere_of_unit_vectors() -> None:
    data = on(globe(30.0), geometry="sphere")
    coordinate_map = fit_coordinate_map(data)
    assert coordinate_map.decoder_dim == 3
    vectors = coordinate_map(np.array([[0.0, 0.0], [0.0, 90.0], [90.0, 17.0], [-90.0, 200.0]]))
    expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1]]
    np.testing.assert_allclose(vectors, expected, atol=1e-15)
    around = coordinate_map(np.array([[10.0, -170.0], [10.0, 190.0]]))
    np.testing.assert_allclose(around[0], around[1], atol=1e-15)


def test_distance_outside_a_box() -> None:
    coordinate_map = BoxMap(lower=(0.0, 0.0), upper=(2.0, 10.0))
    inside = np.array([[0.0, 10.0], [2.0 + 1e-8, -1e-8]])
    np.testing.assert_array_equal(coordinate_map.outside(inside), [0, 0])
    np.testing.assert_allclose(
        coordinate_map.outside(np.array([[2.5, 5.0], [-1.0, 5.0]])), [0.5, 0]
    )


def test_a_global_domain_has_no_outside() -> None:
    coordinate_map = fit_coordinate_map(on(globe(5.0), geometry="sphere"))
    np.testing.assert_array_equal(coordinate_map.outside(globe(1.0, shift=-180.0)), [0, 0])


@pytest.mark.parametrize("convention", [0.0, 360.0])
def test_a_region_across_the_date_line(convention: float) -> None:
    longitude = np.array([170.0, 180.0, 190.0, 200.0]) - convention * np.array([0, 0, 1, 1])
    coords = np.stack([np.array([-10.0, 0.0, 5.0, 10.0]), longitude], axis=1)
    coordinate_map = fit_coordinate_map(on(coords, geometry="sphere"))
    np.testing.assert_array_equal(coordinate_map.outside(np.array([[0.0, -165.0]])), [0, 0])
    np.testing.assert_allclose(coordinate_map.outside(np.array([[12.0, 160.0]])), [0.1, 1 / 3])
    np.testing.assert_allclose(coordinate_map.outside(np.array([[0.0, -145.0]])), [0, 0.5])


def test_the_warning_says_how_far_and_along_what() -> None:
    data = on(np.array([[0.0, 0.0], [1.0, 2.0]]))
    coordinate_map = fit_coordinate_map(data)
    with pytest.warns(OutsideDomainWarning, match=r"by up to 25.0% of its extent along 'y'; "):
        coordinate_map.warn_outside(np.array([[0.5, 2.5]]), data.space)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coordinate_map.warn_outside(np.array([[0.5, 1.5]]), data.space)


@pytest.mark.parametrize("geometry", ["box", "sphere"])
def test_a_constant_coordinate_is_refused(geometry: str) -> None:
    data = on(np.array([[3.0, 0.0], [3.0, 2.0]]), geometry=geometry)
    with pytest.raises(DataError, match=f"'{data.space.names[0]}' is 3 at every point.*drop it"):
        fit_coordinate_map(data)


@pytest.mark.parametrize("value", [BoxMap(lower=(0.1,), upper=(0.3,)), SphereMap(north=12.5)])
def test_json_knows_which_map_it_was(value: BoxMap | SphereMap) -> None:
    adapter: TypeAdapter = TypeAdapter(CoordinateMap)
    assert adapter.validate_json(adapter.dump_json(value)) == value
