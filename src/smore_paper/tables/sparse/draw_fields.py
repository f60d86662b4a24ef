"""A forecast from a tenth of the points beside the truth, with the points that were seen."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import get_args

import numpy as np
from matplotlib.figure import Figure

from smore.data import Trajectories
from smore.inference import FitMethod
from smore.plotting import directions, save_figure
from smore_paper import datasets
from smore_paper.tables.compared import RECIPES
from smore_paper.tables.kept_snapshot import SNAPSHOT
from smore_paper.tables.rollout.draw import SHOWN, channel_values, draw_panel
from smore_paper.tables.sparse.measure import panel_sensors, sparse_fields_path, which
from smore_paper.tables.sparse.sweep import Index

WIDTH = 3.0  # inches, of a panel
LEAST_ERROR = 1e-30


def draw_sparse_fields(results: Path) -> list[Path]:
    """Draw the forecast of every benchmark that has one in `results`; the figures' files."""
    drawn = []
    for dataset, recipe, method in product(datasets.BENCHMARKS, RECIPES, get_args(FitMethod)):
        path = sparse_fields_path(results, dataset, recipe, method)
        if path.exists():
            fields = Trajectories.open(path, missing="mask")
            name = SHOWN.get(dataset, fields.channels[0].name)
            heading = which(dataset, recipe, method).replace("_", ", ")
            figure = sparse_fields_figure(fields, panel_sensors(fields), name, heading)
            drawn.append(path.with_suffix(".png"))
            save_figure(figure, drawn[-1])
    return drawn


def sparse_fields_figure(
    fields: Trajectories, sensors: Index, channel: str, heading: str
) -> Figure:
    """The truth, the forecast from the points `sensors`, and its error with these points.

    Args:
        fields: what `fields_beside_truth` made.
        sensors: points of the first snapshot that were seen.
        channel: which to show.
        heading: what the fields are of.
    """
    mesh = fields.sequences[0].mesh
    truth, forecast = (channel_values(fields, f"{channel}{end}") for end in ("", "_forecast"))
    across, up = directions(fields.space, mesh)
    extent = np.ptp(mesh.coords, axis=0)
    height = WIDTH * float(extent[up] / extent[across])
    figure = Figure(figsize=(3 * WIDTH + 1.6, height + 0.9), layout="constrained")
    figure.suptitle(f"{heading}, {channel}: snapshot {SNAPSHOT}", fontsize=11)
    panels = figure.subplots(1, 3)
    # Colours span the truth: a forecast that went astray must not hide it.
    low, high = float(truth.min()), float(truth.max())
    seen = f"forecast from {len(sensors):,} of {mesh.num_points:,} points"
    draw_panel(panels[0], "truth", fields, truth, (low, high), "RdBu_r")
    scale = draw_panel(panels[1], seen, fields, forecast, (low, high), "RdBu_r")
    figure.colorbar(scale, ax=panels[:2].tolist(), shrink=0.85, pad=0.01)
    error = np.abs(forecast - truth)
    largest = float(np.nanmax(error)) if np.isfinite(error).any() else high - low
    limits = (0.0, max(min(largest, high - low), LEAST_ERROR))
    scale = draw_panel(panels[2], "|error|, and the points seen", fields, error, limits, "magma")
    places = mesh.coords[sensors]
    panels[2].plot(places[:, across], places[:, up], ".", color="white", ms=1.2, alpha=0.7)
    figure.colorbar(scale, ax=panels[2:].tolist(), shrink=0.85, pad=0.01)
    return figure
