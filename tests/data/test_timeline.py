"""From a flat table to padded trajectories and back, whatever the lengths."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from smore.data import Pace, Trajectories
from smore.data.timeline import Timeline, unify_steps


def trajectories(lengths: list[int], steps: float = 0.1) -> Trajectories:
    rng = np.random.default_rng(0)
    return Trajectories.from_arrays(
        [np.zeros((length, 1, 3)) for length in lengths],
        rng.uniform(size=(3, 2)),
        [
            number + steps * (1 + number) * np.arange(length)
            for number, length in enumerate(lengths)
        ],
    )


@settings(deadline=None)
@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_scatter_undoes_gather(lengths: list[int]) -> None:
    timeline = Timeline.of(trajectories(lengths))
    table = torch.arange(sum(lengths) * 2.0).view(-1, 2)
    padded = timeline.gather(table)
    assert torch.equal(timeline.scatter(padded), table)
    assert timeline.num_snapshots == len(table)
    row = 0
    for number, length in enumerate(lengths):
        for position in range(max(lengths)):
            last = row + min(position, length - 1)
            assert torch.equal(padded[number, position], table[last])
            assert bool(timeline.valid[number, position]) == (position < length)
        row += length


def test_gradients_of_a_gathered_table_ignore_the_padding() -> None:
    timeline = Timeline.of(trajectories([2, 4]))
    table = torch.randn(6, 1, requires_grad=True)
    (timeline.gather(table)[..., 0] * timeline.valid).sum().backward()
    assert torch.equal(table.grad, torch.ones(6, 1))


@pytest.mark.parametrize("time_scale", [1.0, 0.25])
def test_steps_are_differences_of_times_in_model_units_and_zero_in_the_padding(
    time_scale: float,
) -> None:
    data = trajectories([3, 5, 1])
    timeline = Timeline.of(data, Pace(scale=time_scale))
    assert timeline.steps.dtype == torch.float64
    for number, sequence in enumerate(data):
        for position in range(4):
            step = float(timeline.steps[number, position])
            if position < sequence.num_snapshots - 1:
                elapsed = sequence.times[position + 1] - sequence.times[position]
                assert step == pytest.approx(elapsed / time_scale, rel=1e-8)
            else:
                assert step == 0.0


@settings(deadline=None)
@given(
    step=st.floats(1e-6, 1e6),
    other=st.floats(1.001, 50.0),
    start=st.floats(-10.0, 10.0),
    num=st.integers(3, 300),
)
def test_steps_that_differ_by_round_off_become_one(
    step: float, other: float, start: float, num: int
) -> None:
    """Of two step sizes with ragged last digits exactly two are left, and 0 stays 0."""
    times = start * step + step * np.arange(num)
    ragged = np.zeros((2, num))
    ragged[0, :-1] = np.diff(times)
    ragged[1, : num // 2] = step * other
    unified = unify_steps(ragged)
    np.testing.assert_allclose(unified, ragged, rtol=1e-8)
    assert len(np.unique(unified)) == 3
    assert (unified == 0).sum() == (ragged == 0).sum()


def test_steps_that_really_differ_stay_apart() -> None:
    steps = np.array([[1.0, 1.0 + 1e-6, 1.0 - 1e-6, 0.0, 37.0]])
    np.testing.assert_array_equal(unify_steps(steps), steps)
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(unify_steps(zeros), zeros)
