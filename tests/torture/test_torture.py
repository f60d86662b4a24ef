"""Every check of `make torture`, in short."""

import pickle
from pathlib import Path

import pytest
from checks import CHECKS
from hostile_files import Payload
from outcomes import judge, refusal

from smore.errors import DataError

COUNTS = {
    "kills": 5,
    "damaged": 60,
    "hostile": 15,
    "full-disk": 4,
    "settings": 40,
    "planted": 25,
    "headers": 30,
    "mesh-files": 120,
}


def test_every_check_is_here_in_short():
    assert set(COUNTS) == set(CHECKS)


@pytest.mark.parametrize("name", COUNTS)
def test_it_goes_as_asked(name, tmp_path):
    outcome = CHECKS[name].run(COUNTS[name], 1, tmp_path)
    assert outcome.failures == ()
    assert outcome.cases >= COUNTS[name]
    assert outcome.good


def test_the_trap_is_armed(tmp_path):
    """Whoever unpickles a hostile file does leave the marker."""
    marker: Path = tmp_path / "executed"
    pickle.loads(pickle.dumps(Payload(marker)))
    assert marker.exists()


def test_what_goes_wrong_is_counted():
    def refused():
        raise DataError("'u' is nan")

    cases = [
        ("good", lambda: refusal(refused, DataError, "'u'")),
        ("unnamed", lambda: refusal(refused, DataError, "'v'")),
        ("accepted", lambda: refusal(lambda: None, DataError)),
        ("another error", lambda: refusal(lambda: 1 / 0, DataError)),
    ]
    outcome = judge("name", "asked", cases)
    assert (outcome.cases, outcome.passed, outcome.good) == (4, 1, False)
    unnamed, accepted, another = outcome.failures
    assert "does not name 'v'" in unnamed
    assert "accepted" in accepted
    assert "ZeroDivisionError" in another
