"""An evaluation equals loops over decoded fields, and says plainly what it found."""

import dataclasses
import json
import math

import numpy as np
import pytest
import torch

from smore.data import Normalization, Trajectories, fit_coordinate_map, make_blocks
from smore.data.timeline import Timeline
from smore.decoder import FilterNetwork
from smore.evaluation import Evaluation, evaluate_latents

DIM, HORIZON = 3, 3


def trajectories(kind, num_points=7):
    """Two channels of very different size."""
    rng = np.random.default_rng(0)
    lengths = [5, 5, 5] if kind == "plain" else [5, 2, 4]
    sizes = [num_points, num_points + 2 * (kind != "plain"), num_points]
    scale = np.array([1.0, 300.0])[:, None]
    fields = [scale * rng.normal(2, 1, size=(t, 2, n)) for t, n in zip(lengths, sizes, strict=True)]
    if kind == "masked":
        for values in fields:
            values[rng.uniform(size=values.shape) < 0.3] = np.nan
    coords = [rng.uniform(size=(n, 2)) for n in sizes]
    return Trajectories.from_arrays(
        fields,
        coords[0] if kind == "plain" else coords,
        [np.arange(float(t)) for t in lengths],
        channels=["u", "v"],
        missing="mask",
    )


def evaluate(data, chunk_size=None):
    """The evaluation, and what it was made from."""
    normalization, coordinate_map = Normalization.fit(data), fit_coordinate_map(data)
    generator = torch.Generator().manual_seed(0)
    decoder = FilterNetwork(2, DIM, 8, 1, generator=generator).double()
    timeline = Timeline.of(data)
    forecast = torch.randn(timeline.num_snapshots, 2, DIM, generator=generator).double()
    climatology = torch.randn(2, DIM, generator=generator).double()
    variance = torch.tensor([1.5, 7e4], dtype=torch.float64)
    evaluation = evaluate_latents(
        decoder,
        make_blocks(data, normalization, coordinate_map, dtype=torch.float64),
        forecast,
        climatology,
        data,
        timeline,
        scale=torch.tensor(normalization.scale, dtype=torch.float64),
        variance=variance,
        horizon=HORIZON,
        chunk_size=chunk_size,
    )

    def decode(codes, sequence):
        basis = decoder.basis(torch.tensor(coordinate_map(sequence.mesh.coords))).detach()
        return normalization.undo(basis.decode(codes).numpy())

    return evaluation, decode, forecast, climatology, variance.numpy()


def literal(data, predict, variance, steps):
    """(MSE, NMSE) of `predict(row, sequence, step)` over `steps`, one value at a time."""
    errors, normalised = [], []
    row = 0
    for sequence in data:
        for step in range(sequence.num_snapshots):
            fields = predict(row, sequence, step)
            for channel in range(2):
                for point in range(sequence.mesh.num_points):
                    known = sequence.observed is None or sequence.observed[step, channel, point]
                    if step in steps and known and np.isfinite(fields[channel, point]):
                        truth = sequence.fields[step, channel, point]
                        error = float(fields[channel, point] - truth) ** 2
                        errors.append(error)
                        normalised.append(error / variance[channel])
            row += 1
    return (np.mean(errors), np.mean(normalised)) if errors else (None, None)


def best_fit(decode, sequence, step):
    """What decoding can make of one snapshot."""
    seen = np.ones((2, sequence.mesh.num_points), bool)
    seen = seen if sequence.observed is None else sequence.observed[step]
    offset = decode(torch.zeros(2, DIM).double(), sequence)
    fields = np.full_like(offset, np.nan)
    for channel in range(2):
        columns = [
            decode(direction.expand(2, DIM), sequence)[channel] - offset[channel]
            for direction in torch.eye(DIM).double()
        ]
        modes, target = np.stack(columns, 1), sequence.fields[step, channel] - offset[channel]
        codes = np.linalg.lstsq(modes[seen[channel]], target[seen[channel]], rcond=None)[0]
        fields[channel] = offset[channel] + modes @ codes
    return fields


