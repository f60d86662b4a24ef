"""Commands are known by name and loaded one at a time."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from smore.cli.app import app
from smore.cli.commands import COMMANDS, Command, all_commands
from smore.errors import MissingExtraError

HEAVY = ("torch", "xarray", "numpy", "scipy", "matplotlib")


def in_a_fresh_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("words", [["--help"], ["data", "--help"]])
def test_help_loads_no_command(words):
    code = f"""
import json, sys
sys.argv = ["smore", *{words!r}]
from smore.cli import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(set({HEAVY!r}) & set(sys.modules))))
"""
    assert in_a_fresh_process(code) == []


def test_importing_smore_loads_what_is_asked_for():
    code = "import json, sys, smore; dir(smore); print(json.dumps('torch' in sys.modules))"
    assert in_a_fresh_process(code) is False
    code = "import json; from smore import SMORE; print(json.dumps(SMORE.__module__))"
    assert in_a_fresh_process(code) == "smore.model"


def test_help_names_every_command():
    whole = CliRunner().invoke(app, ["--help"]).stdout
    group = CliRunner().invoke(app, ["data", "--help"]).stdout
    for command in all_commands():
        first, *rest = command.words.split()
        assert first in whole
        assert not rest or rest[0] in group


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.words)
def test_every_command_has_a_help_of_its_own(command):
    result = CliRunner().invoke(app, [*command.words.split(), "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.stdout


def test_a_command_that_is_not_there_is_named():
    result = CliRunner().invoke(app, ["forcast"])
    assert result.exit_code == 2
    assert "forcast" in result.output


def test_a_missing_dependency_is_named_with_the_extra_that_brings_it(monkeypatch):
    lacking = Command("lacking", "no_such_package.module:app", "Lacks something.", "paper")
    broken = Command("broken", "no_such_package.module:app", "Is broken.")
    monkeypatch.setattr("smore.cli.lazy_group.all_commands", lambda: [*COMMANDS, lacking, broken])
    with pytest.raises(MissingExtraError, match=r"'no_such_package'.*smore-rom\[paper\]"):
        CliRunner().invoke(app, ["lacking"], catch_exceptions=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        CliRunner().invoke(app, ["broken"], catch_exceptions=False)
