"""The interpolation that suits a mesh: splines on grids, cubics between scattered points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import QhullError

from smore.data import BoxMap, Mesh, SphereMap
from smore.decoder.interpolation._lengths import axis_lengths
from smore.decoder.interpolation.curved_simplices import CurvedSimplices
from smore.decoder.interpolation.interpolation import FloatArray, Interpolation
from smore.decoder.interpolation.tensor_splines import TensorSplines

# The weight of a node in a cubic spline falls by a factor of 0.27 per node: beyond so many nodes on
# the other side of the date line or of a pole nothing is felt.
BEYOND = 12
# A gap between the first and the last meridian of up to so many steps closes the circle, and rows
# end at a pole that is no further.
CLOSING = 1.5


def interpolation_of(mesh: Mesh, coordinate_map: BoxMap | SphereMap) -> Interpolation | None:
    """None where the points are such that nothing can be said between them."""
    distinct = mesh.surely_distinct and all(len(axis) > 1 for axis in mesh.axes)
    if distinct and isinstance(coordinate_map, BoxMap):
        return _box_grid(mesh, coordinate_map)
    if distinct:
        return _globe(mesh)
    nodes = coordinate_map(mesh.coords)
    try:
        if isinstance(coordinate_map, SphereMap):
            return CurvedSimplices(nodes, on_sphere=True)
        extent = np.subtract(coordinate_map.upper, coordinate_map.lower)
        return CurvedSimplices(nodes, on_sphere=False, lengths=axis_lengths(nodes, extent))
    except (QhullError, ValueError):
        return None


def _box_grid(mesh: Mesh, box: BoxMap) -> TensorSplines:
    columns = [mesh.coordinate_dims.index((dim,)) for dim in mesh.dims]
    lower, upper = (np.array(end)[columns] for end in (box.lower, box.upper))
    orders = [np.argsort(mesh.axes[column]) for column in columns]
    axes = tuple(
        0.5 * (mesh.axes[column][order] - low) / (high - low)
        for column, order, low, high in zip(columns, orders, lower, upper, strict=True)
    )
    points = np.arange(mesh.num_points).reshape(mesh.shape)
    return TensorSplines(axes, points[np.ix_(*orders)], lambda coords: coords[:, columns])


def _globe(mesh: Mesh) -> TensorSplines:
    """A grid of latitudes and longitudes, which goes on beyond the date line and the poles."""
    latitude, longitude = mesh.axes
    points = np.arange(mesh.num_points).reshape(mesh.shape)
    if mesh.coordinate_dims[0] != (mesh.dims[0],):
        points = points.T
    rows, columns = np.argsort(latitude), np.argsort(longitude)
    latitude, longitude = latitude[rows], longitude[columns]
    points = points[np.ix_(rows, columns)]
    west = float(longitude[0])
    closed = 360.0 - (longitude[-1] - west) <= CLOSING * np.diff(longitude).max()
    if closed:
        latitude, points = _beyond_poles(latitude, points)
        count = min(BEYOND, len(longitude))
        longitude = np.concatenate(
            [longitude[-count:] - 360.0, longitude, longitude[:count] + 360.0]
        )
        points = np.concatenate([points[:, -count:], points, points[:, :count]], axis=1)
    middle = west + 180.0 if closed else (west + float(longitude[-1])) / 2

    def locate(coords: FloatArray) -> FloatArray:
        x, y, z = coords.T
        east = np.rad2deg(np.arctan2(y, x))
        turned = middle + (east - middle + 180.0) % 360.0 - 180.0
        return np.column_stack([np.rad2deg(np.arctan2(z, np.hypot(x, y))), turned])

    return TensorSplines((latitude, longitude), points, locate)


def _beyond_poles(
    latitude: FloatArray, points: NDArray[np.intp]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Rows on the other side of a pole: those of before, seen from half-way around."""
    half, odd = divmod(points.shape[1], 2)
    if odd:
        return latitude, points
    across = np.roll(points, half, axis=1)
    spacing = CLOSING * np.diff(latitude).max()
    if latitude[0] + 90.0 <= spacing:
        own = np.flatnonzero(latitude > -90.0)[:BEYOND]
        latitude = np.concatenate([-180.0 - latitude[own][::-1], latitude])
        points = np.concatenate([across[own][::-1], points])
        across = np.concatenate([across[own][::-1], across])
    if 90.0 - latitude[-1] <= spacing:
        own = np.flatnonzero(latitude < 90.0)[-BEYOND:]
        latitude = np.concatenate([latitude, 180.0 - latitude[own][::-1]])
        points = np.concatenate([points, across[own][::-1]])
    return latitude, points
