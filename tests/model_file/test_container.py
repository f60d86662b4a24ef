"""A file is whole, or refused; a failed write leaves what was there."""

import errno
import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file as save_safetensors

from forged_files import FORGED_HEADERS, forge
from smore.errors import ModelFileError
from smore.model_file._header import LONGEST_HEADER, MOST_TENSORS
from smore.model_file.container import CHECKPOINT, MODEL, load_file, save_file
from smore.runtime import atomic_file

TENSORS = {
    "weights": torch.randn(7, 5, generator=torch.Generator().manual_seed(0)),
    "transposed": torch.arange(6.0, dtype=torch.float64).view(2, 3).T,
    "scalar": torch.tensor(3.5),
    "rows": torch.tensor([1, -(2**40)]),
    "mask": torch.tensor([True, False, True]),
    "nothing": torch.zeros(0, 4),
    "half": torch.arange(3).bfloat16(),
    "bytes": torch.arange(5, dtype=torch.uint8),
    "odd values": torch.tensor([torch.nan, -0.0, torch.inf, 1e-45]),
}
DESCRIPTION = '{"name": "Wärme", "units": "m·s⁻¹", "quote": "\\"\\\\", "lone": "\ud800"}'


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


# What is written


@pytest.mark.parametrize("kind", [MODEL, CHECKPOINT])
def test_what_was_saved_is_loaded_bit_by_bit(kind, tmp_path):
    save_file(tmp_path / "file", TENSORS, DESCRIPTION, kind)
    tensors, description = load_file(tmp_path / "file", kind)
    assert same(tensors)
    assert description == DESCRIPTION


