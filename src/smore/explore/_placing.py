"""Where more sensors would tell most, beside those that are there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from smore.analysis import SensorPlan, plan_sensors
from smore.data import Mesh
from smore.inference import LatentPrior

if TYPE_CHECKING:
    from smore.explore._explorer import Explorer

# Points among which places are chosen; more of them take long, and say little else.
MOST_CANDIDATES = 2048


def more_sensors(explorer: Explorer, count: int) -> SensorPlan:
    """A plan of `count` sensors for the state as it is known now.

    What sensors have said already is the prior of those to come.

    Raises:
        SettingsError: fewer candidates than sensors.
    """
    known = explorer.knowledge.state
    prior = LatentPrior(known.mean[0], known.rooted(known.prior.factor))
    surrogate = replace(explorer.surrogate, priors=(prior,))
    candidates = _candidates(explorer)
    names = [explorer.description.channels[channel].name for channel in explorer.measured]
    return plan_sensors(
        surrogate,
        count,
        candidates=candidates,
        channels=names,
        noise=[explorer.noise.get(channel, 0.0) for channel in explorer.measured],
    )


def _candidates(explorer: Explorer) -> Mesh:
    """Points at which a sensor could stand: of the data, else of the picture; none is taken yet."""
    if explorer.from_data and explorer.truth is not None:
        snapshot = explorer.truth.snapshot(explorer.sequence, explorer.origin)
        seen = np.isfinite(snapshot.values[:, explorer.measured]).all(axis=1)
        coords = snapshot.places[seen]
    else:
        seen = explorer.view.places.known[explorer.measured].all(axis=0)
        coords = explorer.view.canvas.mesh.coords[seen]
    if len(explorer.sensors):
        taken = (coords[:, None] == explorer.sensors.places[None]).all(axis=2).any(axis=1)
        coords = coords[~taken]
    if len(coords) > MOST_CANDIDATES:
        chosen = np.random.default_rng(0).permutation(len(coords))[:MOST_CANDIDATES]
        coords = coords[np.sort(chosen)]
    return Mesh.scattered(coords, np.ones(len(coords)))
