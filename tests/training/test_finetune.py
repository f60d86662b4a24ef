"""Fine-tuning on decoded forecasts: the right gradient, and never a worse model."""

import pytest
import torch
from test_fast import SIZES, fitted

from smore.dynamics import step_map
from smore.networks import build_decoder, build_dynamics
from smore.settings import Settings
from smore.training.finetune import Finetuning
from smore.training.preparation import prepare
from waves import trajectories


def stage(validation, **settings):
    chosen = Settings.of(**SIZES | {"dynamics": "lrlq", "rank": 2} | settings)
    ready = prepare(trajectories(6, 5), None, chosen, torch.device("cpu"))
    generator = torch.Generator().manual_seed(0)
    decoder = build_decoder(ready.settings, ready.coordinate_map.decoder_dim, generator).double()
    dynamics = build_dynamics(ready.settings, 2, generator).double()
    for block in ready.problem.blocks:
        object.__setattr__(block, "values", block.values.double())
        object.__setattr__(block, "coords", block.coords.double())
        object.__setattr__(block, "weights", block.weights.double())
    held_out = torch.tensor([False] * (6 - validation) + [True] * validation)
    return Finetuning(ready.problem, decoder, dynamics, held_out, ready.settings)


def test_the_gradient_is_that_of_the_decoded_forecast():
    """The state a forecast starts from is taken as given."""
    tuning = stage(validation=2)
    loss = tuning._backward()
    (block,) = tuning.problem.blocks
    start = tuning.latents().view(6, 5, 2, 8)[:, 0].flatten(1)
    states = [start]
    advance = step_map(tuning.dynamics, tuning.problem.timeline.steps)
    for number in range(4):
        states.append(advance(states[-1], number))
    basis = tuning.decoder.basis(block.coords)
    decoded = basis.decode(torch.stack(states, 1)[:4, 1:].unflatten(-1, (2, 8)))
    truth = block.values.T.view(6, 5, 2, -1)[:4, 1:]
    expected = (decoded - truth).square().mean()
    assert loss == pytest.approx(expected.item())
    parameters = [*tuning.decoder.parameters(), *tuning.dynamics.parameters()]
    for parameter, gradient in zip(
        parameters, torch.autograd.grad(expected, parameters, allow_unused=True), strict=True
    ):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-6, atol=1e-12)


def test_held_out_sequences_do_not_train():
    tuning, other = stage(validation=2), stage(validation=2)
    (block,) = other.problem.blocks
    block.values.view(-1, 6, 5, 2)[:, 4:, 1:] += 1.0  # forecasts to select by, not to learn from
    assert tuning._backward() == other._backward()
    assert tuning.error() != other.error()


@pytest.mark.parametrize("dynamics", ["koopman", "lrlq"])
def test_it_never_makes_held_out_forecasts_worse(dynamics):
    """Linear dynamics are in double precision, the decoder is not."""
    model = fitted(dynamics=dynamics, decoder_steps=200, dynamics_steps=20, finetune_steps=40)
    findings = model.surrogate_.description.training.findings
    assert findings["after_finetuning"] < findings["before_finetuning"]
