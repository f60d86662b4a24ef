"""How errors of steps go on is told by how errors of whole forecasts grow."""

import pytest
import torch

from smore.dynamics import StepError, carried_covariances
from smore.training.leaving_out._growing import MEMORIES, matched

DIM, STEP, COUNT = 4, 0.5, 9


@pytest.fixture
def matrix():
    random = torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(1)).double()
    return torch.linalg.matrix_exp(0.2 * (random - random.T))


@pytest.fixture
def factor():
    return torch.randn(DIM, DIM, generator=torch.Generator().manual_seed(2)).double()


def grown(error, matrix, count=COUNT):
    """Mean squares of errors by lead."""
    steps = torch.full((1, count), STEP, dtype=torch.float64)
    nothing = torch.zeros(1, DIM, DIM, dtype=torch.float64)
    outputs = torch.arange(count + 1)
    covariances = carried_covariances([matrix[None]] * count, steps, outputs, nothing, error)
    return torch.tensor([float(each.trace()) for each in covariances[0, 1:]])


@pytest.mark.parametrize("memory", MEMORIES)
@pytest.mark.parametrize("size", [0.3, 1.0, 5.0])
def test_memory_and_size_are_found_again(matrix, factor, memory, size):
    seen = grown(StepError(size * factor, memory, STEP), matrix)
    found = matched(StepError(factor, 0.99, STEP), matrix, seen)
    assert found.correlation == memory
    torch.testing.assert_close(found.factor, size * factor, rtol=1e-4, atol=1e-8)


def test_neighbours_that_are_alike_do_not_make_errors_go_on(matrix, factor):
    """Errors that agree for two steps and then turn would be taken for twice as large."""
    seen = grown(StepError(factor, 0.5, STEP), matrix)
    believed = grown(StepError(factor, 0.95, STEP), matrix)
    found = grown(matched(StepError(factor, 0.95, STEP), matrix, seen), matrix)
    assert float(believed[-1] / seen[-1]) > 2
    torch.testing.assert_close(found, seen, rtol=1e-4, atol=1e-8)


def test_too_few_leads_or_no_errors_say_nothing(matrix, factor):
    error = StepError(factor, 0.9, STEP)
    assert matched(error, matrix, torch.ones(3)) is error
    assert matched(error, matrix, torch.zeros(9)) is error
    none = StepError(torch.zeros_like(factor), 0.9, STEP)
    assert matched(none, matrix, torch.ones(9)) is none
