"""What a page says in words. All of it is plain text: names come from files."""

from __future__ import annotations

import math

import numpy as np

from smore.analysis import UNSEEN, DynamicModes, told_share
from smore.explore._explorer import Explorer
from smore.explore._pictures import NUM_MODES
from smore.inference import cautions
from smore.stability import HEADLINES
from smore.surrogate import Surrogate

# Digits of numbers: of those that are compared with forecasts, and of sizes.
DIGITS, FEW_DIGITS = 5, 3


def about(surrogate: Surrogate) -> str:
    """What the model is."""
    description = surrogate.description
    training = description.training
    names = ", ".join(channel.name for channel in description.channels)
    return (
        f"{description.settings.dynamics} dynamics of {surrogate.dynamics.dim:,} latents; "
        f"forecasts {names}; learned from {training.num_snapshots:,} snapshots of "
        f"{training.num_sequences:,} sequences at {training.num_points:,} points"
    )


def known(explorer: Explorer) -> str:
    """What sensors say about the state."""
    knowledge, size = explorer.knowledge, explorer.surrogate.dynamics.dim
    if not knowledge.num_values:
        return (
            "No sensors yet: the field is the mean of what the model was trained on, its error "
            "bar what was usual there. Click into the field to place one."
        )
    sensors, values = len(explorer.sensors), knowledge.num_values
    return (
        f"{sensors} {_plural('sensor', sensors)} with {values} {_plural('value', values)} "
        f"determine {knowledge.state.determined:.0f} of {size:,} directions of the state and leave "
        f"{knowledge.variance_left:.0%} of the variance open."
    )


def doubts(explorer: Explorer) -> list[str]:
    """What to know before trusting it."""
    names = [channel.name for channel in explorer.description.channels]
    if explorer.following and explorer.analysis is not None:
        return explorer.analysis.cautions()
    return [] if explorer.state is None else cautions(explorer.state, names)


def heard(explorer: Explorer) -> str:
    """What a stream has said up to the time that is shown."""
    analysis, followed = explorer.analysis, explorer.followed
    assert analysis is not None
    assert followed is not None
    time = followed.instants[explorer.step]
    past = [step for step in analysis.steps if step.belief.time <= time]
    values = sum(len(step.readings) for step in past)
    taken = sum(int(step.taken.sum()) for step in past)
    ahead = "" if time <= analysis.times[-1] else "; the stream has ended, this is a forecast"
    broken = ", ".join(f"'{name}'" for name in sorted(analysis.broken))
    out = f" Taken out because they contradict all others: {broken}." if broken else ""
    return (
        f"{values:,} values at {len(past)} {_plural('time', len(past))} so far, {taken:,} of them "
        f"taken{ahead}.{out}"
    )


def unseen(explorer: Explorer) -> str:
    """How much of the state sensors do not see."""
    state, size = explorer.knowledge.state, explorer.surrogate.dynamics.dim
    seen = int((state.left <= UNSEEN).sum())
    if size == seen:
        return "The sensors see all directions of the state."
    return (
        f"{size - seen:,} of {size:,} directions of the state are as good as unseen: the sensors "
        "leave more than half of their variance open. This is one of them; the sensors would say "
        "the same with or without it."
    )


def planned(explorer: Explorer) -> str:
    """What sensors that were placed last promise."""
    plan = explorer.plan
    if plan is None:
        return ""
    count = len(plan.coords)
    explained, by_chance = told_share(plan.explained), told_share(plan.random_explained)
    return (
        f"{count} more {_plural('sensor', count)}: expected to explain {explained} of what was "
        f"still open, {count} random {_plural('one', count)} {by_chance}."
    )


def certificate(surrogate: Surrogate) -> tuple[str, str]:
    """The verdict, and all that was checked."""
    found = surrogate.certificate
    return f"{HEADLINES[found.claims.verdict].capitalize()}: {found.claims.reason}.", found.text()


def mode_rows(modes: DynamicModes) -> list[list[str]]:
    """Number, period, growth rate and share of the strongest modes."""
    unit = modes.time_units
    return [
        [
            str(number + 1),
            f"{modes.period[number]:.3g} {unit}".strip() if modes.pair[number] else "none",
            f"{modes.growth_rate[number]:.2g}",
            f"{modes.amplitude_share[number]:.1%}",
        ]
        for number in range(min(NUM_MODES, len(modes)))
    ]


def place_words(explorer: Explorer, place: np.ndarray) -> str:
    """Where, in words."""
    space = explorer.description.space
    told = [
        f"{name} = {value:.5g} {_unit(units)}".rstrip()
        for name, value, units in zip(space.names, place, space.units, strict=True)
    ]
    return ", ".join(told)


def number(value: float, digits: int = DIGITS) -> str:
    """A number, or a dash where nothing is known."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "–"


def cell(value: float) -> str:
    """A number to be typed over, blank where there is none."""
    return f"{float(value):.7g}" if math.isfinite(value) else ""


def quantity(name: str, units: str) -> str:
    """A name and its units in brackets."""
    return f"{name} ({_unit(units)})" if _unit(units) else name


def _unit(units: str) -> str:
    return {"1": "", "degrees_north": "°N", "degrees_east": "°E"}.get(units, units)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
