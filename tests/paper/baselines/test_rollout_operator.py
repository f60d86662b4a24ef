"""Training by rollouts: loss, budget, what is kept and what is refused."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
import xarray as xr
from grids import advected, noise, on_box
from torch import nn

from smore import Trajectories
from smore.errors import DataError
from smore_paper.baselines import rollout_operator
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.rollout_operator import RolloutOperator, accumulate_rollout_loss


class Convolution(RolloutOperator):
    """The smallest operator: one convolution."""

    name = "convolution"

    def __init__(self, batch_size=4, windows_at_once=None):
        super().__init__(batch_size=batch_size, windows_at_once=windows_at_once, device="cpu")

    def build(self, grid, num_channels):
        return nn.Conv2d(num_channels, num_channels, 3, padding=1)


class Exploding(Convolution):
    """Finite for three updates of one step each, then not."""

    def build(self, grid, num_channels):
        return FiniteFor(3)


class FiniteFor(nn.Module):
    """Multiplies by a factor and remembers it, finite for so many calls in training."""

    def __init__(self, num_calls):
        super().__init__()
        self.num_calls = num_calls
        self.factor = nn.Parameter(torch.tensor(2.0))
        self.factors = []

    def forward(self, fields):
        if self.training:
            self.factors.append(self.factor.item())
        finite = len(self.factors) <= self.num_calls
        return self.factor * fields * (1.0 if finite else torch.inf)


def loss_by_hand(network, batch):
    """The mean over windows of the summed step errors, one window and one step at a time."""
    total = 0.0
    for window in batch:
        state = window[:1]
        for step in range(1, len(window)):
            state = network(state)
            total = total + ((state[0] - window[step]) ** 2).mean()
    return total / len(batch)


@pytest.mark.parametrize("windows_at_once", [None, 1, 2, 5])
def test_rollout_loss_and_gradient_equal_a_literal_loop(windows_at_once):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.Tanh(), nn.Conv2d(3, 2, 1)).double()
    batch = torch.randn(5, 4, 2, 6, 7, dtype=torch.float64)
    expected = loss_by_hand(network, batch)
    gradients = torch.autograd.grad(expected, list(network.parameters()))
    loss = accumulate_rollout_loss(network, batch, windows_at_once)
    assert loss == pytest.approx(expected.item(), rel=1e-12)
    for parameter, gradient in zip(network.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad, gradient)


def test_epochs_end_the_training():
    model = Convolution(batch_size=4).fit(on_box(noise(10, 3, 1, 8, 8)), seed=0, epochs=3)
    assert model.epochs_run == 3
    assert model.updates_run == 9  # ten windows are batches of 4, 4 and 2


def test_seconds_end_the_training():
    data = on_box(noise(10, 3, 1, 8, 8))
    started = time.monotonic()
    model = Convolution(batch_size=2).fit(data, seed=0, seconds=0.3, epochs=10**6)
    assert model.updates_run > 0
    assert 0.3 <= model.seconds < time.monotonic() - started + 0.1
    assert model.seconds < 5


def test_the_seed_decides_everything_and_touches_nothing_else():
    data = on_box(noise(6, 3, 2, 8, 8))
    before = torch.random.get_rng_state()
    first, again = (Convolution().fit(data, seed=7, epochs=2).forecast(data, 3) for _ in range(2))
    other = Convolution().fit(data, seed=8, epochs=2).forecast(data, 3)
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    torch.testing.assert_close(torch.random.get_rng_state(), before, rtol=0, atol=0)


def test_a_forecast_does_not_depend_on_how_many_windows_go_at_once():
    data = on_box(noise(5, 3, 2, 8, 8))
    model = Convolution().fit(data, seed=0, epochs=1)
    together = model.forecast(data, 4)
    model.windows_at_once = 2
    np.testing.assert_allclose(model.forecast(data, 4), together, atol=1e-6)


def test_units_and_offset_of_the_data_do_not_matter():
    fields = noise(6, 3, 1, 8, 8)
    plain = Convolution().fit(on_box(fields), seed=0, epochs=2)
    scaled = Convolution().fit(on_box(1e3 * fields + 5e3), seed=0, epochs=2)
    expected = 1e3 * plain.forecast(on_box(fields), 2) + 5e3
    np.testing.assert_allclose(scaled.forecast(on_box(1e3 * fields + 5e3), 2), expected, rtol=2e-4)


def test_the_order_of_the_dimensions_does_not_matter():
    fields = noise(4, 3, 1, 8, 10)
    rows_first = on_box(fields, dims=("x", "y"))
    columns_first = on_box(fields.swapaxes(-1, -2), dims=("y", "x"))
    one = Convolution().fit(rows_first, seed=0, epochs=2).forecast(rows_first, 2)
    two = Convolution().fit(columns_first, seed=0, epochs=2).forecast(columns_first, 2)
    np.testing.assert_allclose(
        one.reshape(4, 2, 1, 8, 10), two.reshape(4, 2, 1, 10, 8).swapaxes(-1, -2), atol=1e-6
    )


def test_a_loss_that_turns_infinite_stops_and_the_last_good_weights_stay():
    data = on_box(noise(8, 2, 1, 4, 4))
    with pytest.warns(RuntimeWarning, match="loss inf .* after 3 updates"):
        model = Exploding(batch_size=2).fit(data, seed=0, epochs=100)
    assert model.updates_run == 3
    network = model._network
    assert len(set(network.factors)) == 4
    assert network.factor.item() == network.factors[2]  # that of the last finite loss


def test_the_weights_with_the_lowest_error_on_other_data_are_kept(monkeypatch):
    """A factor of 2 that learns to be -1 forecasts ever worse what doubles."""
    monkeypatch.setattr(rollout_operator, "EVALUATE_EVERY", 2)
    judged = []
    judge = rollout_operator._Best.judge

    def spy(self):
        judge(self)
        judged.append({name: each.clone() for name, each in self.network.state_dict().items()})

    monkeypatch.setattr(rollout_operator._Best, "judge", spy)
    signs, powers = (np.power(np.float32(each), np.arange(6)) for each in (-1, 2))
    train, other = (
        on_box(each.reshape(6, 1, 1, 1) * noise(8, 1, 1, 8, 8)) for each in (signs, powers)
    )
    monkeypatch.setattr(Convolution, "build", lambda *_: FiniteFor(10**6))
    model = Convolution(batch_size=4).fit(train, seed=0, epochs=7, select_on=other)
    kept = {name: each.clone() for name, each in model._network.state_dict().items()}
    truth = np.stack([sequence.fields for sequence in other])[:, 1:]
    errors = []
    for state in judged:
        model._network.load_state_dict(state)
        errors.append(np.square(model.forecast(other, 5) - truth).mean())
    assert len(errors) == len(set(errors)) == 4  # after epochs 2, 4, 6 and 7
    assert np.argmin(errors) == 0
    assert all(torch.equal(kept[name], judged[0][name]) for name in kept)


def test_to_select_does_not_change_the_training(monkeypatch):
    monkeypatch.setattr(rollout_operator, "EVALUATE_EVERY", 1)
    train = on_box(noise(8, 3, 1, 8, 8))
    plain = Convolution().fit(train, seed=0, epochs=3)
    monkeypatch.setattr(rollout_operator._Best, "restore", lambda self: None)
    selecting = Convolution().fit(train, seed=0, epochs=3, select_on=on_box(noise(2, 4, 1, 8, 8)))
    np.testing.assert_array_equal(plain.forecast(train, 2), selecting.forecast(train, 2))


def test_advection_is_learned_well_enough_to_beat_persistence():
    train, test = on_box(advected(32, 4)), advected(8, 12, seed=1)
    model = FNO(3, 8, 2, batch_size=8).fit(train, seed=0, epochs=30)
    forecast = model.forecast(on_box(test), 11).reshape(8, 11, 1, 16, 16)
    error = ((forecast - test[:, 1:]) ** 2).mean()
    persistence = ((test[:, :1] - test[:, 1:]) ** 2).mean()
    assert error < 0.05 * persistence


def test_scattered_points_are_refused():
    scattered = on_box(noise(2, 3, 1, 8, 8)).at_points(np.arange(20))
    with pytest.raises(DataError, match="SMORE, which needs none"):
        Convolution().fit(scattered, seed=0, epochs=1)


def test_several_grids_are_refused():
    datasets = [on_box(noise(1, 3, 1, size, 8)).to_xarray() for size in (8, 10)]
    with pytest.raises(DataError, match="one grid"):
        Convolution().fit(Trajectories.from_xarray(datasets), seed=0, epochs=1)


def test_another_grid_is_refused_in_a_forecast():
    model = Convolution().fit(on_box(noise(2, 3, 1, 8, 8)), seed=0, epochs=1)
    with pytest.raises(DataError, match="grid of the training data"):
        model.forecast(on_box(noise(2, 1, 1, 10, 10)), 1)


def with_a_gap(data: xr.Dataset) -> Trajectories:
    data["u0"][1, 0, 3, 3] = np.nan
    return Trajectories.from_xarray(data, missing="mask")


def test_missing_values_are_refused():
    data = on_box(noise(2, 3, 1, 8, 8))
    gap = with_a_gap(data.to_xarray().copy(deep=True))
    with pytest.raises(DataError, match="missing values in sequence 1"):
        Convolution().fit(gap, seed=0, epochs=1)
    model = Convolution().fit(data, seed=0, epochs=1)
    with pytest.raises(DataError, match="missing values in sequence 1"):
        model.forecast(gap, 1)


def test_unequal_steps_and_windows_are_refused():
    data = on_box(noise(2, 4, 1, 8, 8))
    uneven = data.to_xarray().assign_coords(time=[0.0, 1.0, 2.0, 4.0])
    with pytest.raises(DataError, match="steps that differ"):
        Convolution().fit(Trajectories.from_xarray(uneven), seed=0, epochs=1)
    with pytest.raises(DataError, match="same number of snapshots"):
        Convolution().fit(data.cut(2).leading(1), seed=0, epochs=1)
