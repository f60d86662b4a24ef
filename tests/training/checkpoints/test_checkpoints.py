"""A training that is cut off and resumed ends bit by bit where it would have ended."""

import errno
import itertools
import math
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import torch

from smore import SMORE
from smore.decoder.residual import accumulate_reconstruction
from smore.errors import (
    CheckpointWarning,
    DivergenceError,
    InterruptedTrainingError,
    ModelFileError,
    SettingsError,
)
from smore.model_file.container import CHECKPOINT, save_file
from smore.runtime.interruption import stop_requests
from smore.training import algorithm1
from smore.training.checkpoints import checkpoints, files
from smore.training.checkpoints._tree import pack, unpack
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.checkpoints.files import checkpoint_files, discard_checkpoints
from smore.training.decoder import _variable_projection
from stopping import stopping
from waves import NUM_MODES, trajectories

SIZES = {"latent_dim": NUM_MODES, "hidden_dim": 12, "num_hidden": 1, "device": "cpu"}
RECIPES = {
    "paper": {
        "recipe": "paper",
        "dynamics": "lrlq",
        "rank": 2,
        "epochs": 9,
        "evaluate_every": 3,
        "fit_steps": 5,
        "batch_size": 2,
    },
    "koopman": {"decoder_steps": 12, "dynamics_steps": 1},
    "lrlq": {
        "dynamics": "lrlq",
        "rank": 2,
        "decoder_steps": 6,
        "dynamics_steps": 6,
    },
    "mlp": {"dynamics": "mlp", "dynamics_hidden_dim": 4, "decoder_steps": 4, "dynamics_steps": 4},
}


def fit(recipe, **options):
    return SMORE(**SIZES | RECIPES[recipe]).fit(trajectories(6, 5), progress=False, **options)


def weights(model):
    surrogate = model.surrogate_
    tensors = surrogate.decoder.state_dict() | surrogate.dynamics.state_dict()
    return [*tensors.values(), surrogate.prior.mean, surrogate.prior.factor, surrogate.error.floor]


def assert_same(one, other):
    for a, b in zip(weights(one), weights(other), strict=True):
        assert torch.equal(a, b)
    assert (
        one.surrogate_.description.training.history == other.surrogate_.description.training.history
    )


@pytest.mark.parametrize("recipe", RECIPES)
def test_resumed_after_any_number_of_steps_it_ends_bit_by_bit_the_same(
    recipe, tmp_path, monkeypatch
):
    whole = fit(recipe)
    for steps in itertools.count(1, 2):
        folder = tmp_path / str(steps)
        stopping(monkeypatch, steps)
        try:
            fit(recipe, checkpoints=folder)
        except InterruptedTrainingError:
            pass
        else:
            break
        stopping(monkeypatch, math.inf)
        assert_same(fit(recipe, checkpoints=folder, resume=True), whole)
    assert steps > 4


def test_interrupted_again_and_again(tmp_path, monkeypatch):
    whole = fit("paper")
    for _ in range(20):
        stopping(monkeypatch, 2)
        try:
            model = fit("paper", checkpoints=tmp_path, resume=True)
        except InterruptedTrainingError:
            continue
        assert_same(model, whole)
        return
    pytest.fail("made no headway")


def test_the_last_two_are_kept_and_discarded_in_the_end(tmp_path):
    folder = tmp_path / "run"
    fit("koopman", checkpoints=folder, checkpoint_seconds=0)
    assert [path.stem for path in checkpoint_files(folder)] == ["00000012", "00000013"]
    (folder / "mine.txt").touch()
    discard_checkpoints(folder)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    (folder / "mine.txt").unlink()
    discard_checkpoints(folder)
    assert not folder.exists()


