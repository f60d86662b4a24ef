"""Decoder constants against loops over the network as the paper writes it, and against search."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import theorem_bounds as oracle
from smore.analysis.decoder_constants import (
    DecoderConstants,
    _chart,
    decoder_constants,
    field_bound,
)
from smore.data import BoxMap, Mesh, Normalization, SphereMap
from smore.data.mesh import values_along
from smore.data.quadrature import default_cells, scattered_mesh
from smore.decoder import Basis, Decoder, FilterNetwork
from waves import planted, trajectories

BOX = BoxMap(lower=(-1.0, 2.0), upper=(1.0, 5.0))


def default_weights(coords, dims, shape, along, geometry):
    """Weights (points,) of points (points, dim) that fill an array."""
    columns = zip(along, coords.T, strict=True)
    axes = tuple(values_along(each, column, dims, shape) for each, column in columns)
    return Mesh(axes, default_cells(axes, dims, shape, along, geometry), dims, shape, along).weights


def network(coordinate_dim=2, num_hidden=2, frequency_scale=8.0, seed=0) -> FilterNetwork:
    generator = torch.Generator().manual_seed(seed)
    return FilterNetwork(coordinate_dim, 3, 8, num_hidden, frequency_scale, generator)


def model(decoder, coordinate_map=BOX, shift=(0.3, -1.0), scale=(2.0, 0.5)):
    """What decoder_constants needs of a surrogate."""
    normalization = Normalization(shift=shift, scale=scale)
    return SimpleNamespace(
        decoder=decoder,
        description=SimpleNamespace(normalization=normalization, coordinate_map=coordinate_map),
    )


def box_grid(num_points, coordinate_map=BOX) -> Mesh:
    """Cell-centred, so that the weights sum to the measure of the box."""
    lower, upper = np.array(coordinate_map.lower), np.array(coordinate_map.upper)
    middle = (np.arange(num_points) + 0.5) / num_points
    axes = [low + (high - low) * middle for low, high in zip(lower, upper, strict=True)]
    names = tuple("xyz"[: len(axes)])
    along = tuple((name,) for name in names)
    coords = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    shape = (num_points,) * len(axes)
    return Mesh.of(coords, default_weights(coords, names, shape, along, "box"), names, shape, along)


def globe(num_latitudes=24) -> Mesh:
    latitude = -90 + 180 * (np.arange(num_latitudes) + 0.5) / num_latitudes
    longitude = np.arange(2 * num_latitudes) * 180 / num_latitudes
    coords = np.stack([each.ravel() for each in np.meshgrid(latitude, longitude, indexing="ij")], 1)
    dims, shape = ("latitude", "longitude"), (num_latitudes, 2 * num_latitudes)
    along = (("latitude",), ("longitude",))
    weights = default_weights(coords, dims, shape, along, "sphere")
    return Mesh.of(coords, weights, dims, shape, along)


@torch.no_grad()
def norms_at(surrogate, coords):
    """‖u(x; 0)‖ and ‖∂u/∂α‖ at coords (points, dim), user's units."""
    description = surrogate.description
    basis = surrogate.decoder.double().basis(torch.as_tensor(description.coordinate_map(coords)))
    shift, scale = description.normalization.shift_array, description.normalization.scale_array
    offsets = np.linalg.norm(shift + np.outer(basis.offset.numpy(), scale), axis=1)
    return offsets, scale.max() * basis.modes.norm(dim=1).numpy()


