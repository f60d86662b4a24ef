"""What is learned from a file, a chunk at a time, is what is learned in memory, all at once."""

import numpy as np
import pytest
import torch
import xarray as xr

from smore import SMORE, Trajectories
from smore.data import Normalization, fit_coordinate_map, make_blocks, stored
from smore.data.reading.files import open_dataset, save_dataset
from smore.data.timeline import Timeline
from smore.decoder import FilterNetwork
from smore.decoder.gauge import mode_gram
from smore.decoder.residual import accumulate_reconstruction, squared_errors
from smore.evaluation import persistence_errors, truth_energy
from smore.inference import normal_equations
from smore.inference.observability import observabilities
from smore.surrogate import _lazy_forecast as lazy_forecast
from smore.training._defaults import choose_latent_dim
from smore.training.decoder._variable_projection import accumulate_projection
from smore.training.decoder.compression import compress
from smore.training.decoder.pieces import Piece, make_pieces
from smore.training.decoder.residual_model import fit_residual_model
from smore.training.leaving_out.bases import LeftOutBases
from streamed import both, flow

pytestmark = pytest.mark.usefixtures("small_tiles")
DIM = 4
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture
def data(tmp_path):
    return both(flow(), tmp_path)


@pytest.fixture
def blocks(data):
    """The same block in memory and stored."""
    memory, lazy = data
    normalization, places = Normalization.fit(memory), fit_coordinate_map(memory)
    return [make_blocks(each, normalization, places) for each in (memory, stored(lazy))]


@pytest.fixture
def decoder():
    return FilterNetwork(2, DIM, 16, 2, 16.0, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def latents():
    return torch.randn(24, 2, DIM, generator=torch.Generator().manual_seed(1))


def gradients(decoder):
    found = torch.cat([weight.grad.flatten() for weight in decoder.parameters()])
    decoder.zero_grad()
    return found


@pytest.mark.parametrize("size", [7, 40, None])
def test_loss_and_gradients(size, blocks, decoder, latents):
    weights = torch.rand(24, generator=torch.Generator().manual_seed(2))
    results = []
    for each, chunk_size in zip(blocks, (None, size), strict=True):
        loss, gradient = accumulate_reconstruction(decoder, each, latents, weights, chunk_size)
        results.append((torch.tensor(loss), gradient, gradients(decoder)))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5 * float(theirs.abs().max()))


@pytest.mark.parametrize("size", [7, 40, None])
def test_sums_over_points(size, blocks, decoder, latents):
    """Normal equations, squared errors, Gram matrix of the modes, residual model."""
    covariance = torch.eye(DIM, dtype=torch.float64).expand(2, DIM, DIM)
    results = []
    for each, chunk_size in zip(blocks, (None, size), strict=True):
        (equations,) = normal_equations(decoder, each, chunk_size)
        found = [equations.gram, equations.moment, equations.energy, equations.count]
        found += squared_errors(decoder, each, latents, chunk_size)
        found += mode_gram(decoder, each, chunk_size)
        found += fit_residual_model(decoder, each, latents, covariance, chunk_size)
        found.append(observabilities(decoder, each))
        results.append(found)
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5 * float(theirs.abs().max()))


