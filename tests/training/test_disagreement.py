"""Error bars of a transient go with its errors, forecast by forecast."""

import numpy as np
import pytest
import torch

from fronts import as_record, front
from smore import SMORE
from smore.explore._flow import flow_of
from smore.surrogate import advance_uncertain, infer

LEARNED, AHEAD = 66, 10
ORIGINS = (66, 70, 74, 78)


@pytest.fixture(scope="module")
def model():
    return SMORE().fit(as_record(front()[:LEARNED]), progress=False)


def forecast(model, origin):
    """Errors and deviations (times, points) of a forecast of the front."""
    fields = front()
    start = as_record(fields[origin : origin + 1], origin)
    found = model.forecast(start, np.arange(origin + 1.0, origin + 1 + AHEAD))
    errors = found["u0"].values.reshape(AHEAD, -1) - fields[origin + 1 : origin + 1 + AHEAD]
    return errors, found["u0_std"].values.reshape(AHEAD, -1)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_bars_follow_errors_that_differ_by_orders_of_magnitude(model):
    found = [forecast(model, origin) for origin in ORIGINS]
    sizes = np.array([np.sqrt((errors**2).mean()) for errors, _ in found])
    told = np.array([np.sqrt((bars**2).mean()) for _, bars in found])
    assert sizes.max() > 5 * sizes.min()
    assert (np.abs(np.log(told / sizes)) < np.log(4)).all()
    inside = np.mean([np.abs(errors) <= 1.645 * bars for errors, bars in found])
    assert 0.8 < inside < 0.99


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_record_that_goes_on_as_it_did_is_told_by_its_errors():
    random, phase = np.random.default_rng(0), 0.3 * np.arange(120.0)
    waves = np.column_stack([np.cos(phase), np.sin(phase)]) @ random.normal(size=(2, 96))
    noisy = waves + 0.1 * random.normal(size=waves.shape)
    steady = SMORE().fit(as_record(noisy), progress=False)
    assert steady.surrogate_.error.step.disagreement is None


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_file_keeps_it(model, tmp_path):
    model.save(tmp_path / "front.smore")
    again = SMORE.load(tmp_path / "front.smore")
    for one, other in zip(forecast(model, 70), forecast(again, 70), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_explorer_shows_the_same_bars(model):
    surrogate, instants = model.surrogate_, np.arange(71.0, 76.0)
    state = infer(surrogate, surrogate.aligned(as_record(front()[70:71], 70)), "posterior")
    _, blocks = advance_uncertain(surrogate, state, instants[None])
    flow = flow_of(surrogate, 70.0, instants, state.flat[0])
    assert not flow.whole
    for number in range(len(instants) + 1):
        moved = flow.moved[number]
        found = moved @ state.covariance[0] @ moved.T + flow.patterns[number]
        torch.testing.assert_close(found, blocks[0, number, 0], rtol=1e-8, atol=1e-14)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_many_forecasts_at_once_have_the_bars_of_each(model):
    surrogate, fields = model.surrogate_, front()
    starts = [as_record(fields[origin : origin + 1], origin) for origin in ORIGINS[:3]]
    states = [infer(surrogate, surrogate.aligned(start), "posterior") for start in starts]
    for state, origin in zip(states, ORIGINS, strict=False):
        _, one = advance_uncertain(surrogate, state, np.array([[origin + 1.0, origin + 4.0]]))
        again = surrogate.error.step.of_forecasts(
            surrogate.dynamics,
            torch.cat([each.flat for each in states]),
            torch.as_tensor(surrogate.description.model_times(np.array(ORIGINS[:3], float))),
        )
        leads = torch.tensor([[0.0, 1.0, 4.0]], dtype=torch.float64) * surrogate.description.step
        several = again.covariance(leads)[ORIGINS.index(origin)]
        moved = one[0, :, 0] - several
        assert torch.linalg.eigvalsh(moved).min() > -1e-9 * moved.abs().max() - 1e-15