def random_places(coordinate_map, num, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(coordinate_map, BoxMap):
        return rng.uniform(coordinate_map.lower, coordinate_map.upper, size=(num, 2))
    sines = np.sin(np.deg2rad([coordinate_map.south, coordinate_map.north]))
    latitude = np.rad2deg(np.arcsin(rng.uniform(*sines, size=num)))
    return np.stack([latitude, rng.uniform(coordinate_map.west, coordinate_map.east, num)], 1)


def test_constants_agree_with_the_network_as_the_paper_writes_it():
    surrogate, mesh = model(network().double()), box_grid(5)
    points = BOX(mesh.coords)
    constants = decoder_constants(surrogate, mesh)
    expected = oracle.lipschitz(surrogate.decoder, points, mesh.weights, (2.0, 0.5))
    assert constants.lipschitz == pytest.approx(expected, rel=1e-12)
    assert constants.measure == pytest.approx(2.0 * 3.0)
    assert constants.growth_offset >= oracle.growth_offset(
        surrogate.decoder, points, (0.3, -1.0), (2.0, 0.5)
    )
    assert constants.growth_slope >= oracle.growth_slope(surrogate.decoder, points, (2.0, 0.5))


def test_the_part_of_a_sphere_is_that_of_the_domain_whatever_meridian_is_zero():
    sphere = SphereMap(south=-30.0, north=30.0, west=100.0, east=150.0)
    inside = np.array([[0.0, 110.0], [10.0, 140.0], [-20.0, 120.0], [5.0, 105.0]])
    for turns in (-1, 0, 2):
        chart = _chart(sphere, scattered_mesh(inside + np.array([0.0, 360.0 * turns]), "sphere"))
        np.testing.assert_allclose(chart.lower.rad2deg(), [-30.0, 100.0])
        np.testing.assert_allclose(chart.upper.rad2deg(), [30.0, 150.0])
    wide = SphereMap(south=-30.0, north=30.0, west=100.0, east=400.0)
    across = inside + np.array([0.0, 250.0])  # up to 390, which is 30
    for turns in (-1, 0):
        chart = _chart(wide, scattered_mesh(across + np.array([0.0, 360.0 * turns]), "sphere"))
        np.testing.assert_allclose(chart.lower.rad2deg(), [-30.0, 100.0])
        np.testing.assert_allclose(chart.upper.rad2deg(), [30.0, 400.0])
    further = np.concatenate([inside, [[40.0, 160.0 - 360.0], [-35.0, 80.0 + 360.0]]])
    chart = _chart(sphere, scattered_mesh(further, "sphere"))
    np.testing.assert_allclose(chart.lower.rad2deg(), [-35.0, 80.0])
    np.testing.assert_allclose(chart.upper.rad2deg(), [40.0, 160.0])


@pytest.mark.parametrize("num_hidden", [0, 1, 3])
def test_proven_bounds_on_a_box_hold_everywhere_and_are_close(num_hidden):
    surrogate = model(network(num_hidden=num_hidden).double())
    constants = decoder_constants(surrogate, box_grid(8))
    offsets, slopes = norms_at(surrogate, random_places(BOX, 100_000))
    assert constants.rigorous
    assert offsets.max() <= constants.growth_offset <= 1.02 * offsets.max()
    assert slopes.max() <= constants.growth_slope <= 1.02 * slopes.max()


SPHERES = [
    SphereMap(),
    SphereMap(south=30.0, north=60.0, west=-20.0, east=25.0),
    SphereMap(south=-90.0, north=-60.0, west=170.0, east=530.0),
]


@pytest.mark.parametrize("sphere", SPHERES)
def test_proven_bounds_on_a_sphere_hold_everywhere_and_are_close(sphere):
    surrogate = model(network(3, num_hidden=1, frequency_scale=3.0).double(), sphere)
    mesh = scattered_mesh(random_places(sphere, 200, seed=1), "sphere")
    constants = decoder_constants(surrogate, mesh)
    offsets, slopes = norms_at(surrogate, random_places(sphere, 100_000))
    assert constants.rigorous
    assert offsets.max() <= constants.growth_offset <= 1.02 * offsets.max()
    assert slopes.max() <= constants.growth_slope <= 1.02 * slopes.max()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    frequency_scale=st.floats(0.1, 60.0),
    num_hidden=st.integers(0, 3),
    max_points=st.sampled_from([4, 50, 1000]),
    on_sphere=st.booleans(),
)
def test_whatever_is_called_proven_is_a_bound(
    seed, frequency_scale, num_hidden, max_points, on_sphere
):
    domain = SphereMap() if on_sphere else BOX
    decoder = network(domain.decoder_dim, num_hidden, frequency_scale, seed).double()
    surrogate = model(decoder, domain)
    geometry = "sphere" if on_sphere else "box"
    mesh = scattered_mesh(random_places(domain, 5, seed), geometry)
    constants = decoder_constants(surrogate, mesh, max_points=max_points)
    offsets, slopes = norms_at(surrogate, random_places(domain, 5000, seed + 1))
    if constants.rigorous:
        assert offsets.max() <= constants.growth_offset
        assert slopes.max() <= constants.growth_slope


def spikes(frequency, num_hidden):
    """c₀ = J₀ = 1 + 5 sin(w x)ⁿ with n = num_hidden + 1."""
    decoder = FilterNetwork(1, 1, 4, num_hidden, 1.0).double()  # filters sin wx, 0, cos wx, 1
    with torch.no_grad():
        for parameter in decoder.parameters():
            parameter.zero_()
        for frequencies in decoder.frequencies:
            frequencies[0] = frequency / decoder.filter_scale
        for weight in decoder.weights:
            weight[0, 0] = 1.0
        decoder.output_weight[[0, 3]] = torch.tensor([5.0, 1.0]).double()
        for layer, row in ((0, 0), (num_hidden, 3)):
            decoder.modulations[layer][row] = 1.0
            decoder.biases[layer][row] = 1.0
    return decoder