@pytest.mark.parametrize(("recipe", "stage"), [("paper", "paper"), ("koopman", "decoder")])
def test_a_resumed_run_says_where_it_goes_on(recipe, stage, tmp_path, monkeypatch, capsys):
    stopping(monkeypatch, 4)
    with pytest.raises(InterruptedTrainingError):
        fit(recipe, checkpoints=tmp_path)
    (newest,) = checkpoint_files(tmp_path)
    os.utime(newest, (0, time.time() - 200))
    stopping(monkeypatch, math.inf)
    SMORE(**SIZES | RECIPES[recipe]).fit(trajectories(6, 5), checkpoints=tmp_path, resume=True)
    out, told = capsys.readouterr()
    line = f"going on from step 5 of stage '{stage}', saved 3 minutes ago in {newest}\n"
    assert told.count("going on") == 1
    assert told.startswith(line)
    assert out == ""


def test_a_resumed_run_that_has_nothing_to_go_on_from_says_so(tmp_path, capsys):
    model = SMORE(**SIZES | RECIPES["koopman"])
    model.fit(trajectories(6, 5), checkpoints=tmp_path, resume=True)
    assert capsys.readouterr().err.startswith(f"no checkpoint in {tmp_path}: beginning with step 0")


def test_steps_are_counted_over_interruptions(tmp_path, monkeypatch):
    for _ in range(2):
        stopping(monkeypatch, 3)
        with pytest.raises(InterruptedTrainingError):
            fit("paper", checkpoints=tmp_path, resume=True)
    resumed = Checkpoints(tmp_path)
    monkeypatch.setattr(checkpoints, "require_same", lambda *_: None)
    resumed.resume()
    assert "step 8 of stage 'paper', saved less than a minute ago" in resumed.origin


def test_a_damaged_newest_one_is_passed_over(tmp_path, monkeypatch):
    whole = fit("paper")
    stopping(monkeypatch, 4)
    with pytest.raises(InterruptedTrainingError):
        fit("paper", checkpoints=tmp_path, checkpoint_seconds=0)
    _, newest = checkpoint_files(tmp_path)
    newest.write_bytes(newest.read_bytes()[:-7])
    stopping(monkeypatch, math.inf)
    with pytest.warns(CheckpointWarning, match=f"passed over: {newest} is damaged"):
        model = fit("paper", checkpoints=tmp_path, resume=True)
    assert_same(model, whole)


def test_if_all_are_damaged_the_work_is_not_silently_begun_anew(tmp_path, monkeypatch):
    stopping(monkeypatch, 4)
    with pytest.raises(InterruptedTrainingError):
        fit("paper", checkpoints=tmp_path, checkpoint_seconds=0)
    for path in checkpoint_files(tmp_path):
        path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ModelFileError, match="checkpoint"):
        fit("paper", checkpoints=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"seed": 1}, "seed was 0, is 1"), ({"epochs": 10}, "epochs was 9, is 10")],
)
def test_other_settings_are_refused_by_name(changes, named, tmp_path, monkeypatch):
    stopping(monkeypatch, 2)
    with pytest.raises(InterruptedTrainingError):
        fit("paper", checkpoints=tmp_path)
    other = SMORE(**SIZES | RECIPES["paper"] | changes)
    with pytest.raises(SettingsError, match=named):
        other.fit(trajectories(6, 5), checkpoints=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (trajectories(6, 5, seed=1), "training values"),
        (trajectories(7, 5), "25 in 5 sequences|30 in 6 sequences, is 35 in 7"),
        (trajectories(6, 5, num_points=41), "training points"),
        (trajectories(6, 5).select_channels(["u"]), "training channels was u, v, is u"),
    ],
)
def test_other_data_are_refused_by_name(data, named, tmp_path, monkeypatch):
    stopping(monkeypatch, 2)
    with pytest.raises(InterruptedTrainingError):
        fit("paper", checkpoints=tmp_path)
    with pytest.raises(SettingsError, match=named):
        SMORE(**SIZES | RECIPES["paper"]).fit(data, checkpoints=tmp_path, resume=True)


def test_checkpoints_of_another_run_are_not_overwritten(tmp_path, monkeypatch):
    stopping(monkeypatch, 2)
    with pytest.raises(InterruptedTrainingError):
        fit("paper", checkpoints=tmp_path)
    with pytest.raises(SettingsError, match="--resume"):
        fit("paper", checkpoints=tmp_path)


