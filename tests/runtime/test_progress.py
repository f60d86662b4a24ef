"""Whoever shows progress hears of every long pass."""

import pytest

from smore.runtime import progress
from smore.runtime.progress import Pass, ProgressLine, counted_pass, pace, shown_passes


@pytest.fixture
def clock(monkeypatch):
    """A clock that each look moves on by a second."""
    now = iter(range(10**6))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(now)))


def pass_over(num_chunks, size=10):
    chunks = counted_pass([size] * num_chunks, lambda chunk: chunk, num_chunks * size)
    assert list(chunks) == [size] * num_chunks


@pytest.mark.usefixtures("clock")
def test_a_step_that_is_a_long_pass_is_told(capsys):
    with ProgressLine("training", 3) as line:
        line.update(1, "loss 2")
        pass_over(20)
    told = capsys.readouterr().err
    assert "training 1/3" in told
    assert "loss 2  (" in told
    assert "of 200 points" in told
    assert "points/s" in told
    assert "MB of memory" in told


@pytest.mark.usefixtures("clock")
def test_how_long_it_takes_is_told_once_something_is_done(capsys):
    with ProgressLine("training", 1000) as line:
        for _ in range(40):
            line.update(0, "choosing")
        assert "eta" not in capsys.readouterr().err
        for _ in range(40):
            line.update(10, "loss 2")
    assert "eta" in capsys.readouterr().err


@pytest.mark.usefixtures("clock")
def test_a_long_pass_on_its_own_gets_a_line(capsys):
    pass_over(20)
    assert not capsys.readouterr().err
    with shown_passes("evaluating"):
        pass_over(20)
        pass_over(1)
    told = capsys.readouterr().err
    assert "evaluating, points 200/200" in told
    assert "10/10" not in told
    with shown_passes("evaluating", shown=False):
        pass_over(20)
    assert not capsys.readouterr().err


@pytest.mark.usefixtures("clock")
def test_nobody_hears_of_it_afterwards(capsys):
    with ProgressLine("training", 3), ProgressLine("inner", 3):
        pass
    pass_over(20)
    assert not capsys.readouterr().err


def test_passes_end_where_chunks_end(capsys):
    with shown_passes("evaluating"):
        count = Pass(30)
        for _ in range(3):
            count.add(10)
    assert count.done == count.total
    assert not capsys.readouterr().err  # too short for a word


def test_pace_is_told_in_points_and_memory():
    assert pace(3000, 2.0).startswith("1.5e+03 points/s, ")
    assert pace(3000, 2.0, "values").split(" ")[1] == "values/s,"
