"""Help fits 80 columns, cuts no name, and says what to try first; shells complete commands."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from smore.cli.app import app
from smore.cli.commands import all_commands
from smore.settings import TRIED_FIRST, TRIED_THEN, Settings

AS_SMORE = "import sys; sys.argv = ['smore']; from smore.cli import main; main()"


def help_of(*words):
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("words", ["", *(command.words for command in all_commands())])
def test_help_fits_eighty_columns_and_cuts_nothing(words):
    told = help_of(*words.split())
    assert max(map(len, told.splitlines())) <= 80
    assert "…" not in told
    if not words:  # what a command does is told in a line
        assert "..." not in told.replace("[ARGS]...", "")


def test_settings_are_grouped_by_when_to_try_them():
    told = help_of("fit")
    places = [told.index(f"Settings {words}:") for words in ("to try first", "to try then")]
    places.append(told.index("Settings that rarely matter:"))
    assert places == sorted(places)
    for name in Settings.model_fields:
        option = told.index(f"--{name.replace('_', '-')} ", places[0])
        group = 0 if name in TRIED_FIRST else 1 if name in TRIED_THEN else 2
        assert places[group] < option < [*places[1:], len(told)][group], name


def completed(line):
    """What bash is offered for the last word of a line."""
    words = line.split(" ")
    asked = {"_SMORE_COMPLETE": "complete_bash", "COMP_WORDS": line}
    done = subprocess.run(
        [sys.executable, "-c", AS_SMORE],
        env=os.environ | asked | {"COMP_CWORD": str(len(words) - 1)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split()


def test_shells_complete_commands_and_their_options():
    assert completed("smore fo") == ["forecast"]
    assert {"info", "split", "convert"} <= set(completed("smore data "))
    assert "--noise" in completed("smore forecast --n")
    assert completed("smore fit --missing ma") == ["mask"]