def test_other_settings_are_refused_before_any_data_are_read(tmp_path):
    Checkpoints(tmp_path, {"latent_dim": "3", "training values": "1"}, every=0).write()
    with pytest.raises(SettingsError, match="latent_dim was 3, is 5"):
        SMORE(latent_dim=5).fit(tmp_path / "no-such-file.nc", checkpoints=tmp_path, resume=True)


@pytest.mark.parametrize(("steps", "refused"), [("0", False), ("7", True)])
def test_settings_of_before_are_let_pass_at_the_value_that_means_what_is_done_now(
    steps, refused, tmp_path
):
    Checkpoints(tmp_path, {"seed": "1", "finetune_steps": steps}, every=0).write()
    resumed = Checkpoints(tmp_path, {"seed": "1"})
    if refused:
        with pytest.raises(SettingsError, match="finetune_steps was 7, is 0"):
            resumed.resume()
    else:
        assert resumed.resume()


def test_resume_without_checkpoints_is_a_fresh_start(tmp_path):
    assert_same(fit("koopman", checkpoints=tmp_path, resume=True), fit("koopman"))
    with pytest.raises(SettingsError, match="folder"):
        fit("koopman", resume=True)


def test_time_adds_up_over_interruptions(tmp_path):
    first = Checkpoints(tmp_path, {}, every=0)
    time.sleep(0.05)
    first.write()
    second = Checkpoints(tmp_path, {})
    assert second.resume()
    assert second.seconds > 0.05


def test_a_signal_is_a_request_and_a_second_one_is_an_order():
    usual = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with stop_requests() as request:
        assert not request
        os.kill(os.getpid(), signal.SIGTERM)
        assert request
        assert request.signal == signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is usual[0]
    assert signal.getsignal(signal.SIGINT) is usual[1]


def test_a_signal_that_is_ignored_stays_so():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a shell's background jobs
    try:
        with stop_requests() as request:
            os.kill(os.getpid(), signal.SIGINT)
            assert not request
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads_do_without_signals():
    seen = []

    def work():
        with stop_requests() as request:
            seen.append(bool(request))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


def test_states_survive_packing():
    state = {
        "state": {0: {"step": torch.tensor(3.0), "average": torch.arange(6).view(2, 3)}},
        "groups": [{"lr": 0.1 + 0.2, "betas": (0.9, 0.999), "params": [0], "foreach": None}],
        "worst": math.inf,
        "done": True,
    }
    tensors, text = pack(state)
    back = unpack(Path("x"), tensors, text)
    assert torch.equal(back["state"][0]["average"], state["state"][0]["average"])
    assert back["groups"] == state["groups"]
    assert back["worst"] == math.inf
    assert back["done"] is True


@pytest.mark.parametrize(
    "text", ["[]", '{"tensor": "7"}', '{"dict": [[[], 1]]}', "{", '{"dict": 3}', "[" * 100_000]
)
def test_other_texts_are_refused(text):
    with pytest.raises(ModelFileError, match=r"run/3\.checkpoint"):
        unpack(Path("run/3.checkpoint"), {}, text)


def test_another_kind_of_state_is_refused_by_name(tmp_path):
    path = tmp_path / "00000001.checkpoint"
    save_file(path, *pack({"epoch": 3}), CHECKPOINT)
    with pytest.raises(ModelFileError, match=str(path)):
        fit("paper", checkpoints=tmp_path, resume=True)


def poisoned(function, calls):
    """`function`, whose result is not finite in its n-th call for n in `calls`."""
    count = itertools.count(1)

    def wrapper(*arguments, **options):
        result = function(*arguments, **options)
        if next(count) not in calls:
            return result
        return (math.nan, *result[1:]) if isinstance(result, tuple) else math.nan

    return wrapper


def test_the_paper_recipe_backtracks_when_asked_to(monkeypatch):
    settings = SIZES | RECIPES["paper"]
    monkeypatch.setattr(
        algorithm1, "accumulate_reconstruction", poisoned(accumulate_reconstruction, {4})
    )
    model = SMORE(**settings)
    told = r"epoch 3: the reconstruction loss .*on_divergence='backtrack'"
    with pytest.raises(DivergenceError, match=told) as raised:
        model.fit(trajectories(6, 5), progress=False)
    assert (raised.value.epoch, raised.value.part) == (3, "reconstruction loss")
    assert model.surrogate_.description.training.epochs_run == 3

    monkeypatch.setattr(
        algorithm1, "accumulate_reconstruction", poisoned(accumulate_reconstruction, {4})
    )
    model = SMORE(**settings, on_divergence="backtrack").fit(trajectories(6, 5), progress=False)
    assert model.surrogate_.description.training.epochs_run == 9


