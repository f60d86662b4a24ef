"""The search for the largest grid: few measurements, whatever memory does."""

import pytest

from smore.errors import DataError
from smore_paper.tables.capacity.largest_grid import LargestGrid, largest_grid


class Machine:
    """Takes level + slope · n^power bytes, and counts how often it is asked."""

    def __init__(self, level, slope, power=2.0, bound=None):
        self.level, self.slope, self.power, self.bound = level, slope, power, bound
        self.asked = []

    def peak(self, grid):
        return round(self.level + self.slope * grid**self.power)

    def __call__(self, grid):
        self.asked.append(grid)
        peak = self.peak(grid)
        return None if self.bound is not None and peak > self.bound else peak


def test_memory_along_a_line_takes_one_measurement_beyond_the_first():
    machine = Machine(400_000, 100)
    found = largest_grid(machine, 4_000_000, (10, 20))
    assert found == LargestGrid(189, machine.peak(189), 190, machine.peak(190))
    assert found.peak <= 4_000_000 < found.next_peak
    assert machine.asked == [10, 20, 189]


@pytest.mark.parametrize("power", [1.7, 2.0, 2.4])
@pytest.mark.parametrize("step", [1, 8])
@pytest.mark.parametrize("killed", [True, False])
def test_the_largest_is_found_where_memory_is_no_line(power, step, killed):
    bound = 5_000_000
    machine = Machine(300_000, 90, power, bound if killed else None)
    found = largest_grid(machine, bound, (16, 32), step)
    fitting = [n for n in range(step, 2000, step) if machine.peak(n) <= bound]
    assert found.grid == max(fitting)
    assert found.next_grid == found.grid + step
    assert len(machine.asked) < 14


def test_a_next_grid_that_was_tried_has_no_expected_peak():
    """Memory may jump, where a library takes another way for larger arrays."""
    machine = Machine(0, 1)
    found = largest_grid(lambda n: machine(n) if n < 50 else None, 10_000, (4, 8))
    assert found == LargestGrid(49, 49**2, 50, None)


def test_one_of_three_first_grids_may_be_too_large():
    machine = Machine(0, 1, bound=900)
    found = largest_grid(machine, 900, (10, 20, 40))
    assert (found.grid, found.peak, found.next_grid) == (30, 900, 31)


def test_a_bound_that_nothing_fits_into_is_refused():
    with pytest.raises(DataError, match=r"10 and 20 points a side .* --bound"):
        largest_grid(Machine(5000, 1), 5200, (10, 20))