def test_it_is_a_safetensors_file_for_others(tmp_path):
    save_file(tmp_path / "file", TENSORS, "text")
    with safe_open(tmp_path / "file", "pt") as file:
        assert same({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        assert file.metadata()["description"] == "text"


def test_the_order_of_the_tensors_does_not_change_a_byte(path, tmp_path):
    shuffled = {name: TENSORS[name].clone() for name in sorted(TENSORS, reverse=True)}
    save_file(tmp_path / "again", shuffled, DESCRIPTION)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_parameters_are_saved_without_their_graph(tmp_path):
    weight = torch.nn.Parameter(torch.ones(3))
    save_file(tmp_path / "m", {"weight": weight * 2}, "{}")
    loaded = load_file(tmp_path / "m")[0]["weight"]
    assert loaded.tolist() == [2.0, 2.0, 2.0]
    assert not loaded.requires_grad


def test_loaded_tensors_own_aligned_memory(path):
    """Results may depend on alignment: a loaded model must compute what the saved one did."""
    tensors = load_file(path)[0]
    assert all(tensor.data_ptr() % 64 == 0 for tensor in tensors.values() if tensor.numel())


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    scalar = torch.tensor(1.0)
    for tensors, description in (
        ({"../weight": scalar}, "{}"),
        ({"": scalar}, "{}"),
        ({"weight": scalar}, "x" * LONGEST_HEADER),
        ({f"w{number}": scalar for number in range(MOST_TENSORS + 1)}, "{}"),
    ):
        with pytest.raises(ModelFileError, match=r"cannot be written to .*model"):
            save_file(tmp_path / "model", tensors, description)
    assert not list(tmp_path.iterdir())


# Damage


def test_any_changed_byte_is_refused(path):
    """Wherever it is: header, names, description, checksum, padding or numbers."""
    content = path.read_bytes()
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"model\.smore"):
            load_file(path)


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


# Foreign files


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


def test_a_checkpoint_is_no_model_and_a_model_no_checkpoint(tmp_path):
    path = tmp_path / "file"
    save_file(path, TENSORS, "{}", CHECKPOINT)
    with pytest.raises(ModelFileError, match=r"file is not a smore model.*smore-checkpoint"):
        load_file(path)
    save_file(path, TENSORS, "{}")
    with pytest.raises(ModelFileError, match=r"file is not a smore checkpoint.*smore-model"):
        load_file(path, CHECKPOINT)


def test_what_is_not_there_or_not_a_file(tmp_path):
    with pytest.raises(ModelFileError, match=r"no model file at .*nothing"):
        load_file(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "loop", tmp_path / "zero"):
        with pytest.raises(ModelFileError, match=f"no model file at {path}"):
            load_file(path)


def test_a_newer_version_is_refused_by_its_number_if_it_is_intact(tmp_path):
    path = tmp_path / "new"
    save_file(path, TENSORS, "{}", replace(MODEL, version=17))
    with pytest.raises(ModelFileError, match=r"version 17, .* written by a newer smore; update"):
        load_file(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="damaged"):
        load_file(path)


def test_a_newer_version_is_told_whatever_it_does_about_checksums(tmp_path):
    path = tmp_path / "new"
    told = r"version 99, this smore reads 2 only: .* written by a newer smore; update smore"
    metadata = {"format": "smore-model", "version": "99", "description": "{}"}
    save_safetensors({"weight": torch.ones(2)}, path, metadata=metadata)
    with pytest.raises(ModelFileError, match=f"{path} has model format {told}"):
        load_file(path)
    save_file(path, TENSORS, "{}")
    path.write_bytes(path.read_bytes().replace(b'"version":"2"', b'"version":"99"'))
    with pytest.raises(ModelFileError, match=f"{path} is damaged: .*; or else .*{told}"):
        load_file(path)


def test_a_newer_version_may_declare_what_this_one_does_not_know(tmp_path):
    path = tmp_path / "new"
    path.write_bytes(forge({"weight": {"dtype": "F4"}}, version="3", more="text"))
    with pytest.raises(ModelFileError, match=r"version 3, .* newer smore"):
        load_file(path)


def test_a_file_of_version_1_is_to_be_fitted_again(tmp_path):
    path = tmp_path / "old"
    metadata = {"format": "smore-model", "version": "1", "description": "{}", "sha256": "0" * 64}
    save_safetensors({"weight": torch.ones(2)}, path, metadata=metadata)
    with pytest.raises(ModelFileError, match=r"version 1, .* older smore; fit the model again"):
        load_file(path)


@pytest.mark.parametrize("version", ["²", "-1", "", "1e9", "9" * 5000, "2.0"])
def test_a_version_that_is_no_number_is_refused(version, tmp_path):
    (tmp_path / "file").write_bytes(forge({}, version=version))
    with pytest.raises(ModelFileError, match="version"):
        load_file(tmp_path / "file")


# Forged headers, with a checksum that is right


@pytest.mark.parametrize("what", FORGED_HEADERS)
def test_a_forged_header_is_refused(what, tmp_path):
    path = tmp_path / "forged.smore"
    path.write_bytes(FORGED_HEADERS[what])
    with pytest.raises(
        ModelFileError, match=r"forged\.smore cannot be read as a model file"
    ) as told:
        load_file(path)
    assert str(told.value).isprintable()


# Writing


@pytest.mark.parametrize("failing", ["fsync", "replace", "fchmod"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_a_failing_write_leaves_the_old_file_and_nothing_else(path, failing, number, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        message = f"cannot be written to {path}: {os.strerror(number)}"
        with pytest.raises(ModelFileError, match=message):
            save_file(path, {"weight": torch.ones(1000)}, "{}")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    before = path.read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save_file(path, {"weight": torch.ones(1000)}, "{}")
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_grows_too_large_leaves_the_old_one(path):
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(ModelFileError, match=f"cannot be written to {path}: File too large"):
            save_file(path, {"weight": torch.ones(10_000)}, "{}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_place_below_a_file_is_refused(path):
    with pytest.raises(ModelFileError, match=r"cannot be written to .*model\.smore/below"):
        save_file(path / "below", TENSORS, "{}")


def test_what_a_killed_writer_left_is_swept_up_after_an_hour(path, monkeypatch):
    """A fresh one may belong to a writer that is at work."""
    monkeypatch.setattr(os, "unlink", lambda *_: None)  # killed before it can clean up
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            save_file(path, TENSORS, "{}")
    monkeypatch.undo()
    stale, fresh = (each for each in path.parent.iterdir() if each != path)
    other = path.parent / ".smore-settings"
    other.write_text("of the user")
    for each in (stale, other):
        os.utime(each, (0, os.stat(each).st_mtime - atomic_file.STALE_SECONDS - 1))
    save_file(path, TENSORS, "{}")
    assert set(path.parent.iterdir()) == {path, fresh, other}
    atomic_file.remove_unfinished(path.parent, older_than=-1.0)
    assert set(path.parent.iterdir()) == {path, other}


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
