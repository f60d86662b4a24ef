"""A model file is whole, or refused; a failed write leaves what was there."""

import os
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file as save_safetensors

from smore.errors import ModelFileError
from smore.storage import FORMAT, VERSION, load_file, save_file

TENSORS = {
    "weights": torch.randn(7, 5, generator=torch.Generator().manual_seed(0)),
    "transposed": torch.arange(6.0, dtype=torch.float64).view(2, 3).T,
    "scalar": torch.tensor(3.5),
    "rows": torch.tensor([1, -(2**40)]),
    "mask": torch.tensor([True, False, True]),
    "nothing": torch.zeros(0, 4),
    "odd values": torch.tensor([torch.nan, -0.0, torch.inf, 1e-45]),
}
DESCRIPTION = '{"name": "Wärme", "units": "m·s⁻¹", "quote": "\\"\\\\"}'


def same_bits(ours, theirs):
    return (
        ours.dtype == theirs.dtype
        and ours.shape == theirs.shape
        and ours.contiguous().view(-1).view(torch.uint8).tolist()
        == theirs.contiguous().view(-1).view(torch.uint8).tolist()
    )


def same(tensors):
    return tensors.keys() == TENSORS.keys() and all(
        same_bits(tensors[name], TENSORS[name]) for name in TENSORS
    )


@pytest.fixture
def path(tmp_path):
    save_file(tmp_path / "model.smore", TENSORS, DESCRIPTION)
    return tmp_path / "model.smore"


def test_what_was_saved_is_loaded_bit_by_bit(path):
    tensors, description = load_file(path)
    assert same(tensors)
    assert description == DESCRIPTION


def test_the_order_of_the_tensors_does_not_change_the_checksum(path, tmp_path):
    shuffled = {name: TENSORS[name].clone() for name in sorted(TENSORS, reverse=True)}
    save_file(tmp_path / "again", shuffled, DESCRIPTION)
    assert load_file(tmp_path / "again")[1] == load_file(path)[1]
    with safe_open(path, "pt") as one, safe_open(tmp_path / "again", "pt") as other:
        assert one.metadata() == other.metadata()


def test_parameters_are_saved_without_their_graph(tmp_path):
    weight = torch.nn.Parameter(torch.ones(3))
    save_file(tmp_path / "m", {"weight": weight * 2}, "{}")
    loaded = load_file(tmp_path / "m")[0]["weight"]
    assert loaded.tolist() == [2.0, 2.0, 2.0]
    assert not loaded.requires_grad


def test_a_changed_byte_is_never_a_different_model(path):
    """Wherever it is: header, names, description, checksum or numbers."""
    content = path.read_bytes()
    refused = 0
    for position in range(0, len(content), 3):
        for flip in (0x01, 0x20, 0x80, 0xFF):
            changed = bytearray(content)
            changed[position] ^= flip
            path.write_bytes(changed)
            try:
                tensors, description = load_file(path)
            except ModelFileError:
                refused += 1
            else:
                assert same(tensors)
                assert description == DESCRIPTION
    assert refused > 0.99 * 4 * len(range(0, len(content), 3))


def test_a_damaged_number_is_called_damage(path):
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"model.smore is damaged.*checksum"):
        load_file(path)


def test_a_part_of_a_file_is_refused(path):
    content = path.read_bytes()
    for length in [0, 1, 7, 8, 9, *range(10, len(content), 50), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"model\.smore"):
            load_file(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(ModelFileError, match=r"model\.smore"):
        load_file(path)


def test_foreign_files_are_refused_as_such(tmp_path):
    path = tmp_path / "other.safetensors"
    save_safetensors({"weight": torch.ones(2)}, path)
    with pytest.raises(ModelFileError, match="not a smore model"):
        load_file(path)
    save_safetensors({"weight": torch.ones(2)}, path, metadata={"format": "pt"})
    with pytest.raises(ModelFileError, match="not a smore model"):
        load_file(path)
    torch.save({"weight": torch.ones(2)}, path)
    with pytest.raises(ModelFileError, match="cannot be read as a model file"):
        load_file(path)


def test_what_is_not_there_or_not_a_file(tmp_path):
    with pytest.raises(ModelFileError, match=r"no model file at .*nothing"):
        load_file(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="no model file"):
        load_file(tmp_path)


def test_a_newer_version_is_refused_by_its_number(tmp_path):
    path = tmp_path / "new"
    for version in (str(VERSION + 1), "2026.1", ""):
        metadata = {"format": FORMAT, "version": version, "description": "{}", "sha256": ""}
        save_safetensors({"weight": torch.ones(2)}, path, metadata=metadata)
        with pytest.raises(ModelFileError, match=f"version {version}, .* up to {VERSION}"):
            load_file(path)


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(path, failing, error, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise error("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(error):
            save_file(path, {"weight": torch.ones(1000)}, "{}")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_writing_replaces_the_old_file_and_makes_folders(path):
    save_file(path, {"weight": torch.ones(2)}, "{}")
    assert list(load_file(path)[0]) == ["weight"]
    below = path.parent / "a" / "b" / "model"
    save_file(below, TENSORS, DESCRIPTION)
    assert same(load_file(below)[0])
    assert list(below.parent.iterdir()) == [below]


def test_a_model_file_can_be_read_by_whoever_may_read_other_files(path):
    other: Path = path.parent / "other"
    other.write_text("")
    assert oct(path.stat().st_mode) == oct(other.stat().st_mode)
