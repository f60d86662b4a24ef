"""Scheduled sampling: one-step prediction at one end, free rollout at the other."""

import pytest
import torch

from oracles.textbook import scheduled_sampling_ode_solve
from smore.dynamics import (
    LowRankQuadratic,
    draw_anchors,
    rollout,
    sampled_rollout,
    step_map,
    teacher_forcing_probability,
)

LENGTH, DIM = 6, 3


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(0)
    dynamics = LowRankQuadratic(DIM, 2, generator).double()
    targets = torch.randn(4, LENGTH, DIM, dtype=torch.float64, generator=generator)
    advance = step_map(dynamics, torch.full((4, LENGTH - 1), 0.3, dtype=torch.float64))
    return dynamics, targets, advance


def test_anchors_everywhere_give_one_step_predictions(problem):
    _, targets, advance = problem
    anchors = draw_anchors(4, LENGTH, 1.0, torch.Generator())
    predictions = sampled_rollout(advance, targets, anchors)
    for index in range(LENGTH - 1):
        torch.testing.assert_close(predictions[:, index + 1], advance(targets[:, index], index))


def test_no_anchors_give_a_free_rollout(problem):
    _, targets, advance = problem
    anchors = draw_anchors(4, LENGTH, 0.0, torch.Generator())
    free = rollout(advance, targets[:, 0], LENGTH - 1)
    torch.testing.assert_close(sampled_rollout(advance, targets, anchors), free)


def test_agrees_with_the_appendix_algorithm(problem):
    dynamics, targets, advance = problem
    anchors = draw_anchors(4, LENGTH, 0.5, torch.Generator().manual_seed(5))
    predictions = sampled_rollout(advance, targets, anchors)
    times = torch.arange(LENGTH, dtype=torch.float64) * 0.3
    for row in range(4):
        expected = scheduled_sampling_ode_solve(
            dynamics, targets[row], times, anchors[row].tolist()
        )
        torch.testing.assert_close(predictions[row], expected)


def test_first_and_last_snapshot_are_never_anchors():
    anchors = draw_anchors(1000, LENGTH, 0.5, torch.Generator().manual_seed(1))
    assert not anchors[:, 0].any()
    assert not anchors[:, -1].any()
    assert anchors[:, 1:-1].double().mean() == pytest.approx(0.5, abs=0.03)


def test_probability_decays_from_epoch_zero_and_ends_in_free_rollouts():
    assert teacher_forcing_probability(0, 0.99, 0.99) == 0.99
    assert teacher_forcing_probability(10, 0.99, 0.99) == pytest.approx(0.99**11)
    assert teacher_forcing_probability(687, 0.99, 0.99) == 0.0
    assert teacher_forcing_probability(5, 0.0, 0.99) == 0.0


def test_below_a_thousandth_there_are_no_more_anchors():
    """With the paper's 0.99 · 0.99^epoch that is from epoch 687 on."""
    assert teacher_forcing_probability(686, 0.99, 0.99) == pytest.approx(0.99**687)
    assert 0.99**688 < 1e-3 < 0.99**687
    assert teacher_forcing_probability(687, 0.99, 0.99) == 0.0
    assert teacher_forcing_probability(0, 1e-3, 0.5) == 1e-3  # not below it


def test_probability_zero_draws_no_anchor_whatever_the_draw(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *shape, generator: torch.zeros(shape))
    assert not draw_anchors(3, LENGTH, 0.0, torch.Generator()).any()
