"""Steps and factors as people say them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

# More stretches than this are counted instead of told one by one.
MOST_STRETCHES = 4
# Two errors are alike if they differ by less than this share.
ALIKE = 0.02


def steps_in_words(chosen: Sequence[int], known: Sequence[int]) -> str:
    """Which of the known steps are meant: "at steps 1 to 3 and 7", "from step 5 on".

    Args:
        chosen: rising, some of `known`.
        known: rising.
    """
    place = {step: number for number, step in enumerate(known)}
    stretches: list[list[int]] = []
    for step in chosen:
        if stretches and place[step] == place[stretches[-1][-1]] + 1:
            stretches[-1].append(step)
        else:
            stretches.append([step])
    if len(chosen) == len(known):
        return "at every step" if len(known) > 1 else f"at step {known[0]}"
    if len(stretches) == 1 and chosen[-1] == known[-1] and len(chosen) > 1:
        return f"from step {chosen[0]} on"
    if len(stretches) > MOST_STRETCHES:
        return f"at {len(chosen)} of {len(known)} steps"
    told = [str(e[0]) if len(e) == 1 else f"{e[0]} to {e[-1]}" for e in stretches]
    words = " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
    return f"at step{'s' if len(chosen) > 1 else ''} {words}"


def times_as_large(ratio: float) -> str:
    """A factor to three digits, more than a million as such."""
    rounded = float(f"{ratio:.3g}")
    return f"{rounded:,g}" if rounded < 1e6 else "more than a million"


def is_better(ratio: float) -> bool:
    """Whether another's error is so many times one's own that the two are not alike."""
    return ratio * (1 - ALIKE) >= 1


def beside_in_words(ratios: Mapping[str, float]) -> str:
    """How large an error is beside others: "3 times below that of persistence".

    Args:
        ratios: by name, another's error over this one; NaN where that is not known.
    """
    told = [_beside(name, ratio) for name, ratio in ratios.items() if not math.isnan(ratio)]
    if not told:
        return "not compared with anything"
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


def _beside(name: str, ratio: float) -> str:
    if is_better(ratio):
        return f"{times_as_large(ratio)} times below that of {name}"
    if ratio >= 1 - ALIKE:
        return f"as large as that of {name}"
    return f"{times_as_large(1 / ratio if ratio else math.inf)} times that of {name}"
