"""Errors by lead, and errors told by the disagreement of younger selves."""

import numpy as np
import pytest
import torch

from smore.dynamics import WHERE_THEY_DIFFER, Disagreement, ForcedLinear, LeadError

DIM, STEP, END = 3, 0.5, 20.0
LEADS = np.array([0.0, 0.5, 1.0, 2.0])
AGES = np.array([0.5, 2.0])


@pytest.fixture
def random():
    return np.random.default_rng(1)


@pytest.fixture
def dynamics(random):
    found = ForcedLinear(DIM).double()
    values = {
        "step_matrix": 0.5 * random.normal(size=(DIM, DIM)),
        "step_constant": random.normal(size=DIM),
        "centre_weights": np.stack([random.normal(size=DIM), np.zeros(DIM)]),
        "step": np.array(STEP),
    }
    with torch.no_grad():
        for name, value in values.items():
            getattr(found, name).copy_(torch.as_tensor(value))
    return found


@pytest.fixture
def error(random):
    told = Disagreement(
        *map(
            torch.as_tensor,
            (
                0.5 * random.normal(size=(2, DIM, DIM)),
                random.normal(size=(2, DIM)),
                random.normal(size=(DIM, DIM)),
                AGES,
                random.normal(size=(len(AGES), len(LEADS))),
                np.array(END),
            ),
        )
    )
    factor, variances = random.normal(size=(DIM, DIM)), np.array([0.0, 1.0, 3.0, 4.0])
    return LeadError(*map(torch.as_tensor, (factor, LEADS, variances)), disagreement=told)


def literal(dynamics, error, state, start):
    """Covariances at `LEADS` of a forecast from one state, written with loops."""
    told, rest = error.disagreement, dynamics.centre_weights[0].numpy()
    measure, found, largest = told.measure.numpy(), [], 0.0
    for place, lead in enumerate(LEADS):
        own, selves = state - rest, [state] * len(told.matrices)
        for _ in range(round(lead / STEP)):
            own = dynamics.step_matrix.numpy() @ own + dynamics.step_constant.numpy()
            maps = zip(told.matrices.numpy(), told.constants.numpy(), strict=True)
            selves = [m @ each + c for each, (m, c) in zip(selves, maps, strict=True)]
        apart = [each - (rest + own) for each in selves]
        squares = [max(float(np.sum((measure @ each) ** 2)), 1e-300) for each in apart]
        ratio = np.interp(start - END, AGES, told.log_ratios[:, place].numpy())
        largest = max(largest, np.exp(np.mean(np.log(squares)) + ratio))
        pairs = zip(apart, squares, strict=True)
        where = np.mean([np.outer(each, each) / square for each, square in pairs], axis=0)
        mixed = WHERE_THEY_DIFFER * where + (1 - WHERE_THEY_DIFFER) * error.pattern.numpy()
        found.append(largest * mixed)
    return np.array(found)


def test_covariances_of_single_forecasts_are_those_of_loops(dynamics, error, random):
    states, starts = random.normal(size=(4, DIM)), END + np.array([0.0, 0.5, 1.0, 7.0])
    found = error.of_forecasts(dynamics, torch.as_tensor(states), torch.as_tensor(starts))
    at = found.covariance(torch.as_tensor(LEADS)[None])
    for each, state, start in zip(at.numpy(), states, starts, strict=True):
        np.testing.assert_allclose(each, literal(dynamics, error, state, start), 1e-10, 1e-25)


def test_between_leads_they_lie_on_lines_and_beyond_they_grow(dynamics, error, random):
    state, start = torch.as_tensor(random.normal(size=(1, DIM))), torch.tensor([END + 1.0])
    found = error.of_forecasts(dynamics, state, start)
    lead = torch.tensor([[1.0, 1.5, 2.0, 6.0]], dtype=torch.float64)
    one, between, two, beyond = found.covariance(lead)[0]
    torch.testing.assert_close(between, (one + two) / 2)
    torch.testing.assert_close(beyond, 3 * two)


def test_forecasts_that_do_not_start_after_the_record_have_errors_as_they_were(dynamics, error):
    state = torch.zeros(1, DIM, dtype=torch.float64)
    found = error.of_forecasts(dynamics, state, torch.tensor([END - 5.0]))
    lead = torch.tensor([[0.25, 1.5]], dtype=torch.float64)
    expected = torch.tensor([0.5, 3.5]).double()[None, :, None, None] * error.pattern
    torch.testing.assert_close(found.covariance(lead), expected)
