"""What is kept to be beaten: means and a DMD of the data themselves, found again in a file."""

import json

import numpy as np
import pytest
import torch

from seasons import record
from smore import SMORE, Settings
from smore.errors import ModelFileError
from smore.model_file.container import load_file, save_file
from smore.surrogate import PodDmd
from smore.training import _references as keeping
from smore.training.preparing import prepare


@pytest.fixture(scope="module")
def model():
    return SMORE().fit(record(), progress=False)


def normalised(model, data):
    """(times, channels, points), 0 on land."""
    (sequence,) = data
    fields = model.surrogate_.description.normalization.apply(sequence.fields.astype(float))
    return fields * sequence.observed


def test_means_are_those_of_the_data(model):
    references, data = model.surrogate_.references, record()
    fields = normalised(model, data)
    np.testing.assert_allclose(references.mean, fields.mean(0), atol=1e-12)
    for month in range(12):
        expected = np.mean([fields[t] for t in range(40) if t % 12 == month], axis=0)
        np.testing.assert_allclose(references.monthly[month], expected, atol=1e-6)
    times, clock = data.sequences[0].times, data.clock
    np.testing.assert_array_equal(
        references.seasonal(times[14:15], clock)[0], references.monthly[2]
    )


def test_the_dmd_is_plain_least_squares_in_leading_singular_vectors(model):
    dmd, fields = model.surrogate_.references.dmd, normalised(model, record()).reshape(40, -1)
    literal = PodDmd.fit([fields], dmd.modes.shape[1])
    first = fields[5]
    np.testing.assert_allclose(dmd.forecast(first, 9), literal.forecast(first, 9), atol=1e-8)


def test_references_are_found_again_in_the_file(model, tmp_path):
    model.save(tmp_path / "model.smore")
    kept, found = model.surrogate_.references, SMORE.load(tmp_path / "model.smore")
    references = found.surrogate_.references
    np.testing.assert_array_equal(references.mean, kept.mean)
    np.testing.assert_array_equal(references.monthly, kept.monthly)
    np.testing.assert_array_equal(references.dmd.modes, kept.dmd.modes)
    np.testing.assert_array_equal(references.dmd.step, kept.dmd.step)
    np.testing.assert_array_equal(references.dmd.mean, kept.dmd.mean)


@pytest.mark.parametrize(
    ("told", "named"),
    [
        ({"rank": 0}, "reference.modes"),
        ({"rank": 10**12}, "reference.modes"),
        ({"rank": -1}, "rank"),
        ({"monthly": False}, "reference.monthly"),
        (None, "reference.mean"),
    ],
)
def test_a_file_whose_references_are_other_ones_than_it_says_is_refused(
    told, named, model, tmp_path
):
    model.save(tmp_path / "model.smore")
    tensors, text = load_file(tmp_path / "model.smore")
    story = json.loads(text)
    layout = story["description"]["references"]
    story["description"]["references"] = told if told is None else layout | told
    save_file(tmp_path / "model.smore", tensors, json.dumps(story))
    with pytest.raises(ModelFileError, match=named):
        SMORE.load(tmp_path / "model.smore")


def test_a_file_of_before_has_none(model, tmp_path):
    model.save(tmp_path / "model.smore")
    tensors, text = load_file(tmp_path / "model.smore")
    tensors = {name: each for name, each in tensors.items() if not name.startswith("reference.")}
    story = json.loads(text)
    del story["description"]["references"]
    save_file(tmp_path / "model.smore", tensors, json.dumps(story))
    assert SMORE.load(tmp_path / "model.smore").surrogate_.references is None


def test_where_room_is_short_the_dmd_goes_first(monkeypatch):
    kept = []
    for per_value in (8 + 48 + 8, 8 + 48, 8, 7):
        monkeypatch.setattr(keeping, "MOST_BYTES", 18 * per_value)
        references = SMORE().fit(record(), progress=False).surrogate_.references
        kept.append(
            None
            if references is None
            else (references.monthly is not None, references.dmd is not None)
        )
    assert kept == [(True, True), (True, False), (False, False), None]


@pytest.mark.parametrize(
    ("num_times", "freq", "monthly"),
    [(24, "MS", True), (23, "MS", False), (24, "QS", False), (735, "D", True), (700, "D", False)],
)
def test_months_need_two_years_and_short_steps(num_times, freq, monthly):
    data = record(num_times, freq)
    prepared = prepare(data, None, Settings(), torch.device("cpu"))
    references = keeping.make_references(prepared, None)
    assert (references.monthly is not None) == monthly
    fields = prepared.normalization.apply(data.sequences[0].fields) * data.sequences[0].observed
    np.testing.assert_allclose(references.mean, fields.mean(0), atol=1e-9)
