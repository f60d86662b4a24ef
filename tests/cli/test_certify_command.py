"""`smore certify` as a user meets it: verdict first, exit code 0, 3 or 4."""

import json
from dataclasses import replace

import pytest
import torch
import typer
from typer.testing import CliRunner

from smore import SMORE
from smore.cli.certify import accuracy_in_words, certify, cost_in_words
from smore.cli.output import console
from smore.model_file.surrogate_file import save_surrogate
from smore.stability.certify import certify_dynamics
from smore.stability.stepping import Stepping
from waves import planted, trajectories

app = typer.Typer()
app.command()(certify)


def run(*arguments, code=0):
    console.width = 120  # whatever terminal the tests run in
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("certify")
    planted(trajectories()).save(place / "waves.smore")
    trajectories().to_xarray().to_netcdf(place / "waves.nc")
    sizes = {"latent_dim": 4, "hidden_dim": 8, "num_hidden": 1, "decoder_steps": 20}
    quick = sizes | {"dynamics_steps": 2}
    SMORE(dynamics="lrlq", rank=2, **quick).fit(trajectories(), progress=False).save(
        place / "lrlq.smore"
    )
    SMORE(dynamics="conservative", dissipative=True, **quick).fit(
        trajectories(), progress=False
    ).save(place / "conservative.smore")
    return place


def test_the_verdict_comes_first(folder):
    printed = run(folder / "waves.smore")
    assert printed.startswith("CERTIFIED: every state decays")
    assert "exact steps over an interval" in printed
    assert "|u(x)| <=" in printed
    assert "L2 norm at most" in printed


def test_what_is_not_certified_has_a_reason_a_remedy_and_an_exit_code(folder):
    printed = run(folder / "lrlq.smore", code=3)
    assert printed.startswith("NOT CERTIFIED: ")
    assert "try: dynamics 'conservative'" in printed


def test_dissipative_dynamics_are_certified_by_construction(folder):
    result = json.loads(run(folder / "conservative.smore", "--json"))
    assert result["certified"]
    assert result["margin"] > 0
    assert result["defect"] == 0
    assert "strang" in result["integrator"]


def test_json_holds_conditions_constants_and_bounds(folder):
    result = json.loads(run(folder / "waves.smore", folder / "waves.nc", "--json"))
    assert result["certified"]
    assert [condition["holds"] for condition in result["conditions"]] == [True, True]
    assert result["decoder"]["lipschitz"] > 0
    assert result["field_bound"] > 0
    measured, bound = result["forecast"]["measured"], result["forecast"]["bound"]
    assert all(m <= b for m, b in zip(measured, bound, strict=True))


def test_a_picture_is_drawn(folder):
    run(folder / "waves.smore", folder / "waves.nc", "--figure", folder / "certificate.png")
    assert (folder / "certificate.png").stat().st_size > 20_000


def test_a_certificate_is_saved_with_the_model(folder):
    model = planted(trajectories())
    model.save(folder / "again.smore")
    saved, loaded = model.certify(), SMORE.load(folder / "again.smore").certify()
    assert saved.claims == loaded.claims
    assert (saved.factor == loaded.factor).all()
    assert torch.equal(torch.tensor(saved.centre), torch.tensor(loaded.centre))


def test_a_model_that_diverges_gets_its_verdict_and_a_picture(folder, tmp_path):
    """Rollouts that overflow are drawn as far as they go."""
    model = SMORE.load(folder / "waves.smore")
    with torch.no_grad():
        model.surrogate_.dynamics.linear.mul_(-50.0)
    surrogate = model.surrogate_
    step = surrogate.description.time_step / surrogate.description.settings.time_scale
    stepping = Stepping(step, "exact", 1)
    states = surrogate.prior.factor.T.numpy()
    unstable = replace(
        surrogate, certificate=certify_dynamics(surrogate.dynamics, states, stepping)
    )
    save_surrogate(unstable, tmp_path / "unstable.smore")
    printed = run(tmp_path / "unstable.smore", "--figure", tmp_path / "f.png", code=3)
    assert printed.startswith("NOT CERTIFIED: ")
    assert (tmp_path / "f.png").stat().st_size > 10_000


