"""What is held out is never learned from, and every open choice is made from what is left."""

import numpy as np
import pytest
import torch
import xarray as xr

from smore.data import Trajectories
from smore.errors import DataError
from smore.settings import Settings
from smore.training.preparing import hold_out, prepare

CPU = torch.device("cpu")


def counting(num_sequences=10, num_times=12, groups=None):
    """Every value tells its sequence and time: 1000 · sequence + time."""
    number, time = np.arange(num_sequences), np.arange(num_times)
    snapshot = 1000.0 * number[:, None, None] + time[None, :, None]
    dataset = xr.Dataset(
        {"u": (("sequence", "time", "point"), np.repeat(snapshot, 5, axis=2))},
        coords={
            "time": time * 0.5,
            "x": ("point", np.linspace(0, 1, 5)),
            "y": ("point", np.linspace(0, 1, 5) ** 2),
        },
    )
    if groups is not None:
        dataset = dataset.assign_coords(trajectory=("sequence", groups))
    return Trajectories.from_xarray(dataset)


def snapshots(trajectories):
    """The values that name the snapshots, in order."""
    return [float(value) for sequence in trajectories for value in sequence.fields[:, 0, 0]]


@pytest.mark.parametrize("fraction", [0.05, 0.3, 0.5, 0.95])
@pytest.mark.parametrize("seed", [0, 1])
def test_whole_trajectories_are_held_out(fraction, seed):
    """Sequences cut from one trajectory are on the same side, and none is lost or on both."""
    data = counting(groups=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    settings = Settings.of(validation_fraction=fraction, seed=seed)
    rest, held_out = hold_out(data, settings)
    assert sorted(snapshots(rest) + snapshots(held_out)) == sorted(snapshots(data))
    learned, kept_apart = (
        {value // 2000 for value in snapshots(part)} for part in (rest, held_out)
    )
    assert learned
    assert kept_apart
    assert not learned & kept_apart


@pytest.mark.parametrize("fraction", [0.1, 0.25, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("num_times", [5, 8, 40])
def test_of_a_single_sequence_the_end_is_held_out(fraction, num_times):
    """In whole windows, and something is always left to learn from."""
    data = counting(1, num_times)
    rest, held_out = hold_out(data, Settings.of(validation_fraction=fraction, window=4))
    if held_out is None:
        assert snapshots(rest) == snapshots(data)
        return
    assert max(snapshots(rest)) < min(snapshots(held_out))
    pieces = data.cut(4)
    assert snapshots(rest) + snapshots(held_out) == snapshots(pieces)
    assert len(held_out) == pytest.approx(fraction * len(pieces), abs=1)


def test_nothing_is_held_out_when_nothing_is_asked_for():
    data = counting(4)
    assert hold_out(data, Settings.of(validation_fraction=0.0)) == (data, None)


def prepared(data, select_on=None, **settings):
    chosen = {"recipe": "paper", "latent_dim": 4, "hidden_dim": 8, "window": 4} | settings
    return prepare(data, select_on, Settings.of(**chosen), CPU)


def test_training_sees_the_leading_snapshots_of_what_is_not_held_out():
    data = counting()
    ready = prepared(data, train_length=6, validation_fraction=0.2)
    _, held_out = hold_out(data, Settings.of(validation_fraction=0.2))
    kept = sorted(set(snapshots(data)) - set(snapshots(held_out)))
    assert sorted(snapshots(ready.trajectories)) == [value for value in kept if value % 1000 < 6]
    assert all(sequence.num_snapshots <= 4 for sequence in ready.trajectories)
    assert ready.selection == "validation split"
    assert ready.problem.timeline.num_snapshots == len(snapshots(ready.trajectories))


def test_leading_snapshots_of_a_single_sequence_are_the_leading_ones():
    """train_length is honoured whether or not its end is held out."""
    for fraction in (0.0, 0.1):
        ready = prepared(counting(1, 60), train_length=20, validation_fraction=fraction)
        assert max(snapshots(ready.trajectories)) < 20


def test_given_data_select_and_nothing_is_held_out():
    data, other = counting(3), counting(2, 9)
    ready = prepared(data, other, validation_fraction=0.5)
    assert sorted(snapshots(ready.trajectories)) == snapshots(data)
    assert ready.selection == "given data"
    assert ready.forecast_error.timeline.num_snapshots == 18


def test_normalisation_domain_and_time_scale_come_from_the_training_data_alone():
    data = counting(2)
    far = Trajectories.from_arrays(
        np.full((1, 3, 1, 4), 1e6), np.array([[9.0, 9.0]] * 4) * np.arange(4)[:, None], [0, 7, 14]
    )
    far = Trajectories.from_xarray(far.to_xarray().rename(u0="u"))
    alone = prepared(data, validation_fraction=0.0)
    beside = prepared(data, far)
    assert beside.normalization == alone.normalization
    assert beside.coordinate_map == alone.coordinate_map
    assert beside.settings.time_scale == alone.settings.time_scale == 0.5
    assert alone.selection == "last epoch"
    assert alone.forecast_error is None


def test_every_open_setting_is_decided():
    ready = prepare(counting(), None, Settings.of(dynamics="lrlq"), CPU)
    for name in ("latent_dim", "hidden_dim", "rank", "time_scale"):
        assert getattr(ready.settings, name) is not None


def test_a_time_scale_that_was_chosen_divides_the_steps():
    ready = prepared(counting(), time_scale=0.25)
    assert ready.settings.time_scale == 0.25
    assert set(ready.problem.timeline.steps.flatten().tolist()) == {2.0}


def test_data_that_cannot_be_used_are_refused_before_any_work():
    with pytest.raises(DataError, match="at least 2 snapshots"):
        prepared(counting(2, 1))
    with pytest.raises(DataError, match="at least 2 snapshots"):
        prepared(counting(2), counting(2, 1))
    other = Trajectories.from_xarray(counting(2).to_xarray().rename(u="w"))
    with pytest.raises(DataError, match="u"):
        prepared(counting(2), other)