@pytest.mark.parametrize("num_hidden", [0, 3])
@pytest.mark.parametrize("per_cell", [1, 2, 7])
def test_spikes_between_the_sample_points_are_not_proven_away(num_hidden, per_cell):
    """They vanish at every point of the mesh."""
    line = BoxMap(lower=(0.0,), upper=(0.5,))
    surrogate = model(
        spikes(math.pi * 32 / 0.5 * per_cell, num_hidden), line, shift=(0.0,), scale=(1.0,)
    )
    places = np.linspace(0, 0.5, 33)[:, None]
    mesh = Mesh.scattered(places, np.full(33, 0.5 / 33))
    offsets, slopes = norms_at(surrogate, np.linspace(0, 0.5, 20_001)[:, None])
    np.testing.assert_allclose([offsets.max(), slopes.max()], 6.0, rtol=1e-3)
    np.testing.assert_allclose(norms_at(surrogate, places), 1.0)
    fooled = decoder_constants(surrogate, mesh, max_points=100)
    assert fooled.num_points == 133
    assert not fooled.rigorous
    fine = decoder_constants(surrogate, mesh)
    assert fine.rigorous
    assert 6.0 <= fine.growth_slope < 6.1
    assert 6.0 <= fine.growth_offset < 6.1


@pytest.mark.parametrize("max_points", [9, 400, 2**14, 2**17])
def test_no_more_points_are_looked_at_than_allowed(max_points):
    mesh = box_grid(3)
    constants = decoder_constants(model(network().double()), mesh, max_points=max_points)
    assert constants.num_points <= max_points + mesh.num_points
    assert constants.rigorous == (max_points > 2**13)


def test_a_domain_includes_the_mesh_where_it_reaches_further():
    decoder = network().double()
    mesh = box_grid(6, BoxMap(lower=(-3.0, 2.0), upper=(1.5, 8.0)))
    constants = decoder_constants(model(decoder), mesh)
    offsets, slopes = norms_at(model(decoder), mesh.coords)
    assert constants.growth_offset >= offsets.max()
    assert constants.growth_slope >= slopes.max()
    assert constants.lipschitz <= math.sqrt(constants.measure) * constants.growth_slope


def test_longitudes_may_be_told_from_any_meridian():
    sphere = SphereMap(south=-30.0, north=30.0, west=170.0, east=200.0)
    surrogate = model(network(3, frequency_scale=3.0).double(), sphere)
    coords = random_places(sphere, 50)
    other = coords - [0.0, 360.0]
    one, two = (
        decoder_constants(surrogate, scattered_mesh(each, "sphere")) for each in (coords, other)
    )
    assert one.growth_slope == pytest.approx(two.growth_slope, rel=1e-9)
    assert one.lipschitz == pytest.approx(two.lipschitz, rel=1e-9)


@pytest.mark.parametrize("on_sphere", [False, True])
def test_lipschitz_constant_agrees_with_dense_quadrature(on_sphere):
    domain = SphereMap() if on_sphere else BOX
    surrogate = model(network(domain.decoder_dim, frequency_scale=4.0).double(), domain)
    coarse, fine = (globe(24), globe(96)) if on_sphere else (box_grid(24), box_grid(150))
    with torch.no_grad():
        modes = surrogate.decoder.basis(torch.as_tensor(domain(fine.coords))).modes.numpy()
    gram = modes.T @ (fine.weights[:, None] * modes)
    expected = 2.0 * math.sqrt(np.linalg.eigvalsh(gram)[-1])
    constants = decoder_constants(surrogate, coarse, max_points=64)
    assert constants.lipschitz == pytest.approx(expected, rel=3e-3)
    assert constants.measure == pytest.approx(4 * math.pi if on_sphere else 6.0)


def test_lipschitz_bound_holds_for_all_latents_and_is_attained():
    surrogate, mesh = model(network().double()), box_grid(10)
    constants = decoder_constants(surrogate, mesh, max_points=64)
    with torch.no_grad():
        modes = surrogate.decoder.basis(torch.as_tensor(BOX(mesh.coords))).modes.numpy()

    def distance(codes):
        fields = np.array([2.0, 0.5])[:, None] * (codes @ modes.T)
        return math.sqrt((mesh.weights * fields**2).sum())

    for codes in np.random.default_rng(0).normal(size=(200, 2, 3)):
        assert distance(codes) <= constants.lipschitz * np.linalg.norm(codes) * (1 + 1e-12)
    gram = modes.T @ (mesh.weights[:, None] * modes)
    worst = np.array([np.linalg.eigh(gram)[1][:, -1], np.zeros(3)])
    assert distance(worst) == pytest.approx(constants.lipschitz, rel=1e-12)