def recertified(model, change):
    """The model with its dynamics changed, and a certificate that knows."""
    surrogate = model.surrogate_
    with torch.no_grad():
        change(surrogate.dynamics)
    settings = surrogate.description.settings
    step = surrogate.description.time_step / settings.time_scale
    stepping = Stepping(step, settings.stepping, settings.num_substeps)
    states = surrogate.prior.factor.T.numpy()
    return replace(surrogate, certificate=certify_dynamics(surrogate.dynamics, states, stepping))


def test_what_is_bounded_over_any_finite_horizon_has_its_own_words_and_exit_code(folder, tmp_path):
    def without_losses(dynamics):
        dynamics.dissipation.zero_()
        dynamics.margin.zero_()

    model = SMORE.load(folder / "conservative.smore")
    save_surrogate(recertified(model, without_losses), tmp_path / "bounded.smore")
    printed = run(tmp_path / "bounded.smore", "--figure", tmp_path / "f.png", code=4)
    assert printed.startswith("BOUNDED OVER ANY FINITE HORIZON: ")
    assert "try:" not in printed
    assert "L2 norm at most" in printed
    result = json.loads(run(tmp_path / "bounded.smore", "--json", code=4))
    assert result["verdict"] == "bounded"
    assert not result["certified"]
    assert result["field_bound"] > 0


def test_sensor_values_of_one_time_get_an_estimate_that_is_called_one(folder, tmp_path):
    seen = trajectories(num_sequences=1).leading(1)
    seen.to_xarray().to_netcdf(tmp_path / "seen.nc")
    printed = " ".join(run(folder / "waves.smore", tmp_path / "seen.nc").split())
    assert "an estimate, not a bound" in printed
    assert "forecasts from these data" not in printed
    result = json.loads(run(folder / "waves.smore", tmp_path / "seen.nc", "--json"))
    assert result["forecast"] is None
    assert result["state"]["estimated"]
    assert result["state"]["bound"] > 0


def test_growth_that_was_only_observed_is_not_called_proved(folder):
    linear = run(folder / "waves.smore", folder / "waves.nc")
    assert "not proved" not in linear
    quadratic = run(folder / "lrlq.smore", folder / "waves.nc", code=3)
    assert "bound (not proved: a is what was observed)" in " ".join(quadratic.split())


def test_stable_is_not_said_to_be_accurate(folder):
    assert "stable is not accurate" in run(folder / "waves.smore")


def test_accuracy_is_told_right_below_the_verdict(folder):
    """A headline that says CERTIFIED is of stability alone."""
    verdict, below, *_ = run(folder / "waves.smore").splitlines()
    assert verdict.startswith("CERTIFIED")
    assert below == "stable is not accurate: see `smore evaluate` for errors"
    refused = run(folder / "lrlq.smore", code=3)
    assert refused.index("accuracy is another matter: ") < refused.index("try: ")


@pytest.mark.parametrize(
    ("share", "simple", "told"),
    [
        (0.26, 0.0, "had 0.26 times the error of climatology"),
        (0.95, 1.0, "were hardly better than persistence"),
        (1.2, 0.0, "were hardly better than climatology"),
    ],
)
def test_a_stable_model_that_forecasts_nothing_is_told_so(share, simple, told):
    words = accuracy_in_words("certified", {"left_out_share": share, "left_out_simple": simple})
    assert words == (
        f"stable is not accurate: forecasts inside the training data {told}; "
        "see `smore evaluate` for other data"
    )


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        (0.0123, "lost 1.23% of their accuracy"),
        (-0.0006, "gained 0.06% of their accuracy"),
        (0.0, "lost nothing"),
        (-1e-9, "lost nothing"),
    ],
)
def test_a_gain_is_not_told_as_a_loss(cost, told):
    assert cost_in_words(cost) == told
