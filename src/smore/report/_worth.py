"""Until when a forecast is worth something: as long as nobody does better without a model.

Whoever has no model can keep the last snapshot (persistence) or say what is usual (climatology,
also that of the month). A forecast that is no better than these is worth nothing; beyond the last
lead that was tested nobody knows. A plain DMD is a model too: it may be the better one, which is
told beside, but does not make a forecast worthless.

"Better" has one meaning on the whole page: the squared error is lower by more than what counts as
alike. Whatever is not better is worth nothing, also where the other is not better either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from smore.data import Trajectories, time_unit
from smore.evaluation import (
    ALIKE,
    NAMES,
    Evaluation,
    Skill,
    is_better,
    rolling_skill,
    steps_in_words,
)
from smore.surrogate import Description, Surrogate

WITHOUT_MODEL = ("persistence", "climatology", "monthly")
# Errors below this share of the variance are as good as none, as in `Skill`.
SOLVED = 1e-6
# Smaller ratios of errors are not told apart.
SMALL = 1e-4

_VOTES = {True: 1, False: -1, None: 0}

ByName = dict[str, float | None]


@dataclass(frozen=True)
class Worth:
    """Where a forecast beats whatever needs no model.

    Args:
        leads: steps ahead that were tested.
        better: for each of them whether it does; None where nothing could be compared.
        best: for each of them what is best without a model; "" where that is not known.
        errors: for each of them rms error over that of the best.
    """

    leads: tuple[int, ...]
    better: tuple[bool | None, ...]
    best: tuple[str, ...]
    errors: tuple[float, ...]

    @classmethod
    def of(cls, skill: Skill) -> Worth:
        """What scores by lead say."""
        scores = skill.scores.nmse
        found = [
            _compared(own, {n: scores[n][place] for n in WITHOUT_MODEL if n in scores})
            for place, own in enumerate(scores["model"])
        ]
        better, best, errors = zip(*found, strict=True)
        return cls(skill.leads, better, best, errors)

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """First and last lead of every stretch at which the forecast is worth something."""
        pairs = zip(self.leads, self.better, strict=True)
        known = [(lead, good) for lead, good in pairs if good is not None]
        runs = [(good, [lead for lead, _ in run]) for good, run in groupby(known, itemgetter(1))]
        return [(run[0], run[-1]) for good, run in runs if good]

    @property
    def span(self) -> tuple[int, int] | None:
        """First and last lead of where it is worth something; None if nowhere.

        Errors of few forecasts go up and down. Of all spans the one with most leads at which the
        forecast is better, less those at which it is not, is meant; the longest of these.
        """
        totals = np.concatenate([[0], np.cumsum([_VOTES[good] for good in self.better])])
        good = [place for place, good in enumerate(self.better) if good]
        spans = [(a, b) for a in good for b in good if a <= b]
        if not spans:
            return None
        first, last = max(
            spans, key=lambda s: (totals[s[1] + 1] - totals[s[0]], s[1] - s[0], -s[0])
        )
        return self.leads[first], self.leads[last]

    @property
    def tested(self) -> int:
        """The last lead that was tested."""
        return self.leads[-1]

    def headline(self, description: Description) -> str:
        """The answer in a few words."""
        if not any(good is not None for good in self.better):
            return "not known"
        if self.span is None:
            return "not at all"
        first, last = self.span
        begin = "up to " if first == self.leads[0] else f"from {in_time(first, description)} to "
        end = ", all that was tested" if last == self.tested else ""
        return f"{begin}{in_time(last, description)}{end}"

    def sentences(self, description: Description) -> list[str]:
        """The answer at length."""
        if not any(good is not None for good in self.better):
            return ["There was nothing to compare the forecast with."]
        if self.span is None:
            names = _names(self.best, "and")
            return [f"At no step is it better than {names}: do not use this model as it is."]
        last = self.span[1]
        where = self.leads.index(last)
        size = (
            f"At {at_step(last, description)} its error is {_factor(self.errors[where])} that of "
            f"{NAMES[self.best[where]]}, the best that needs no model."
        )
        return [size, self._after(where + 1), *self._before(where)]

    def _after(self, where: int) -> str:
        """What comes behind the span."""
        votes = [good for good in self.better[where:] if good is not None]
        if not votes:
            return "Nobody has tested further."
        names = _names(self.best[where:], "or")
        if any(votes):
            worse = votes.count(False)
            return f"At {worse} of the {len(votes)} steps after that {names} is as good or better."
        return f"After that {names} is as good or better: it is worth nothing."

    def _before(self, where: int) -> list[str]:
        """Where something else is as good before the span ends."""
        gaps = [place for place in range(where) if self.better[place] is False]
        if not gaps:
            return []
        names = _names([self.best[place] for place in gaps], "or")
        leads = [self.leads[place] for place in gaps]
        told = f"{len(leads)} earlier steps"
        if len(leads) == 1:
            told = f"step {leads[0]}"
        elif gaps == list(range(gaps[0], gaps[-1] + 1)):
            told = f"steps {leads[0]} to {leads[-1]}"
        return [f"At {told} {names} is as good or better."]


def worth_by_channel(surrogate: Surrogate, truth: Trajectories, whole: Worth) -> dict[str, Worth]:
    """Of channels that are not worth using just as long as all of them together."""
    description = surrogate.description
    if len(description.channels) == 1:
        return {}
    found = {}
    for number, channel in enumerate(description.channels):
        own = rolling_skill(_measured_by(surrogate, number), truth, "posterior")
        found[channel.name] = Worth.of(own)
    told = whole.headline(description)
    return {name: each for name, each in found.items() if each.headline(description) != told}


def _measured_by(surrogate: Surrogate, channel: int) -> Surrogate:
    """The same model, of whose errors those of one channel alone count."""
    description = surrogate.description
    count = len(description.channels)
    variance = [math.inf] * count
    variance[channel] = description.training_variance[channel] / count
    measured = description.model_copy(update={"training_variance": tuple(variance)})
    return replace(surrogate, description=measured)


def over_all(evaluation: Evaluation, description: Description) -> str | None:
    """That forecasts to the very end are no better than what needs no model; None if they are."""
    unbeaten = [name for name, ratio in evaluation.improvements.items() if not is_better(ratio)]
    if not unbeaten or (evaluation.full_nmse or math.inf) <= SOLVED:
        return None
    told = "a single forecast" if evaluation.num_sequences == 1 else "forecasts"
    verb = "is" if evaluation.num_sequences == 1 else "are"
    length = in_time(len(evaluation.per_step_mse), description)
    return f"{told} over all {length} {verb} no better than {_names(unbeaten, 'or')}"


def dmd_by_lead(skill: Skill) -> str | None:
    """At which steps a plain DMD is as good as the model, or better; None if at none."""
    scores = skill.scores.nmse
    if "dmd" not in scores:
        return None
    found = [
        (lead, _compared(own, {"dmd": other})[0])
        for lead, own, other in zip(skill.leads, scores["model"], scores["dmd"], strict=True)
    ]
    known = [lead for lead, better in found if better is not None]
    worse = [lead for lead, better in found if better is False]
    return f"A plain DMD is as good or better {steps_in_words(worse, known)}." if worse else None


def _names(names: Sequence[str], between: str) -> str:
    return f" {between} ".join(NAMES[name] for name in dict.fromkeys(names) if name)


def _compared(own: float | None, others: ByName) -> tuple[bool | None, str, float]:
    """Whether an error is below all others, the name of the least of these, and the ratio."""
    known = {name: error for name, error in others.items() if error is not None}
    if own is None or not known:
        return None, "", math.nan
    name = min(known, key=lambda each: _counted(known[each]))
    if not math.isfinite(own):
        return False, name, math.inf
    is_less = _counted(own) <= max((1 - ALIKE) * _counted(known[name]), SOLVED)
    return is_less, name, math.sqrt(own / max(known[name], 1e-300))


def _factor(ratio: float) -> str:
    return f"{ratio:.2g} times" if ratio >= SMALL else "less than a ten-thousandth of"


def _counted(error: float) -> float:
    return max(error, SOLVED) if math.isfinite(error) else math.inf


def in_time(lead: float, description: Description) -> str:
    """A lead as time: 12 months, 4.75 s; in steps where the data have no units of time."""
    unit = time_unit(description.clock, description.pace)
    length = lead * description.pace.scale * description.step / unit.length
    if not unit.name:
        return f"{lead:g} step{'' if lead == 1 else 's'}"
    shown = float(f"{length:.3g}")
    name = unit.name.removesuffix("s") if shown == 1 and len(unit.name) > 2 else unit.name
    return f"{shown:g} {name}"


def at_step(lead: int, description: Description) -> str:
    """A step, with its time in brackets where that is known."""
    told = in_time(lead, description)
    return f"step {lead}" if told.endswith(("step", "steps")) else f"step {lead} ({told})"


def so_many(steps: int, description: Description) -> str:
    """Steps counted, likewise."""
    told, plural = in_time(steps, description), "" if steps == 1 else "s"
    counted = f"{steps} step{plural}"
    return counted if told == counted else f"{counted} ({told})"


def leads_in_time(leads: np.ndarray, description: Description) -> tuple[np.ndarray, str]:
    """Leads in units of time, and the name of these; steps where there are none."""
    unit = time_unit(description.clock, description.pace)
    if not unit.name:
        return leads, "steps"
    return leads * description.pace.scale * description.step / unit.length, unit.name
