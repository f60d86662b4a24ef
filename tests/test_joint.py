"""Joint latents from fit to file: channels that move together, each with modes of its own."""

import numpy as np
import pytest

from smore import SMORE, Trajectories
from smore.errors import SettingsError

STEP, POINTS = 0.1, 200
SIZES = {"latent_dim": 8, "hidden_dim": 64, "num_hidden": 0, "frequency_scale": 32.0}


def trajectories(num_sequences, seed=0, num_times=10):
    """Four oscillations, whose shapes in the three channels have nothing in common."""
    random = np.random.default_rng(seed)
    coords = np.random.default_rng(1).uniform(size=(POINTS, 2))
    places = coords @ np.random.default_rng(2).uniform(1, 5, size=(2, 12))
    shapes = np.stack([np.sin(places), np.cos(1.3 * places)]).reshape(2, POINTS, 3, 4)
    frequencies = np.array([1.0, 1.7, 2.3, 3.1])
    times = STEP * np.arange(num_times)
    phases = random.uniform(0, 2 * np.pi, size=(num_sequences, 1, 4))
    sizes = random.uniform(0.5, 1.5, size=(num_sequences, 1, 4))
    angle = frequencies * times[:, None] + phases
    codes = np.stack([sizes * np.cos(angle), sizes * np.sin(angle)])
    fields = np.einsum("astk,axck->stcx", codes, shapes) * np.array([1.0, 5.0, 0.2])[:, None]
    return Trajectories.from_arrays(fields, coords, times, channels=["u", "v", "p"])


@pytest.fixture(scope="module")
def model():
    settings = {"latents": "joint", "normalization": "scale"} | SIZES
    return SMORE(**settings).fit(trajectories(20), progress=False)


def test_eight_latents_hold_what_shared_modes_need_many_more_for(model):
    test = trajectories(4, seed=5, num_times=30)
    joint = model.evaluate(test)
    assert joint.full_nmse < 1e-5
    assert joint.decoder_nmse < 1e-5
    assert model.surrogate_.dynamics.dim == 8
    shared = SMORE(latents="shared", normalization="scale", **SIZES)
    alone = shared.fit(trajectories(20), progress=False).evaluate(test).decoder_nmse
    assert alone > 1000 * joint.decoder_nmse


def test_one_channel_tells_the_others(model):
    """Which shared latents could only know from the prior."""
    test = trajectories(3, seed=6)
    forecast = model.forecast(test.leading(1).select_channels(["u"]), test.sequences[0].times[1:])
    truth = np.stack([each.fields[1:] for each in test])
    for number, name in enumerate(["u", "v", "p"]):
        expected = truth[:, :, number]
        error = forecast[name].to_numpy() - expected
        assert (error**2).mean() < 1e-3 * expected.var()
        inside = np.abs(error) <= 1.645 * forecast[f"{name}_std"].to_numpy()
        assert inside.mean() > 0.5


def test_a_saved_model_forecasts_the_same(model, tmp_path):
    path = tmp_path / "joint.smore"
    model.save(path)
    first = trajectories(2, seed=7).leading(1)
    for one, other in zip(
        model.forecast(first, [0.35, 0.9]).values(),
        SMORE.load(path).forecast(first, [0.35, 0.9]).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_everything_else_works_with_them(model):
    test = trajectories(3, seed=8)
    plan = model.place_sensors(8, channels=["v"])
    assert plan.placement.observability > 0
    assert plan.explained > 0.9
    seen = test.leading(1).at_points(np.arange(0, POINTS, 4))
    bound = model.forecast_bound(test, observations=seen)
    assert (bound.measured <= bound.bound).all()
    constants = model.decoder_constants()
    assert constants.rigorous
    mesh = model.surrogate_.mesh
    decoded = model.forecast(test.leading(1), [0.5])
    largest = max(float(np.abs(decoded[name]).max()) for name in ["u", "v", "p"])
    state = model.infer(test.leading(1))
    assert largest <= constants.growth_offset + constants.growth_slope * float(
        state.flat.norm(dim=1).max()
    )
    assert model.modes().rates.size
    assert model.unseen(model.infer(seen)).sizes["point"] == mesh.num_points


def test_the_paper_has_no_joint_latents():
    with pytest.raises(SettingsError, match="joint latents need recipe 'fast'"):
        SMORE(latents="joint", recipe="paper")