@pytest.mark.parametrize("kind", ["plain", "ragged", "masked"])
@pytest.mark.parametrize("chunk_size", [None, 3])
def test_every_number_is_a_mean_over_values_in_the_datas_units(kind, chunk_size):
    data = trajectories(kind)
    evaluation, decode, forecast, climatology, variance = evaluate(data, chunk_size)

    def forecast_at(row, sequence, _):
        return decode(forecast[row], sequence)

    def climatology_at(_, sequence, __):
        return decode(climatology, sequence)

    def persistence_at(_, sequence, __):
        first = sequence.fields[0].astype(float)
        return first if sequence.observed is None else np.where(sequence.observed[0], first, np.nan)

    later = range(1, 5)
    expected = {
        ("in_horizon_mse", "in_horizon_nmse"): (forecast_at, range(1, HORIZON)),
        ("extrapolation_mse", "extrapolation_nmse"): (forecast_at, range(HORIZON, 5)),
        ("full_mse", "full_nmse"): (forecast_at, later),
        ("persistence_mse", "persistence_nmse"): (persistence_at, later),
        ("climatology_mse", "climatology_nmse"): (climatology_at, later),
    }
    for names, (predict, steps) in expected.items():
        found = [getattr(evaluation, name) for name in names]
        assert found == pytest.approx(literal(data, predict, variance, steps), rel=1e-9), names
    for step in later:
        mse, nmse = literal(data, forecast_at, variance, [step])
        kept, _ = literal(data, persistence_at, variance, [step])
        assert evaluation.per_step_mse[step - 1] == pytest.approx(mse)
        assert evaluation.per_step_nmse[step - 1] == pytest.approx(nmse)
        assert evaluation.persistence_per_step_mse[step - 1] == pytest.approx(kept)


@pytest.mark.parametrize("kind", ["plain", "ragged", "masked"])
@pytest.mark.parametrize("chunk_size", [None, 7])
def test_the_decoder_alone_fits_every_snapshot_by_itself(kind, chunk_size):
    data = trajectories(kind, num_points=70)
    evaluation, decode, _, _, variance = evaluate(data, chunk_size)

    def fitted_at(_, sequence, step):
        return best_fit(decode, sequence, step)

    for names, steps in (
        (("decoder_mse", "decoder_nmse"), range(1, 5)),
        (("decoder_in_horizon_mse",), range(1, HORIZON)),
        (("decoder_extrapolation_mse",), range(HORIZON, 5)),
    ):
        expected = literal(data, fitted_at, variance, steps)[: len(names)]
        found = [getattr(evaluation, name) for name in names]
        assert found == pytest.approx(expected, rel=1e-9), names
    assert evaluation.decoder_share == evaluation.decoder_nmse / evaluation.full_nmse < 1


def test_few_values_say_nothing_about_the_decoder_but_none_at_all_do_no_harm():
    data = trajectories("plain", num_points=30)  # ten per latent
    fields = np.stack([sequence.fields for sequence in data])
    first = data.sequences[0]

    def share(*gone):
        given = fields.copy()
        given[gone] = np.nan
        data = Trajectories.from_arrays(given, first.mesh.coords, first.times, missing="mask")
        return evaluate(data)[0].decoder_share

    assert 0 < share(1, 2, 1) < 1  # a channel of a snapshot is missing
    assert share(1, 2, 1, 3) is None  # one value is


@pytest.mark.parametrize("kind", ["plain", "ragged", "masked"])
def test_relative_error_is_the_norm_of_the_error_over_the_norm_of_the_truth(kind):
    data = trajectories(kind)
    evaluation, decode, forecast, _, _ = evaluate(data)
    for channel, name in enumerate(["u", "v"]):
        error = truth = 0.0
        row = 0
        for sequence in data:
            for step in range(sequence.num_snapshots):
                fields = decode(forecast[row], sequence)[channel]
                row += 1
                for point in range(sequence.mesh.num_points):
                    if step == 0 or (
                        sequence.observed is not None
                        and not sequence.observed[step, channel, point]
                    ):
                        continue
                    value = float(sequence.fields[step, channel, point])
                    error += (float(fields[point]) - value) ** 2
                    truth += value**2
        assert evaluation.relative_l2[name] == pytest.approx(math.sqrt(error / truth))


