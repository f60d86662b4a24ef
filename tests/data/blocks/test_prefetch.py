"""Reading ahead changes when things are made, not what comes out."""

import threading

import pytest

from smore.data.blocks._prefetch import prefetched


def test_results_come_in_order():
    assert list(prefetched(lambda x: x * x, range(20))) == [x * x for x in range(20)]
    assert list(prefetched(str, [])) == []


def test_the_next_one_is_made_while_one_is_worked_on():
    made = [threading.Event() for _ in range(3)]

    def make(number):
        made[number].set()
        return number

    results = prefetched(make, range(3))
    assert next(results) == 0
    assert made[1].wait(timeout=10)


def test_an_error_comes_out_in_its_turn():
    def make(number):
        if number == 2:
            raise OSError("the disk is gone")
        return number

    results = prefetched(make, range(5))
    assert next(results) == 0
    assert next(results) == 1
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


def test_whoever_stops_early_leaves_no_thread():
    before = threading.active_count()
    made = []
    for result in prefetched(lambda x: made.append(x) or x, range(1000)):
        if result == 3:
            break
    assert len(made) <= 6
    assert threading.active_count() == before
