"""Several processes that share the points learn what one process learns."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from smore import Trajectories
from smore.runtime.distribution import ALONE, Team
from smore.settings import Settings
from smore.training.checkpoints.checkpoints import Checkpoints
from smore.training.checkpoints.identity import run_identity
from waves import trajectories

STEPS = Path(__file__).parent / "distributed" / "steps.py"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def test_shares_are_all_of_it_and_even():
    for count in (0, 1, 7, 1000):
        for size in (1, 2, 3, 8):
            parts = [range(count)[Team(rank, size).share(count)] for rank in range(size)]
            assert [each for part in parts for each in part] == list(range(count))
            assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_parts_are_the_shares_and_have_the_borders_of_one_process():
    for count in (1, 7, 203, 4096):
        borders = set()
        for size in (1, 2, 3, 4, 5, 30):
            for rank in range(size):
                share = range(count)[Team(rank, size).share(count)]
                parts = [share[part] for part in Team(rank, size).parts(count)]
                assert [each for part in parts for each in part] == list(share)
                assert all(parts)
                if size == 1:
                    borders |= {part.start for part in parts}
                elif size <= 4:
                    assert {part.start for part in parts} <= borders


def test_alone_nothing_is_added():
    tensor = torch.arange(3.0)
    ALONE.add_up(tensor)
    assert tensor.tolist() == [0, 1, 2]
    assert ALONE.total(2.5) == 2.5
    assert ALONE.gather(tensor) is tensor
    assert not ALONE.any(False)


def fit(recipe, processes, folder):
    result = folder / f"{recipe}-{processes}.npz"
    launcher = [sys.executable]
    if processes > 1:
        launcher = [*TORCHRUN, f"--nproc-per-node={processes}"]
    subprocess.run(
        [*launcher, str(STEPS), recipe, str(result)],
        check=True,
        env=ENVIRONMENT,
        timeout=300,
        capture_output=True,
    )
    with np.load(result) as file:
        return dict(file)


@pytest.mark.parametrize(
    ("recipe", "processes"), [("paper", 3), ("paper", 4), ("fast", 2), ("lrlq", 4)]
)
def test_processes_agree_with_one(recipe, processes, tmp_path):
    """Losses and gradients of ten steps to round-off, results to what that grows to."""
    one, many = fit(recipe, 1, tmp_path), fit(recipe, processes, tmp_path)
    np.testing.assert_allclose(many["losses"], one["losses"], rtol=1e-6)
    assert len(one["losses"]) == 10
    for alone, together in zip(one["gradients"], many["gradients"], strict=True):
        assert np.linalg.norm(together - alone) <= 1e-6 * np.linalg.norm(alone)
    np.testing.assert_allclose(many["scale"], one["scale"], rtol=1e-12)
    assert many["full_mse"] == pytest.approx(one["full_mse"], rel=0.02)
    for name in ("residual", "noise", "growth", "prior"):
        np.testing.assert_allclose(many[name], one[name], rtol=0.05)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)


def settings(command):
    """What the options of a command say."""
    options = dict(zip(command[6::2], command[7::2], strict=True))
    del options["--checkpoint-seconds"]
    return Settings.of(**{name[2:].replace("-", "_"): v for name, v in options.items()})


def test_a_lost_process_ends_the_run_with_a_message_and_a_checkpoint(tmp_path):
    """Its mate says what happened, keeps a checkpoint, and a resumed run ends well."""
    data, output = tmp_path / "data.nc", tmp_path / "model.smore"
    trajectories(8, 6, num_points=203).save(data)
    command = ["-m", "smore", "fit", str(data), "-o", str(output), "--decoder-steps", "200000"]
    command += ["--latent-dim", "8", "--hidden-dim", "12", "--checkpoint-seconds", "1"]
    rendezvous = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2"}
    mates = [
        subprocess.Popen(
            [sys.executable, *command],
            env=ENVIRONMENT | rendezvous | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    folder = tmp_path / "model.smore.checkpoints"
    try:
        wait_for(lambda: list(folder.glob("*.checkpoint")))
        mates[1].kill()
        _, message = mates[0].communicate(timeout=120)
    finally:
        for mate in mates:
            mate.kill()
    assert mates[0].returncode not in (0, None)
    assert "lost contact to another one" in message
    assert "Traceback" not in message
    resumed = Checkpoints(folder, run_identity(settings(command), Trajectories.open(data), None))
    assert resumed.resume()
