"""A kept flow says what forecasts do, of any state."""

import numpy as np
import pytest
import torch

import waves
from smore import SMORE
from smore.errors import DivergenceError
from smore.explore._flow import Flow, flow_of
from smore.surrogate import advance_uncertain, infer

HOW_MANY = 5


def small(dynamics: str) -> SMORE:
    settings = {"recipe": "paper", "epochs": 1, "latent_dim": 3, "validation_fraction": 0.0}
    data = waves.trajectories(num_points=30)
    return SMORE(dynamics=dynamics, **settings).fit(data, progress=False)


@pytest.fixture(scope="module", params=["planted", "lrlq", "mlp"])
def model(request, planted):
    return planted if request.param == "planted" else small(request.param)


@pytest.mark.parametrize("step", [waves.STEP, 0.3 * waves.STEP, 2.2 * waves.STEP])
def test_states_and_covariances_are_those_of_a_forecast(model, step):
    surrogate = model.surrogate_
    state = infer(surrogate, surrogate.aligned(waves.trajectories(1, 1, 30, seed=3)), "posterior")
    instants = step * np.arange(1.0, HOW_MANY + 1)
    latents, blocks = advance_uncertain(surrogate, state, instants[None])
    about = state.flat[0] if not _is_linear(model) else torch.zeros_like(state.flat[0])
    flow = flow_of(surrogate, 0.0, instants, about)
    states = flow.states(state.flat[0])
    torch.testing.assert_close(states.to(latents), latents[0].flatten(1), rtol=1e-5, atol=1e-6)
    codes = surrogate.decoder.num_codes(surrogate.num_channels)
    size = surrogate.decoder.latent_dim
    for number in range(HOW_MANY + 1):
        moved = flow.moved[number]
        pattern = flow.patterns[min(number, len(flow.patterns) - 1)]
        found = moved @ state.covariance[0] @ moved.T + flow.sizes[number] * pattern
        for code in range(codes):
            part = slice(code * size, (code + 1) * size)
            expected = blocks[0, number, code]
            torch.testing.assert_close(found[part, part], expected, rtol=1e-6, atol=1e-9)


def test_one_flow_serves_all_states_exactly_where_dynamics_are_linear(model):
    start = model.surrogate_.prior.mean
    flow = flow_of(model.surrogate_, 0.0, np.array([waves.STEP]), start)
    assert flow.whole == _is_linear(model)


def test_a_forecast_that_overflows_is_told():
    huge = torch.full((2, 2, 2), 1e300, dtype=torch.float64)
    path = torch.tensor([[0.0, 0.0], [torch.inf, 0.0]], dtype=torch.float64)
    flow = Flow(torch.zeros(2).double(), path, huge, torch.ones(2), huge[:1], True)
    with pytest.raises(DivergenceError, match="step 1"):
        flow.states(torch.zeros(2, dtype=torch.float64))


def _is_linear(model: SMORE) -> bool:
    return model.surrogate_.description.settings.dynamics == "koopman"