def test_the_fast_recipe_stops_with_a_model_or_backtracks(monkeypatch):
    settings = SIZES | RECIPES["koopman"]
    usual = _variable_projection.accumulate_projection
    monkeypatch.setattr(_variable_projection, "accumulate_projection", poisoned(usual, {5}))
    model = SMORE(**settings)
    with pytest.raises(DivergenceError, match=r"step 4 of the decoder; .*--on-divergence backtr"):
        model.fit(trajectories(6, 5), progress=False)
    assert model.evaluate(trajectories(2, 5, seed=3)).full_mse is not None

    monkeypatch.setattr(_variable_projection, "accumulate_projection", poisoned(usual, {5}))
    model = SMORE(**settings, on_divergence="backtrack").fit(trajectories(6, 5), progress=False)
    assert model.surrogate_.description.training.epochs_run == 12


def test_it_does_not_backtrack_for_ever(monkeypatch):
    settings = SIZES | RECIPES["koopman"] | {"on_divergence": "backtrack"}
    usual = _variable_projection.accumulate_projection
    poison = poisoned(usual, range(5, 99))
    monkeypatch.setattr(_variable_projection, "accumulate_projection", poison)
    with pytest.raises(DivergenceError, match="going back 10 times") as raised:
        SMORE(**settings).fit(trajectories(6, 5), progress=False)
    assert "on_divergence" not in str(raised.value)
    assert "decoder_rate" not in str(raised.value)


def test_nor_does_the_paper_recipe(monkeypatch):
    settings = SIZES | RECIPES["paper"] | {"on_divergence": "backtrack", "epochs": 30}
    broken = poisoned(accumulate_reconstruction, range(5, 99))
    monkeypatch.setattr(algorithm1, "accumulate_reconstruction", broken)
    with pytest.raises(DivergenceError, match="going back 10 times") as raised:
        SMORE(**settings).fit(trajectories(6, 5), progress=False)
    assert "more substeps" in str(raised.value)
    for tried in ("on_divergence", "learning rates", "clip", "low-rank"):
        assert tried not in str(raised.value)


def test_a_gradient_that_is_not_finite_changes_nothing(monkeypatch):
    """It is found before the update."""
    usual = _variable_projection.accumulate_projection

    def spoiled(decoder, *arguments):
        loss = usual(decoder, *arguments)
        decoder.output_weight.grad[0] = math.inf
        return loss

    monkeypatch.setattr(_variable_projection, "accumulate_projection", spoiled)
    with pytest.raises(DivergenceError, match="decoder gradient is inf in step 0"):
        fit("koopman")


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_does_not_end_a_training(tmp_path, monkeypatch):
    """A save that fails leaves the checkpoints before it, and a warning; a model must be saved."""
    whole = fit("paper")
    stopping(monkeypatch, 3)
    with pytest.raises(InterruptedTrainingError):
        fit("paper", checkpoints=tmp_path, checkpoint_seconds=0)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    stopping(monkeypatch, math.inf)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CheckpointWarning, match=f"in {tmp_path}, .*No space left") as warned:
        model = fit("paper", checkpoints=tmp_path, checkpoint_seconds=0, resume=True)
    assert len(warned) == 1
    assert_same(model, whole)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert len(before) == files.KEPT
    with pytest.raises(ModelFileError, match=r"model\.smore: No space left"):
        model.save(tmp_path / "model.smore")


def test_a_training_that_stops_without_its_checkpoint_says_so(tmp_path, monkeypatch):
    stopping(monkeypatch, 3)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match=f"cannot be written to {tmp_path}"):
        fit("paper", checkpoints=tmp_path)
    assert not list(tmp_path.iterdir())