def test_field_bound_holds_for_every_state_in_the_ball():
    surrogate, mesh = model(network().double()), box_grid(10)
    constants = decoder_constants(surrogate, mesh)
    normalization = surrogate.description.normalization
    rng = np.random.default_rng(1)
    centre = rng.normal(size=6)
    bound = field_bound(constants, np.linalg.norm(centre), 2.5)
    assert bound == pytest.approx(
        oracle.field_bound(
            constants.measure,
            constants.growth_offset,
            constants.growth_slope,
            np.linalg.norm(centre),
            2.5,
        )
    )
    with torch.no_grad():
        basis = surrogate.decoder.basis(torch.as_tensor(BOX(mesh.coords)))
    for direction in rng.normal(size=(200, 6)):
        state = centre + 2.5 * direction / np.linalg.norm(direction)
        fields = normalization.undo(basis.decode(torch.tensor(state.reshape(2, 3))).numpy())
        assert math.sqrt((mesh.weights * fields**2).sum()) <= bound


def test_another_unit_of_the_field_scales_every_constant():
    decoder, mesh = network().double(), box_grid(6)
    one = decoder_constants(model(decoder), mesh)
    ten = decoder_constants(model(decoder, shift=(3.0, -10.0), scale=(20.0, 5.0)), mesh)
    for name in ("growth_offset", "growth_slope", "lipschitz"):
        assert getattr(ten, name) == pytest.approx(10 * getattr(one, name), rel=1e-12)
    assert ten.measure == one.measure


def test_only_the_largest_scale_sets_slope_and_lipschitz_constant():
    decoder, mesh = network().double(), box_grid(6)
    one = decoder_constants(model(decoder), mesh)
    smaller = decoder_constants(model(decoder, scale=(2.0, 0.05)), mesh)
    assert smaller.growth_slope == pytest.approx(one.growth_slope, rel=1e-12)
    assert smaller.lipschitz == pytest.approx(one.lipschitz, rel=1e-12)
    larger = decoder_constants(model(decoder, scale=(2.0, 5.0)), mesh)
    assert larger.growth_slope == pytest.approx(2.5 * one.growth_slope, rel=1e-12)
    assert larger.lipschitz == pytest.approx(2.5 * one.lipschitz, rel=1e-12)


def test_another_unit_of_space_scales_measure_and_lipschitz_constant_only():
    decoder = network().double()
    wide = BoxMap(lower=(-10.0, 20.0), upper=(10.0, 50.0))
    one = decoder_constants(model(decoder), box_grid(6))
    ten = decoder_constants(model(decoder, wide), box_grid(6, wide))
    assert ten.measure == pytest.approx(100 * one.measure)
    assert ten.lipschitz == pytest.approx(10 * one.lipschitz)
    assert ten.growth_slope == pytest.approx(one.growth_slope)
    assert ten.growth_offset == pytest.approx(one.growth_offset)


def test_the_planted_waves_have_their_known_constants():
    """Four pairs of sine and cosine: ‖J₀‖² = 4 everywhere, no offset."""
    surrogate = planted(trajectories()).surrogate_
    constants = decoder_constants(surrogate, surrogate.mesh)
    assert constants.rigorous
    assert constants.growth_offset == 0.0
    assert constants.growth_slope == pytest.approx(2.0, rel=1e-2)
    assert isinstance(constants, DecoderConstants)


def test_single_precision_decoders_are_left_as_they_are():
    decoder = network()
    before = {name: value.clone() for name, value in decoder.state_dict().items()}
    decoder_constants(model(decoder), box_grid(4), max_points=16)
    for name, value in decoder.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, before[name])


class Gaussian(Decoder):
    """A decoder about which nothing is known but its values."""

    latent_dim, coordinate_dim = 1, 2

    def basis(self, coords):
        bump = torch.exp(-1e6 * (coords - 0.2501).square().sum(-1))
        return Basis(bump, bump[:, None])

    def change_gauge(self, matrix, shift):
        raise AssertionError("nobody asks")


def test_nothing_is_proven_about_other_decoders():
    constants = decoder_constants(model(Gaussian()), box_grid(4))
    assert not constants.rigorous
    assert math.isfinite(constants.growth_slope)
