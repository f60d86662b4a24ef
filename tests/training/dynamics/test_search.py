"""The member of the linear family that forecasts best, against trying everything on everything."""

import numpy as np
import pytest

from smore.training.dynamics.forced.candidates import CentreKind
from smore.training.dynamics.forced.record import Record, choosing_splits
from smore.training.dynamics.forced.search import ROUND_OFF, Search

DIM, LENGTH = 6, 12


def trajectories(count, noise, seed):
    """States of a decaying rotation, with noise on what is seen of them."""
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.normal(size=(DIM, DIM)))[0]
    states = [random.normal(size=(count, DIM))]
    for _ in range(LENGTH - 1):
        states.append(0.97 * states[-1] @ turn)
    seen = np.stack(states, axis=1) + noise * random.normal(size=(count, LENGTH, DIM))
    numbers = np.repeat(np.arange(count), LENGTH)
    times = np.tile(np.arange(LENGTH, dtype=float), count)
    return Record(seen.reshape(-1, DIM) * 0.5 ** np.arange(DIM), times, numbers, numbers, 1.0)


def by_trying_everything(search):
    """Mean squared errors of every candidate on every split, nothing left out on the way."""
    errors = {}
    for number in range(len(search.splits)):
        for centre, share in search.learned:
            for candidate, error in search._tried(number, centre, share, None):
                errors.setdefault(candidate, []).append(error)
    found = {
        candidate: np.log(np.mean(each) + ROUND_OFF * search.variance) + candidate.handicap
        for candidate, each in errors.items()
        if len(each) == len(search.splits) and not search.runs_away(candidate)
    }
    return min(found, key=lambda each: found[each]), found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("noise", [0.0, 1e-4, 0.1, 1.0])
def test_what_cannot_win_is_left_out_and_nothing_else(noise, threads):
    record = trajectories(8, noise, seed=round(1e4 * noise))
    centres = [CentreKind(), CentreKind(found=1)]
    search = Search(record, choosing_splits(record), centres)
    assert search.many
    best = search.best(threads)
    expected, scores = by_trying_everything(Search(record, choosing_splits(record), centres))
    assert scores[best] == pytest.approx(scores[expected], abs=1e-9)
    assert search.score(best) == pytest.approx(scores[best], abs=1e-9)


def test_fewer_than_half_are_tried_on_all_splits():
    record = trajectories(8, 1e-4, seed=0)
    search = Search(record, choosing_splits(record), [CentreKind()])
    _, scores = by_trying_everything(Search(record, choosing_splits(record), [CentreKind()]))
    assert len(search._scores(1)) < len(scores) / 2


@pytest.mark.parametrize("threads", [1, 2])
def test_a_trajectory_of_which_nothing_can_be_forecast_has_no_say(threads):
    """A snapshot here and another one after a long gap: nothing follows on either."""
    whole = trajectories(4, 1e-4, seed=1)
    kept = np.flatnonzero((whole.groups != 0) | (whole.times == 0) | (whole.times == 10))
    segments = whole.groups + ((whole.groups > 0) | (whole.times == 10))
    record = Record(whole.states[kept], whole.times[kept], segments[kept], whole.groups[kept], 1.0)
    splits = choosing_splits(record)
    assert all(len(split.origins) for split in splits)
    best = Search(record, splits, [CentreKind()]).best(threads)
    assert np.isfinite(Search(record, splits, [CentreKind()]).score(best))
