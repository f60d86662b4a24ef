"""What a trained model is, in a few words."""

from __future__ import annotations

from typing import Any

import numpy as np

from smore.data import told_steps
from smore.stability import HEADLINES
from smore.surrogate.networks import count_parameters
from smore.surrogate.surrogate import Surrogate

# Below this share of the error of a simple forecast a model is worth having.
WORTHWHILE = 0.9


def summary_rows(surrogate: Surrogate) -> list[tuple[str, Any]]:
    """What it forecasts, what it learned from, of what size it is, and what is known of it."""
    description = surrogate.description
    record, settings = description.training, description.settings
    channels = [f"{c.name} ({c.units})" if c.units else c.name for c in description.channels]
    step = np.array([description.time_step])
    where = "several meshes" if surrogate.mesh is None else f"{record.num_points:,} points"
    rows: list[tuple[str, Any]] = [
        ("forecasts", ", ".join(channels)),
        ("over", f"{', '.join(description.space.names)} ({description.space.geometry})"),
        (
            "learned from",
            f"{record.num_snapshots:,} snapshots of {record.num_sequences:,} sequences, {where}",
        ),
        ("time step", told_steps(description.clock, description.pace, step)),
        ("decoder", settings.decoder),
        ("dynamics", f"{settings.dynamics}, {settings.latent_dim} latents a code"),
        ("parameters", count_parameters(surrogate.decoder, surrogate.dynamics)),
        ("stability", HEADLINES[surrogate.certificate.claims.verdict].lower()),
    ]
    known = left_out_in_words(record.findings)
    return rows if known is None else [*rows, ("accuracy", known)]


def left_out_in_words(findings: dict[str, float]) -> str | None:
    """What the fit knows about the errors of forecasts; None if nothing."""
    share = findings.get("left_out_share")
    if share is None:
        return None
    simple = "climatology" if findings["left_out_simple"] == 0 else "persistence"
    if share < WORTHWHILE:
        return f"forecasts inside the training data had {share:.2g} times the error of {simple}"
    return f"forecasts inside the training data were hardly better than {simple}"
