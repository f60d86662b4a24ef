"""A file that is intact but forged: what does not fit is refused by its name, nothing is built."""

import json
import time

import pytest
import torch

from smore import SMORE
from smore.errors import ModelFileError
from smore.model_file.container import load_file, save_file
from smore.surrogate.description import TrainingRecord
from waves import trajectories


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Tensors and description of a small model."""
    path = tmp_path_factory.mktemp("model") / "model"
    sizes = {"latent_dim": 4, "hidden_dim": 8, "num_hidden": 2, "dynamics": "lrlq", "rank": 2}
    model = SMORE(**sizes, recipe="paper", epochs=1, fit_steps=2)
    model.fit(trajectories(), progress=False).save(path)
    return load_file(path)


@pytest.fixture
def load(saved, tmp_path):
    """Load the model with changes to its tensors (None removes one) and its description."""

    def load(tensors=None, describe=None):
        stored, text = saved
        told = json.loads(text)
        if describe is not None:
            describe(told["description"])
        changed = {n: t for n, t in (stored | (tensors or {})).items() if t is not None}
        save_file(tmp_path / "model.smore", changed, json.dumps(told))
        return SMORE.load(tmp_path / "model.smore", device="cpu")

    return load


def test_what_is_not_changed_is_loaded(load):
    assert load().num_parameters > 0


def test_settings_of_before_are_let_pass_at_the_value_that_means_what_is_done_now(load):
    assert load(describe=lambda told: told["settings"].update(finetune_steps=0)).num_parameters > 0
    with pytest.raises(ModelFileError, match="finetune_steps"):
        load(describe=lambda told: told["settings"].update(finetune_steps=5))


@pytest.mark.parametrize("size", [5, 10**6, 2**40, 2**63, 10**30, 10**400])
@pytest.mark.parametrize("name", ["latent_dim", "hidden_dim", "num_hidden", "rank"])
def test_settings_that_ask_for_more_than_there_is(name, size, load):
    """At once: neither memory nor time goes into networks that cannot be filled."""
    started = time.monotonic()
    with pytest.raises(ModelFileError, match=r"model\.smore does not describe a model"):
        load(describe=lambda told: told["settings"].update({name: 2 * size}))
    assert time.monotonic() - started < 1.0


def test_each_size_is_refused_by_its_name(load):
    for name in ("latent_dim", "hidden_dim", "num_hidden", "rank"):
        with pytest.raises(ModelFileError, match=name):
            load(describe=lambda told, name=name: told["settings"].update({name: 10**9}))


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_numbers_that_are_none_are_refused_by_the_name_of_their_tensor(value, saved, load):
    for name, tensor in saved[0].items():
        if tensor.is_floating_point():
            changed = tensor.clone()
            changed.view(-1)[-1] = value
            with pytest.raises(ModelFileError, match=f"tensor '{name}' must be finite"):
                load({name: changed})


def test_wrong_types_shapes_and_names_are_refused(saved, load):
    for name, tensor in saved[0].items():
        for changed in (tensor.to(torch.float16), tensor[None], tensor.expand(3, *tensor.shape)):
            with pytest.raises(ModelFileError, match=rf"tensor '{name}' has .*, expected "):
                load({name: changed})
        if not name.endswith("count"):
            with pytest.raises(ModelFileError, match=name.split(".")[0]):
                load({name: None})
        with pytest.raises(ModelFileError, match=f"tensor '{name}.more' that no such model has"):
            load({f"{name}.more": tensor})


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"time_step": float("nan")}, "time_step"),
        ({"time_step": -1.0}, "time_step"),
        ({"residual_variance": [1.0]}, "residual_variance"),
        ({"noise_growth": []}, "noise_growth"),
        ({"space": {"names": ["x"], "units": [""]}}, "coordinate map"),
        ({"coordinate_map": {"kind": "sphere"}}, "coordinate map"),
        ({"coordinate_map": {"kind": "box", "lower": [0, 0], "upper": [1, 0]}}, "box"),
        ({"mesh": {"dims": ["p"], "shape": [-40], "coordinate_dims": [["p"], ["p"]]}}, "size"),
        ({"mesh": {"dims": ["p"], "shape": [4, 10], "coordinate_dims": [["p"], ["p"]]}}, "size"),
        ({"mesh": {"dims": ["p"], "shape": [40], "coordinate_dims": [["q"], ["p"]]}}, "ones of"),
        ({"mesh": {"dims": ["p"] * 2, "shape": [1, 40], "coordinate_dims": [["p"]] * 2}}, "ones"),
        ({"mesh": {"dims": ["p"], "shape": [40], "coordinate_dims": [["p", "p"]] * 2}}, "ones"),
        ({"mesh": {"dims": ["p"], "shape": [40], "coordinate_dims": [["p"]]}}, "mesh"),
        ({"mesh": {"dims": ["p"], "shape": [10**30], "coordinate_dims": [["p"]] * 2}}, "mesh"),
        ({"mesh": None}, "mesh"),
        ({"channels": [{"name": "u"}]}, "channels"),
        ({"\x1b[2J": 1}, "2J"),
        ({"coordinate_map": {"kind": "\x1b[2J"}}, "2J"),
        ({"horizon": "\ud800"}, "horizon"),
    ],
    ids=str,
)
def test_a_description_that_contradicts_itself_is_refused(changes, named, load):
    with pytest.raises(ModelFileError, match=named) as told:
        load(describe=lambda description: description.update(changes))
    assert str(told.value).isprintable()


def test_what_was_never_observed_is_there_if_the_description_says_so(load):
    seen = torch.ones(2, 40, dtype=torch.uint8)
    seen[0, :3], seen[1, 5] = 0, 255  # no file of ours has such a byte, but it is not 0

    def describe(told):
        told["mesh"]["has_unseen"] = True

    found = load({"mesh.seen": seen}, describe).surrogate_.seen
    assert found.tolist() == (seen > 0).tolist()
    with pytest.raises(ModelFileError, match=r"no tensor 'mesh\.seen', expected uint8.*\(2, 40\)"):
        load(describe=describe)
    with pytest.raises(ModelFileError, match=r"tensor 'mesh\.seen' that no such model has"):
        load({"mesh.seen": seen})
    with pytest.raises(ModelFileError, match=r"'mesh\.seen' has bool.*expected uint8"):
        load({"mesh.seen": seen.bool()}, describe)


@pytest.mark.parametrize("name", ["latent_dim", "hidden_dim", "time_scale", "rank"])
def test_a_choice_that_was_not_made_is_refused(name, load):
    with pytest.raises(ModelFileError, match=f"{name} was not chosen"):
        load(describe=lambda told: told["settings"].update({name: None}))


def test_a_very_long_history_is_thinned_so_that_it_fits(load):
    stages = [[number, 0.5] for number in range(20_001)]
    loaded = load(describe=lambda told: told["training"].update(history=stages[:4_000]))
    assert len(loaded.surrogate_.description.training.history) == 4_000
    record = TrainingRecord(
        **loaded.surrogate_.description.training.model_dump() | {"history": stages}
    )
    assert [stage for stage, _ in record.history] == list(range(0, 20_001, 5))


@pytest.mark.parametrize("text", ["", "[]", "null", "{" * 10**5, '"\ud800"', "[" * 10**6])
def test_a_description_that_is_none_is_refused(text, saved, tmp_path):
    save_file(tmp_path / "model.smore", saved[0], text)
    with pytest.raises(ModelFileError, match=r"model\.smore does not describe a model"):
        SMORE.load(tmp_path / "model.smore")
