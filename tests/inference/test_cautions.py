"""Cautions say what is doubtful, and nothing where nothing is."""

import math

import pytest
import torch

from smore.inference import LatentState
from smore.inference.cautions import cautions

CHANNELS = ["u", "v"]


def state(num_states=1, **known):
    """Latents of two channels, everything observed and understood."""
    given = {
        "mean": torch.zeros(num_states, 2, 3, dtype=torch.float64),
        "covariance": None,
        "num_values": torch.full((num_states,), 50),
        "residual": torch.full((num_states, 2), 0.01, dtype=torch.float64),
        "times": torch.zeros(num_states),
        "determined": torch.full((num_states,), 6.0),
        "prior_share": torch.full((num_states,), 0.01),
        "noise": torch.full((2,), 0.01, dtype=torch.float64),
        "noise_known": torch.ones(2, dtype=torch.bool),
    }
    return LatentState(**(given | known))


@pytest.mark.parametrize("num_states", [1, 3])
def test_a_state_that_is_well_observed_needs_no_caution(num_states):
    assert cautions(state(num_states), CHANNELS) == []


def test_one_that_rests_on_the_prior_tells_how_much_of_it_does():
    (told,) = cautions(
        state(
            num_values=torch.tensor([4]),
            determined=torch.tensor([3.6]),
            prior_share=torch.tensor([0.4]),
        ),
        CHANNELS,
    )
    assert "assumed: 4 observed values determine 4 of 6 latent directions, and 40% of" in told


def test_the_worst_of_several_is_told_with_their_number():
    (told,) = cautions(
        state(
            3,
            num_values=torch.tensor([9, 2, 4]),
            determined=torch.tensor([6.0, 1.0, 3.0]),
            prior_share=torch.tensor([0.05, 0.7, 0.4]),
        ),
        CHANNELS,
    )
    assert "assumed in 2 of 3 sequences: 2 observed values determine 1 of 6" in told
    assert "70%" in told


@pytest.mark.parametrize("missing", ["determined", "prior_share"])
def test_a_method_without_prior_says_that_there_are_many_answers(missing):
    few = torch.tensor([5])
    (told,) = cautions(
        state(num_values=few, **{missing: None, "prior_share": None}, noise=None), CHANNELS
    )
    assert told.startswith("5 observed values cannot determine 6 latent directions, and")


def test_residuals_of_three_times_the_noise_are_noise_and_more_is_a_misfit():
    """In the mean square: nine times."""
    noise = torch.tensor([0.5, 2.0], dtype=torch.float64)
    at_most = torch.tensor([[4.5, 18.0]], dtype=torch.float64)
    assert cautions(state(noise=noise, residual=at_most), CHANNELS) == []
    larger = torch.tensor([[0.5, 32.0]], dtype=torch.float64)
    (told,) = cautions(state(noise=noise, residual=larger), CHANNELS)
    assert "observations of 'v' do not fit any state: on average they miss by 4 times" in told


def test_the_sequence_that_does_not_fit_is_named_past_what_was_not_observed():
    residual = torch.full((3, 2), 0.01, dtype=torch.float64)
    residual[0, 0], residual[2, 0] = math.nan, 1.0
    (told,) = cautions(state(3, residual=residual), CHANNELS)
    assert "observations of 'u' in sequence 2 do not fit any state: on average" in told
    assert "miss by 10 times the noise" in told


def test_noise_that_nobody_knows_is_told_of_channels_that_were_observed():
    unknown = torch.tensor([False, False])
    seen = torch.tensor([[math.nan, 0.01], [math.nan, math.nan]], dtype=torch.float64)
    (told,) = cautions(state(2, residual=seen, noise_known=unknown), CHANNELS)
    assert told.startswith("the noise of v was not told")
    (told,) = cautions(state(noise_known=unknown), CHANNELS)
    assert told.startswith("the noise of u, v was not told")
    assert cautions(state(2, residual=seen, noise_known=~unknown), CHANNELS) == []
