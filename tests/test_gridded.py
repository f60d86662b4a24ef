"""Modes at the points of a mesh: as good as POD there, interpolated elsewhere."""

import numpy as np
import pytest
import torch
import xarray as xr

from smore import SMORE, Trajectories
from smore.errors import SettingsError

SHAPE, STEP = (20, 24), 0.2


def fields(num_times, num_sequences=8, seed=0, land=None, refined=1):
    """Two travelling waves on a grid, in two channels that belong together."""
    random = np.random.default_rng(seed)
    y, x = (np.linspace(0, 1, (size - 1) * refined + 1) for size in SHAPE)
    y, times = y[:, None], STEP * np.arange(num_times)
    data = {"u": [], "v": []}
    for phases, sizes in random.uniform(0.5, 3, size=(num_sequences, 2, 2)):
        first = 5 * x + 3 * y - 1.5 * times[:, None, None] + phases[0]
        second = 2 * x - 4 * y - 2.6 * times[:, None, None] + phases[1]
        data["u"].append(sizes[0] * np.sin(first) * (1 + y) + sizes[1] * np.cos(second))
        data["v"].append(sizes[0] * np.cos(first) * x + sizes[1] * np.sin(second) * y)
    found = {name: np.array(values) for name, values in data.items()}
    if land is not None:
        found["u"][..., :6, :7] = np.nan
        found["v"][..., :6, : 7 + land] = np.nan
    dims = ("sequence", "time", "y", "x")
    return xr.Dataset(
        {name: (dims, values) for name, values in found.items()},
        coords={"time": times, "y": y[:, 0], "x": x},
    )


def fit(data=None, **settings):
    chosen = {"decoder": "gridded", "normalization": "scale"} | settings
    chosen.setdefault("latent_dim", 4 if chosen.get("latents") == "joint" else 8)
    missing = chosen.pop("missing", "refuse")
    return SMORE(**chosen).fit(
        fields(12) if data is None else data, progress=False, missing=missing
    )


