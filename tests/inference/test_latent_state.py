"""What a latent state says about itself, worked out by hand."""

import json
import math

import pytest
import torch

from smore.inference import LatentState
from smore.inference.latent_state import misfit


def state(**known):
    """Two states of two channels with two latents each; four values were observed, then five."""
    given = {
        "mean": torch.arange(8.0, dtype=torch.float64).view(2, 2, 2),
        "covariance": None,
        "num_values": torch.tensor([4, 5]),
        "residual": torch.tensor([[0.5, math.nan], [0.25, 0.125]], dtype=torch.float64),
        "times": torch.tensor([0.0, 1.0]),
    }
    return LatentState(**(given | known))


def covariances():
    """Different ones for each state, diagonals 1, 4, 9, 16 and 25, 36, 49, 64."""
    squares = torch.arange(1.0, 9.0, dtype=torch.float64).square().view(2, 4)
    return 0.5 + torch.diag_embed(squares - 0.5)


def test_each_state_has_its_own_deviations():
    own = state(covariance=covariances())
    assert own.standard_deviation.tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    for number in range(2):
        assert torch.equal(own.covariance_of(number), covariances()[number])


def test_states_may_share_a_covariance():
    shared = state(covariance=covariances()[:1])
    assert shared.standard_deviation.tolist() == [[[1, 2], [3, 4]]] * 2
    for number in range(2):
        assert torch.equal(shared.covariance_of(number), covariances()[0])


def test_round_off_below_zero_is_no_variance():
    covariance = -1e-20 * torch.eye(4, dtype=torch.float64)[None]
    assert not state(covariance=covariance).standard_deviation.any()


def test_an_answer_rests_on_the_prior_while_more_than_a_tenth_of_its_variance_is_left():
    """Without a prior, while there are fewer values than latents."""
    shares = torch.tensor([0.1, 0.11], dtype=torch.float64)
    assert state(prior_share=shares).rests_on_prior.tolist() == [False, True]
    assert state().rests_on_prior.tolist() == [False, False]
    assert state(num_values=torch.tensor([3, 4])).rests_on_prior.tolist() == [True, False]


def test_a_dictionary_says_all_in_plain_values():
    told = state(determined=torch.tensor([1.5, 2.5]), prior_share=torch.tensor([0.5, 0.0]))
    assert json.loads(json.dumps(told.to_dict(), allow_nan=False)) == {
        "latent_directions": 4,
        "rests_on_prior": [True, False],
        "observed_values": [4, 5],
        "determined": [1.5, 2.5],
        "prior_share": [0.5, 0.0],
        "observability": None,
        "noise_variance": None,
        "residual": [[0.5, None], [0.25, 0.125]],
    }


def test_its_name_tells_the_least_that_was_seen():
    told = repr(state(determined=torch.tensor([3.0, 2.0])))
    assert told == (
        "<LatentState: 2 states of 4 latent directions, 2 of them determined, from 4 or more "
        "observed values each>"
    )
    assert "determined" not in repr(state())


def test_the_misfit_is_a_mean_over_values_and_unknown_without_any():
    found = misfit(torch.tensor([6.0, 0.5, 0.0]), torch.tensor([4.0, 1.0, 0.0]))
    assert found.tolist() == pytest.approx([1.5, 0.5, math.nan], nan_ok=True)
