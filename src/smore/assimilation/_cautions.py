"""What a practitioner should know before trusting an analysis, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from smore.assimilation._watching import Watch
from smore.inference import cautions
from smore.surrogate import Surrogate

if TYPE_CHECKING:
    from smore.assimilation.analysis import Analysis

# States so many times as far out as any training state are not within its range.
BEYOND = 1.2
# Errors of the dynamics that have to be so many times larger are worth a word.
INFLATED = 4.0
# Sensors named in one sentence.
MOST_NAMED = 8


def stream_cautions(analysis: Analysis) -> list[str]:
    """One sentence or two about everything that is doubtful."""
    surrogate = analysis.surrogate
    names = [channel.name for channel in surrogate.description.channels]
    found = [
        *broken_sensors(analysis.watch, names),
        *beyond_training(
            surrogate, [analysis.filter.latent(s.belief).mean for s in analysis.steps]
        ),
        *_levels(analysis),
        *cautions(analysis.state, names),
    ]
    return found


def broken_sensors(watch: Watch | None, channels: list[str]) -> list[str]:
    """About sensors that were taken out, or are doubtful."""
    if watch is None:
        return []
    out = sorted(watch.broken | watch.out)
    if not out:
        return []
    told = [f"'{_shown(name)}' ({_fault(watch, name, channels)})" for name in out[:MOST_NAMED]]
    more = f" and {len(out) - MOST_NAMED} more" if len(out) > MOST_NAMED else ""
    back = len(set(out) - watch.now_out)
    returned = f"; {back} of them are right again and back in" if back else ""
    return [
        f"{len(out)} sensors contradict all others and were taken out: {', '.join(told)}{more}"
        f"{returned}; repair them, or check their units"
    ]


def _fault(watch: Watch, name: str, channels: list[str]) -> str:
    """Of the channel that is worst."""
    own = {key: record for key, record in watch.records.items() if key[0] == name}
    (_, channel), record = max(own.items(), key=lambda each: each[1].worst)
    return f"{channels[channel]}: {record.fault}"


def beyond_training(surrogate: Surrogate, means: list[np.ndarray]) -> list[str]:
    """About states that are further out than any training state."""
    centre = surrogate.prior.mean.numpy()
    distance = max(float(np.linalg.norm(mean - centre)) for mean in means)
    ratio = distance / max(surrogate.description.latent_radius, 1e-300)
    if ratio <= BEYOND:
        return []
    return [
        f"the analysis leaves the range of the training data: it is {ratio:.2g} times as far from "
        "their mean as any training state; check units, offsets and fill values, or train on such "
        "states too"
    ]


def _levels(analysis: Analysis) -> list[str]:
    if analysis.levels.inflation < INFLATED:
        return []
    return [
        "the dynamics do not follow this stream: their errors had to be taken "
        f"{analysis.levels.inflation**0.5:.2g} times as large as on trajectories that were left "
        "out of training; forecasts from here are less certain than usual"
    ]


def _shown(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name[:60])