@pytest.mark.parametrize("latents", ["shared", "joint"])
def test_the_training_mesh_is_decoded_as_well_as_by_any_basis(latents):
    model = fit(latents=latents, latent_dim=2, normalization="none")
    data = np.stack([fields(12)[name] for name in "uv"], axis=2)  # (sequence, time, channel, ...)
    columns = data.reshape(-1, 2 * 480) if latents == "joint" else data.reshape(-1, 480)
    singular = np.linalg.svd(columns - columns.mean(0), compute_uv=False)
    expected = (singular[2:] ** 2).sum() / columns.size
    findings = model.surrogate_.description.training.findings
    assert findings["decoder_error"] == pytest.approx(expected, rel=1e-4)
    assert findings["pod_limit"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("latents", ["shared", "joint"])
def test_forecasts_hold_between_the_points_too(latents):
    model = fit(latents=latents)
    truth = fields(20, num_sequences=3, seed=5, refined=3)
    finer = Trajectories.from_xarray(truth.isel(time=[0])).sequences[0].mesh
    start = fields(1, num_sequences=3, seed=5)
    found = model.forecast(start, truth.time.values[1:], points=finer)
    for name in "uv":
        expected = truth[name].values[:, 1:]
        assert np.abs(found[name].values - expected).max() < 2e-3 * np.abs(expected).max()


def test_a_saved_model_is_the_same(tmp_path):
    model = fit(latents="joint")
    model.save(tmp_path / "gridded.smore")
    loaded = SMORE.load(tmp_path / "gridded.smore")
    places = np.random.default_rng(0).uniform(size=(30, 2))
    for one, other in zip(
        model.forecast(fields(1), [1.0, 1.7], points=places).values(),
        loaded.forecast(fields(1), [1.0, 1.7], points=places).values(),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("latents", ["shared", "joint"])
def test_a_table_may_lack_a_channel(latents, tmp_path):
    model = fit(latents=latents)
    start = fields(1, num_sequences=1, seed=5).isel(sequence=0, time=0)
    chosen = [(int(i), int(j)) for i, j in np.random.default_rng(0).integers(0, 20, (12, 2))]
    rows = [f"0,{start.x[i].item()},{start.y[j].item()},{start.u[j, i].item()}" for i, j in chosen]
    (tmp_path / "u.csv").write_text("\n".join(["time,x,y,u", *rows]))
    state = model.infer(tmp_path / "u.csv", noise=0.0)

    surrogate = model.surrogate_
    places = np.array([[start.x[i].item(), start.y[j].item()] for i, j in chosen])
    coords = torch.as_tensor(surrogate.description.coordinate_map(places)).float()
    modes = surrogate.decoder.channel_bases(coords, 2)[0].modes.double()
    seen = float(torch.linalg.svdvals(modes)[-1])
    expected = [seen] if latents == "joint" else [seen, 0.0]
    np.testing.assert_allclose(state.observability.numpy(), [expected], rtol=1e-4)
    found = model.forecast(state, [STEP])
    truth = fields(2, num_sequences=1, seed=5)
    assert np.abs(found.u.values[0, 0] - truth.u.values[0, 1]).max() < 0.05
    assert np.isfinite(found.v.values).all()


@pytest.mark.parametrize("latents", ["shared", "joint"])
def test_land_has_no_say_and_no_forecast(latents):
    more = 2 if latents == "joint" else 0  # land of its own in the other channel
    model = fit(fields(12, land=more), latents=latents, missing="mask")
    truth = fields(15, num_sequences=2, seed=4, land=more)
    found = model.forecast(truth.isel(time=[0]), truth.time.values[1:], missing="mask")
    for name in "uv":
        expected = truth[name].values[:, 1:]
        np.testing.assert_array_equal(np.isnan(found[name].values), np.isnan(expected))
        error = np.nanmax(np.abs(found[name].values - expected))
        assert error < 1e-3 * np.nanmax(np.abs(expected))


@pytest.mark.parametrize("latents", ["shared", "joint"])
def test_suprema_are_proved_by_coefficients(latents):
    model = fit(latents=latents)
    constants = model.decoder_constants()
    assert constants.rigorous
    places = np.random.default_rng(1).uniform(size=(3000, 2))
    surrogate = model.surrogate_
    coords = torch.as_tensor(surrogate.description.coordinate_map(places)).float()
    bases = surrogate.decoder.channel_bases(coords, 2)
    scale = torch.tensor(surrogate.description.normalization.scale)
    norms = torch.stack(
        [s * basis.modes.norm(dim=1) for s, basis in zip(scale, bases, strict=True)]
    )
    largest = norms.norm(dim=0).max() if latents == "joint" else norms.max()
    assert float(largest) <= constants.growth_slope * (1 + 1e-5)
    assert constants.growth_slope < 2 * float(largest)


def test_what_cannot_be_gridded_is_refused_with_why():
    ragged = Trajectories.from_arrays(
        [np.random.default_rng(k).normal(size=(9, 1, 30 + k)) for k in range(2)],
        [np.random.default_rng(k).uniform(size=(30 + k, 2)) for k in range(2)],
        [np.arange(9.0)] * 2,
    )
    with pytest.raises(SettingsError, match="one mesh for all snapshots"):
        SMORE(decoder="gridded", latent_dim=3).fit(ragged, progress=False)
    with pytest.raises(SettingsError, match="'gridded' needs recipe 'fast'"):
        SMORE(decoder="gridded", recipe="paper")


def test_smooth_fields_get_a_network_and_rough_ones_a_grid():
    """Both decode the mesh; which knows what lies between its points?"""
    smooth = SMORE(dynamics="koopman", latent_dim=8).fit(fields(12), progress=False)
    assert smooth.surrogate_.description.settings.decoder == "network"
    random = np.random.default_rng(0)
    rough = fields(12, refined=2)
    shapes = random.normal(size=(3, *rough.u.shape[2:]))
    rough["u"] = rough.u + np.einsum("stk,kyx->styx", random.normal(size=(8, 12, 3)), shapes)
    model = SMORE(latent_dim=6).fit(rough[["u"]], progress=False)
    assert model.surrogate_.description.settings.decoder == "gridded"


def scattered(places, wiggly=0.0):
    """Plane waves that are a few points long, at scattered places; a front if wiggly."""
    random = np.random.default_rng(4)
    waves, rates = random.integers(-4, 5, size=(6, 2)), random.uniform(0.5, 3, size=6)
    times = STEP * np.arange(60)
    angles = 2 * np.pi * places @ waves.T - times[:, None, None] * rates
    values = np.sin(angles).sum(2)
    sharp = np.tanh(200 * (places[:, 0] - 0.5)) * np.cos(times)[:, None]
    return Trajectories.from_arrays([(values + wiggly * sharp)[:, None]], places, [times])


def test_between_scattered_points_smooth_fields_are_a_networks():
    """Interpolation errs by tenths there, a network that is nearly exact at the points does not."""
    places = np.random.default_rng(3).uniform(size=(1600, 2))
    learned, between = places[:1200], places[1200:]
    model = SMORE().fit(scattered(learned), progress=False)
    assert model.surrogate_.description.settings.decoder == "network"
    assert model.surrogate_.description.training.findings["decoder_error"] < 1e-8
    start = scattered(learned).leading(1)
    truth = scattered(between).sequences[0]
    forecast = model.forecast(start, truth.times[1:], points=between, uncertainty=False)
    error = forecast["u0"].values.reshape(truth.fields[1:, 0].shape) - truth.fields[1:, 0]
    assert np.square(error).mean() < 1e-4 * truth.fields.var()


def test_between_scattered_points_fronts_are_interpolated():
    places = np.random.default_rng(3).uniform(size=(1200, 2))
    model = SMORE().fit(scattered(places, wiggly=1.0), progress=False)
    assert model.surrogate_.description.settings.decoder == "gridded"


@pytest.mark.parametrize("count", [37, 1499])
def test_any_number_of_scattered_points_has_a_network_to_try(count):
    """Half of its filters are sines: widths are even."""
    places = np.random.default_rng(6).uniform(size=(count, 2))
    model = SMORE().fit(scattered(places), progress=False)
    assert model.surrogate_.description.settings.decoder in ("network", "gridded")