@pytest.mark.parametrize("size", [7, None])
def test_projection_error_and_its_gradient(size, blocks, decoder):
    results = []
    for (block,), chunk_size in zip(blocks, (None, size), strict=True):
        loss = accumulate_projection(decoder, [Piece(block, 1 / block.num_values)], chunk_size)
        results.append((loss, gradients(decoder)))
    assert results[1][0] == pytest.approx(results[0][0], rel=1e-5)
    torch.testing.assert_close(results[1][1], results[0][1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("few", [1024, 4])
def test_compression(centred, few, blocks, monkeypatch):
    monkeypatch.setattr("smore.training.decoder.compression.FEW_COLUMNS", few)
    monkeypatch.setattr("smore.training.decoder.compression.FEW_TIMES", 0)
    (block,), (copy,) = blocks
    expected, found = (compress(each, DIM, centred=centred) for each in (block, copy))
    torch.testing.assert_close(found.energies, expected.energies, rtol=1e-6, atol=1e-9)
    assert found.left_out == pytest.approx(expected.left_out, abs=1e-8)
    assert found.pod_limit(DIM) == pytest.approx(expected.pod_limit(DIM), rel=1e-6)
    values = torch.cat([chunk.values for chunk in found.block.chunks(10)])
    ours, theirs = values.double(), expected.block.values.double()
    torch.testing.assert_close(ours[:, -1], theirs[:, -1], **CLOSE)
    torch.testing.assert_close(
        ours[:, :-1] @ ours[:, :-1].T, theirs[:, :-1] @ theirs[:, :-1].T, rtol=1e-5, atol=1e-5
    )
    assert torch.equal(next(found.block.chunks(10)).offset_loading, expected.block.offset_loading)


def test_left_out_bases(data, blocks, decoder, monkeypatch):
    monkeypatch.setattr("smore.training.leaving_out.bases.DEFAULT_CHUNK", 20)
    timeline = Timeline.of(data[0])
    folds = torch.arange(4)
    results = []
    for (block,) in blocks:
        bases = LeftOutBases(compress(block, DIM), timeline, block.num_channels, DIM)
        latents = bases.latents(folds == 1)
        with torch.no_grad():
            seen = bases.modes_seen(decoder)
        # Modes have no sign: compare what does not depend on it.
        basis = bases.change_of_basis(folds == 1, seen)
        results.append((latents @ latents.transpose(1, 2), basis @ basis.T, bases.excess(folds)))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4 * float(theirs.abs().max()))


def test_pieces_and_sizes(blocks):
    pieces = [make_pieces(each, DIM, centred=True)[0] for each in blocks]
    assert pieces[1].limit == pytest.approx(pieces[0].limit, rel=1e-6)
    assert pieces[1].weight == pieces[0].weight
    assert choose_latent_dim(blocks[1], 0) == choose_latent_dim(blocks[0], 0)


def test_references(data):
    memory, lazy = data
    copy = stored(lazy)
    for ours, theirs in zip(persistence_errors(copy), persistence_errors(memory), strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(truth_energy(copy), truth_energy(memory))


RECIPES = {
    "paper": {"recipe": "paper", "epochs": 3, "fit_steps": 5, "evaluate_every": 2, "window": 3},
    "fast": {"dynamics": "koopman", "decoder_steps": 4, "dynamics_steps": 2, "window": 3},
    "linear": {"decoder_steps": 4},
    "conservative": {
        "decoder_steps": 4,
        "dynamics_steps": 2,
        "dynamics": "conservative",
        "dissipative": True,
    },
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_from_a_file_is_the_model_from_memory(recipe, data, tmp_path):
    """Weights, description, scores and forecasts."""
    options = RECIPES[recipe] | {"latent_dim": DIM, "hidden_dim": 16, "frequency_scale": 64.0}
    models = [
        SMORE(**options, chunk_size=size).fit(each, progress=False)
        for each, size in zip(data, (None, 11), strict=True)
    ]
    whole, streamed = (model.surrogate_ for model in models)
    for part in ("decoder", "dynamics"):
        ours, theirs = (getattr(each, part).state_dict() for each in (streamed, whole))
        for name, expected in theirs.items():
            atol = 1e-4 * float(expected.abs().sum())
            torch.testing.assert_close(ours[name], expected, rtol=1e-4, atol=atol)
    for name in ("residual_variance", "noise_variance", "noise_growth", "training_variance"):
        ours, theirs = (getattr(each.description, name) for each in (streamed, whole))
        assert ours == pytest.approx(theirs, rel=1e-3)
    scores = [model.evaluate(each) for model, each in zip(models, data, strict=True)]
    assert scores[1].full_mse == pytest.approx(scores[0].full_mse, rel=1e-3)
    assert scores[1].climatology_mse == pytest.approx(scores[0].climatology_mse, rel=1e-4)
    assert scores[1].persistence_mse == pytest.approx(scores[0].persistence_mse, rel=1e-6)
    assert scores[1].relative_l2 == pytest.approx(scores[0].relative_l2, rel=1e-3)
    expected = models[0].forecast(data[0], [3.0, 4.0])
    found = models[0].forecast(data[1], [3.0, 4.0], lazy=True)
    xr.testing.assert_allclose(found.compute(), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_land_is_left_out_alike(tmp_path):
    wet = flow()
    sea = ((wet["x"] < 0.2) | (wet["y"] > 0.7)).transpose("y", "x")
    data = both(wet.where(sea), tmp_path, missing="mask")
    options = {"decoder_steps": 3, "dynamics_steps": 2, "latent_dim": DIM, "hidden_dim": 16}
    models = [SMORE(**options).fit(each, progress=False) for each in data]
    scores = [model.evaluate(each) for model, each in zip(models, data, strict=True)]
    assert scores[1].full_mse == pytest.approx(scores[0].full_mse, rel=1e-3)
    assert scores[1].persistence_mse == pytest.approx(scores[0].persistence_mse, rel=1e-6)
    for model, each in zip(models, data, strict=True):
        forecast = model.forecast(each, [3.0, 4.0])
        for name in ("u0", "u1_std"):
            known = np.broadcast_to(sea, forecast[name].shape)
            np.testing.assert_array_equal(np.isfinite(forecast[name]), known)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["forecast.nc", "forecast.zarr"])
@pytest.mark.parametrize("uncertainty", [True, False])
def test_a_forecast_is_decoded_while_it_is_written(name, uncertainty, data, tmp_path, monkeypatch):
    model = SMORE(decoder_steps=3, dynamics_steps=2, latent_dim=DIM, hidden_dim=16)
    model.fit(data[0], progress=False)
    monkeypatch.setattr("smore.surrogate._lazy_forecast.SLAB_BYTES", 2000)
    sizes = []
    decode = lazy_forecast.decode_part

    def watched(self, latents, mesh, points):
        sizes.append(points.stop - points.start)
        return decode(self, latents, mesh, points)

    monkeypatch.setattr(lazy_forecast, "decode_part", watched)
    lazy = model.forecast(data[0], [3.0, 4.0], uncertainty=uncertainty, lazy=True)
    assert not sizes
    save_dataset(lazy, tmp_path / name)
    assert sum(sizes) == 126  # once, in slabs
    assert max(sizes) < 126
    expected = model.forecast(data[0], [3.0, 4.0], uncertainty=uncertainty)
    with open_dataset(tmp_path / name) as written:
        xr.testing.assert_allclose(written, expected, rtol=1e-4, atol=1e-5)
        assert written.attrs.keys() == expected.attrs.keys()
        assert written["u0"].attrs == expected["u0"].attrs
    assert Trajectories.open(tmp_path / name).num_channels == 2
    assert np.isfinite(expected["u0"]).all()
