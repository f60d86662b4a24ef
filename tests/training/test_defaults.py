"""Sizes that nobody chose follow from the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from smore.data import Normalization, Pace, Trajectories, fit_coordinate_map, make_blocks
from smore.settings import Settings
from smore.training._defaults import HIDDEN_RANGE, choose_latent_dim, median_step, resolve


def low_rank(rank, noise=0.0, offset=0.0, num_sequences=20, num_points=60, channels=1):
    """Fields in a space of `rank` dimensions, equal parts of the variance in each."""
    rng = np.random.default_rng(rank)
    modes = np.linalg.qr(rng.normal(size=(num_points, rank)))[0].T
    fields = rng.normal(size=(num_sequences, 10, channels, rank)) @ modes
    fields += noise * rng.normal(size=fields.shape) * np.sqrt(rank / num_points) + offset
    coords = rng.uniform(size=(num_points, 2))
    return Trajectories.from_arrays(fields, coords, np.arange(10.0))


def latent_dim(data, seed=0):
    blocks = make_blocks(data, Normalization.fit(data), fit_coordinate_map(data))
    return choose_latent_dim(blocks, seed)


@given(rank=st.integers(4, 45), channels=st.integers(1, 2), seed=st.integers(0, 9))
@examples(max_examples=25, deadline=None)
def test_the_rank_of_the_data_is_found(rank, channels, seed):
    found = latent_dim(low_rank(rank, channels=channels), seed)
    # Channels share the decoder, and their means are removed by constants: one mode more for those.
    assert rank <= found <= rank + channels - 1


@pytest.mark.parametrize("offset", [-5.0, 300.0])
def test_a_constant_offset_and_little_noise_add_nothing(offset):
    """Noise with less than 1e-4 of the variance is left unresolved."""
    assert latent_dim(low_rank(9, noise=3e-3, offset=offset)) == 9


def test_points_that_are_never_observed_add_nothing():
    """Land in an ocean model."""
    data = low_rank(9, offset=300.0)
    fields = np.stack([sequence.fields for sequence in data])
    fields[..., 40:] = np.nan
    first = data.sequences[0]
    masked = Trajectories.from_arrays(fields, first.mesh.coords, first.times, missing="mask")
    assert latent_dim(masked) == 9


@pytest.mark.parametrize("rank", [6, 12])
def test_missing_values_are_not_taken_for_structure(rank):
    """Gaps are not part of the field: one value in twenty missing hardly changes the size."""
    data = low_rank(rank, offset=300.0)
    fields = np.stack([sequence.fields for sequence in data])
    fields[np.random.default_rng(0).uniform(size=fields.shape) < 0.05] = np.nan
    first = data.sequences[0]
    masked = Trajectories.from_arrays(fields, first.mesh.coords, first.times, missing="mask")
    assert rank <= latent_dim(masked) <= 2 * rank


def test_selections_of_common_points_are_not_taken_for_structure():
    """Each sequence on its own half of the points: the field has no more modes than before."""
    rank, rng = 6, np.random.default_rng(0)
    data = low_rank(rank, offset=300.0, num_sequences=40)
    halves = data.at_points([np.sort(rng.permutation(60)[:30]) for _ in range(40)])
    assert rank <= latent_dim(halves) <= 2 * rank


def test_too_little_or_too_much_is_kept_in_range():
    assert latent_dim(low_rank(1)) == 4
    constant = Trajectories.from_arrays(
        np.ones((3, 4, 1, 9)), np.random.default_rng(0).uniform(size=(9, 2)), np.arange(4.0)
    )
    assert latent_dim(constant) == 4
    rng = np.random.default_rng(0)
    noise = Trajectories.from_arrays(
        rng.normal(size=(40, 10, 1, 300)), rng.uniform(size=(300, 2)), np.arange(10.0)
    )
    assert latent_dim(noise) == 4  # nothing in it to resolve


def test_noise_is_not_taken_for_structure():
    """A tenth of the variance is white: the modes that rise above it count."""
    assert latent_dim(low_rank(9, noise=0.3, num_sequences=60, num_points=300)) == 9


def test_no_more_modes_than_half_the_snapshots():
    data = low_rank(30, num_sequences=2)  # 20 snapshots
    assert latent_dim(data) == 10


@given(
    latent=st.integers(1, 400),
    dynamics=st.sampled_from(["koopman", "lrlq", "quadratic", "mlp"]),
    channels=st.integers(1, 3),
)
@examples(deadline=None)
def test_open_sizes_are_filled_with_valid_ones(latent, dynamics, channels):
    resolved = resolve(Settings.of(latent_dim=latent, dynamics=dynamics), [], channels)
    assert resolved.hidden_dim % 2 == 0
    assert HIDDEN_RANGE[0] <= resolved.hidden_dim <= HIDDEN_RANGE[1]
    assert (resolved.rank is not None) == (dynamics == "lrlq")
    assert (resolved.dynamics_hidden_dim is not None) == (dynamics == "mlp")
    assert resolved == resolved.replace()


def test_what_the_user_chose_stays():
    chosen = Settings.of(
        latent_dim=7,
        hidden_dim=10,
        dynamics="lrlq",
        rank=3,
        decoder_steps=4,
        integrator="rk4",
        substeps=2,
        decoder_rate=0.1,
        dynamics_rate=0.2,
        normalization="none",
        latents="joint",
        decoder="network",
        frequency_scale=20.0,
    )
    assert resolve(chosen, [], 2) == chosen


def test_the_median_step_is_over_all_steps_of_all_sequences():
    coords = np.random.default_rng(0).uniform(size=(3, 2))
    times = [np.array([0.0, 1.0, 2.0, 12.0]), np.array([5.0, 5.5]), np.array([0.0, 3.0])]
    fields = [np.zeros((len(each), 1, 3)) for each in times]
    data = Trajectories.from_arrays(fields, coords, times)
    assert median_step(data, Pace.of(data)) == np.median([1.0, 1.0, 10.0, 0.5, 3.0])
