"""What points that were left out say about decoders."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from smore.data import Block, Mesh
from smore.decoder import FilterNetwork, Interpolation, interpolation_of
from smore.runtime import one_thread
from smore.settings import PAPERS_SCALE
from smore.training.decoder._closed_form import LARGER, RIDGE, FeatureSums, Solution
from smore.training.decoder._nodes import Nodes
from smore.training.decoder.compression import Compressed

# What is tried where points can tell.
SCALES = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
# Most points that are looked at, and the share of them that is left out.
MOST_POINTS = 4096
LEFT_OUT = 0.25
# A network that leaves so many times too much of some points will not do better at all of them.
HOPELESS = 2.0


def best_frequency_scale(
    fresh: Callable[[float], FilterNetwork],
    compressed: Compressed | None,
    *,
    most: float = math.inf,
) -> float | None:
    """The scale whose features, at points that are left out, say most about them.

    Args:
        fresh: a network of some scale.
        compressed: the data, if they are on one mesh.
        most: mean squared error that a network may leave of the points it is fitted to.

    Returns:
        None where networks of all scales leave far more than that.
    """
    if compressed is None:
        return PAPERS_SCALE
    training, judging = _split(compressed)
    most *= HOPELESS * training.num_points

    def error(decoder: FilterNetwork) -> float:
        sums = FeatureSums.of(decoder, training)
        solutions = _not_hopeless(sums, decoder.latent_dim, most)
        others = FeatureSums.of(decoder, judging) if solutions else sums
        return min(map(others.error, solutions), default=math.inf)

    networks = [fresh(scale) for scale in SCALES]
    if compressed.block.team.size > 1:  # which has to add up in one order everywhere
        errors = [error(network) for network in networks]
    else:
        with one_thread() as threads:
            one_each = partial(torch.set_num_threads, 1)  # a thread does not know of the others'
            with ThreadPoolExecutor(threads, initializer=one_each) as pool:
                errors = list(pool.map(error, networks))
    best = int(np.argmin(errors))
    return SCALES[best] if math.isfinite(errors[best]) else None


def _not_hopeless(sums: FeatureSums, latent_dim: int, most: float) -> list[Solution]:
    """Solutions with rising ridges that leave no more energy than that, rounding included."""
    found = []
    for ridge in (RIDGE, *LARGER):
        solution = sums.solve(latent_dim, ridge)
        if solution.left_out > most:  # as larger ridges do all the more
            break
        if sums.rounding(solution) <= most:
            found.append(solution)
    return found


def _split(compressed: Compressed) -> tuple[Block, Block]:
    """Some points to learn from, and some to judge by, in memory."""
    block = compressed.block
    generator = torch.Generator().manual_seed(0)
    rows = torch.randperm(block.num_points, generator=generator)[:MOST_POINTS]
    left_out = max(1, round(LEFT_OUT * len(rows)))
    return (
        replace(block.at(rows[left_out:]), team=block.team),
        replace(block.at(rows[:left_out]), team=block.team),
    )


def network_is_better(
    network: FilterNetwork, compressed: Compressed, nodes: Nodes, clearly: float = 1.0
) -> bool:
    """Whether a network errs less than an interpolation at points between every other one.

    Args:
        network: with its scale.
        compressed: the data.
        nodes: the points of the interpolation.
        clearly: by which factor, at least.
    """
    kept = _every_other(nodes.mesh)
    coarse = Mesh.scattered(nodes.mesh.coords[kept], nodes.mesh.weights[kept])
    if nodes.mesh.separable:
        axes = tuple(axis[::2] for axis in nodes.mesh.axes)
        shape = tuple(-(-size // 2) for size in nodes.mesh.shape)
        coarse = replace(nodes.mesh, axes=axes, shape=shape, cells=())
    interpolation = interpolation_of(coarse, nodes.coordinate_map)
    if interpolation is None or not nodes.seen.all() or not isinstance(compressed.block, Block):
        return False
    judged = _some_of(~kept, LEFT_OUT)
    sums, others = (
        FeatureSums.of(network, compressed.block.at(_rows(each, nodes)))
        for each in (_some_of(kept, 1 - LEFT_OUT), judged)
    )
    ridges = (RIDGE, *LARGER)
    learned = min(others.error(sums.solve(network.latent_dim, ridge)) for ridge in ridges)
    interpolated = _interpolated_error(nodes, network.latent_dim, kept, judged, interpolation)
    return clearly * learned <= interpolated


def _every_other(mesh: Mesh) -> NDArray[np.bool_]:
    """(points,) every other line of a grid along each axis, or half of scattered points."""
    if mesh.separable:
        kept = np.zeros(mesh.shape, dtype=bool)
        kept[tuple(slice(None, None, 2) for _ in mesh.shape)] = True
        return kept.ravel()
    return np.random.default_rng(0).uniform(size=mesh.num_points) < 0.5


def _some_of(points: NDArray[np.bool_], share: float) -> NDArray[np.bool_]:
    """An even choice among them, of at most a share of the most that are looked at."""
    chosen, most = points.nonzero()[0], round(share * MOST_POINTS)
    some = np.zeros_like(points)
    some[chosen[np.linspace(0, len(chosen) - 1, min(most, len(chosen))).round().astype(int)]] = True
    return some


def _interpolated_error(
    nodes: Nodes,
    latent_dim: int,
    kept: NDArray[np.bool_],
    judged: NDArray[np.bool_],
    interpolation: Interpolation,
) -> float:
    """‖F - J₀ Z‖² at the judged points, of modes known at the kept ones."""
    compressed = nodes.compressed
    places = nodes.coordinate_map(nodes.mesh.coords[judged])
    index, weight = interpolation.weights(places)
    points = compressed.total_points / len(nodes.seen)
    sizes = (compressed.energies[:latent_dim] / points).sqrt().numpy()
    total = float(compressed.block.at(_rows(judged, nodes)).values[:, latent_dim:-1].square().sum())
    for modes in nodes.values(latent_dim)[1].numpy():
        found = interpolation.coefficients(modes[kept])
        decoded = np.einsum("ns,nsp->np", weight, found[index])
        total += float((((decoded - modes[judged]) * sizes) ** 2).sum())
    return total


def _rows(points: NDArray[np.bool_], nodes: Nodes) -> Tensor:
    """Rows of the compressed data that belong to some points, if all are seen."""
    return torch.as_tensor(np.repeat(points, len(nodes.seen)).nonzero()[0])