def judged(full, persistence, climatology) -> Evaluation:
    evaluation, *_ = evaluate(trajectories("plain"))
    return dataclasses.replace(
        evaluation, full_nmse=full, persistence_nmse=persistence, climatology_nmse=climatology
    )


@pytest.mark.parametrize(
    ("full", "persistence", "climatology", "unbeaten"),
    [
        (2.0, 1.0, 3.0, ["persistence"]),
        (2.0, 3.0, 1.0, ["climatology"]),
        (2.0, 1.0, 1.0, ["persistence", "climatology"]),
        (1.0, 1.0, 2.0, ["persistence"]),  # a draw is not a win
        (math.nan, 1.0, 1.0, ["persistence", "climatology"]),
        (math.inf, 1.0, 1.0, ["persistence", "climatology"]),
    ],
)
def test_a_forecast_that_beats_no_reference_is_told_so(full, persistence, climatology, unbeaten):
    evaluation = judged(full, persistence, climatology)
    assert not evaluation.beats_references
    assert f"does not beat {' or '.join(unbeaten)}:" in evaluation.verdict()
    assert evaluation.to_dict()["beats_references"] is False


def test_a_good_forecast_is_told_how_good():
    evaluation = judged(0.5, 5.0, 1.0)
    assert evaluation.beats_references
    assert "10 times below persistence" in evaluation.verdict()
    assert "2 times below climatology" in evaluation.verdict()


def test_a_perfect_forecast_has_a_verdict():
    evaluation = judged(0.0, 5.0, 1.0)
    assert evaluation.beats_references
    assert "does not beat" not in evaluation.verdict()


def test_a_reference_that_could_not_be_computed_is_not_said_to_be_better():
    """Persistence needs points seen at both times, and drifting sensors may have none."""
    evaluation = judged(0.5, math.nan, 1.0)
    assert "does not beat persistence" not in evaluation.verdict()


def test_numbers_are_json_even_where_a_step_was_not_observed():
    data = trajectories("plain")
    fields = np.stack([sequence.fields for sequence in data])
    fields[:, 2] = np.nan
    first = data.sequences[0]
    gap = Trajectories.from_arrays(fields, first.mesh.coords, first.times, missing="mask")
    evaluation, *_ = evaluate(gap)
    json.dumps(evaluation.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("decoder", "told"),
    [
        (0.4, "leaves 80% of it: what the modes do not hold"),
        (
            0.25,
            "leaves 50.00% of it; dynamics and initial states add the rest",
        ),
        (0.05, "leaves 10.00% of it; dynamics"),
        (None, None),
        (math.nan, None),
    ],
)
def test_what_the_error_consists_of_is_told_where_it_is_known(decoder, told):
    """Whether that is noise nobody knows: data may be free of it."""
    evaluation = dataclasses.replace(judged(0.5, 5.0, 1.0), decoder_nmse=decoder)
    limit = evaluation.limit()
    assert "noise" not in (limit or "")
    assert limit is None if told is None else told in limit


@pytest.mark.parametrize("last", [4.0, math.nan, math.inf])
def test_the_steps_that_persistence_wins_are_told(last):
    """A draw counts, and so does a forecast without a value; what nobody observed does not."""
    evaluation = dataclasses.replace(
        judged(0.5, 5.0, 1.0),
        per_step_mse=(3.0, 1.0, None, last, 1.0, None, 1.0),
        persistence_per_step_mse=(2.0, 2.0, 2.0, 4.0, None, None, 2.0),
    )
    told = "climatology, but above persistence at steps 1 and 4."
    assert evaluation.verdict().endswith(told)


def test_a_forecast_that_always_wins_has_no_such_step():
    evaluation = dataclasses.replace(
        judged(0.5, 5.0, 1.0), per_step_mse=(1.0, None), persistence_per_step_mse=(2.0, None)
    )
    assert evaluation.verdict().endswith("2 times below climatology.")
