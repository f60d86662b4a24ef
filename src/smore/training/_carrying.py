"""Snapshots on several meshes, carried to the finest of them.

On one mesh everything about a fit has a closed form. Where meshes are few, cover the same domain
and resolve what is on them, little is lost by interpolating all snapshots to one, and far less than
a network of moderate size would miss.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from smore.data import Sequence, Trajectories, fit_coordinate_map
from smore.decoder import Interpolation, interpolation_of

Fields = NDArray[np.floating]

# More meshes than these are samples of space rather than meshes: each says little by itself.
MOST_MESHES = 16
# Share of the variance that may be lost on the way there and back.
MOST_LOST = 1e-3
# Snapshots of a mesh that are looked at for that.
NUM_JUDGED = 16
# A point is covered by another mesh if that has a point within so many spacings of either.
COVERED = 3.0
NEIGHBOURS = 6


def on_one_mesh(trajectories: Trajectories) -> Trajectories | None:
    """The same on the mesh with most points.

    Returns:
        None where they are on one mesh already, or where something would be lost: values are
        missing, meshes are many, cover different parts of space or do not resolve the fields.
    """
    if trajectories.is_lazy or not 1 < len(trajectories.meshes) <= MOST_MESHES:
        return None
    if any(sequence.observed is not None for sequence in trajectories):
        return None
    home = max(trajectories.meshes, key=lambda mesh: mesh.num_points)
    places = fit_coordinate_map(trajectories)
    there, carriers = places(home.coords), {}
    known = interpolation_of(home, places)
    for mesh in trajectories.meshes:
        if mesh is home:
            continue
        here, interpolation = places(mesh.coords), interpolation_of(mesh, places)
        if known is None or interpolation is None or not _covers(here, there):
            return None
        carry, bring = _Carrier(interpolation, there), _Carrier(known, here)
        own = [sequence.fields for sequence in trajectories if sequence.mesh is mesh]
        if _lost(own, carry, bring) > MOST_LOST:
            return None
        carriers[id(mesh)] = carry
    sequences = tuple(
        sequence
        if sequence.mesh is home
        else Sequence(sequence.times, carriers[id(sequence.mesh)](sequence.fields), home)
        for sequence in trajectories
    )
    return replace(trajectories, sequences=sequences)


class _Carrier:
    """Fields at the nodes of an interpolation, at some places."""

    def __init__(self, interpolation: Interpolation, places: NDArray[np.float64]) -> None:
        self.interpolation = interpolation
        index, weight = interpolation.weights(places)
        rows = np.repeat(np.arange(len(places)), index.shape[1])
        shape = (len(places), interpolation.num_coefficients)
        self.matrix = sparse.csr_array((weight.ravel(), (rows, index.ravel())), shape=shape)

    def __call__(self, fields: Fields) -> Fields:
        """(..., nodes) -> (..., places)."""
        columns = fields.reshape(-1, fields.shape[-1]).T.astype(np.float64)
        found = np.asarray(self.matrix @ self.interpolation.coefficients(columns)).T
        return found.reshape(*fields.shape[:-1], -1).astype(fields.dtype)


def _covers(nodes: NDArray[np.float64], places: NDArray[np.float64]) -> bool:
    """Whether a mesh has points near all places of another."""
    tree = cKDTree(nodes)
    distance, nearest = (np.asarray(each) for each in tree.query(places))
    spacing = np.maximum(_spacing(nodes)[nearest], _spacing(places))
    return bool((distance <= COVERED * spacing).all())


def _spacing(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far the neighbours of each point are."""
    count = min(NEIGHBOURS, len(points))
    return np.asarray(cKDTree(points).query(points, k=[count])[0])[:, 0]


def _lost(sequences: list[Fields], carry: _Carrier, bring: _Carrier) -> float:
    """Share of the variance of fields (times, channels, points) that does not come back."""
    lost = told = 0.0
    for fields in sequences:
        every = max(len(fields) * len(sequences) // NUM_JUDGED, 1)
        some = fields[::every].astype(np.float64)
        lost += float(np.square(bring(carry(some)) - some).sum())
        told += float(np.square(some - some.mean(axis=(0, 2), keepdims=True)).sum())
    return lost / max(told, np.finfo(float).tiny)
