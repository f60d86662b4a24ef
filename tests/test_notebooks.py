"""What notebooks show: tables of plain text, whatever files say, and a line that moves."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from smore import SMORE
from smore.data import Channel
from smore.runtime import ProgressLine, html_table
from waves import planted, trajectories

HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def data():
    found = trajectories()
    channels = (Channel(name=HOSTILE, units="<b>m</b>", long_name="<img src=x>"), found.channels[1])
    return replace(
        found,
        channels=channels,
        space=found.space.model_copy(update={"names": ("<i>x</i>", "y&z")}),
    )


@pytest.fixture(scope="module")
def model(data):
    return planted(data)


def test_whatever_a_file_says_is_text(model, data):
    for shown in (model, data, model.evaluate(data), model.certify(), model.infer(data)):
        html = shown._repr_html_()
        assert html.startswith("<div>")
        assert html.count("<tr>") == html.count("</tr>") > 1
        for hostile in ("<script", "<b>m", "<img", "<i>"):
            assert hostile not in html
    for shown in (model, data):
        assert "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;" in shown._repr_html_()


def test_tables_say_what_matters(model, data):
    told = data._repr_html_()
    for text in (">6<", "0 to 2.5", ">40<", "y&amp;z"):
        assert text in told
    told = model._repr_html_()
    assert f"{model.num_parameters:,}" in told
    assert "certified" in told
    assert "36 snapshots of 6 sequences" in told
    evaluation = model.evaluate(data)
    told = evaluation._repr_html_()
    assert f"{evaluation.persistence_mse:.3g}" in told
    assert evaluation.verdict() in told
    certificate = model.certify()
    assert all(each.detail in certificate._repr_html_() for each in certificate.claims.conditions)
    told = SMORE(dynamics="koopman")._repr_html_()
    assert "not fitted" in told
    assert "koopman" in told


def test_cells_are_escaped_and_numbers_are_short():
    html = html_table("a < b", [["<", 1234567, 0.123456, None]], ["&"], ["<note>"])
    for text in ("a &lt; b", "&lt;", "1,234,567", "0.123", ">-<", "&amp;", "&lt;note&gt;"):
        assert text in html


def test_nothing_is_drawn_to_tell_what_there_is(tmp_path):
    """HTML takes no plotting library, and neither does fitting."""
    code = (
        "import sys, numpy as np; from smore import SMORE, Trajectories;"
        "x = np.linspace(0, 1, 20)[:, None]; t = np.arange(12.0);"
        "f = np.sin(6 * x[:, 0] - t[:, None])[None, :, None];"
        "d = Trajectories.from_arrays(f, x, t); m = SMORE(latent_dim=2).fit(d, progress=False);"
        "all([m._repr_html_(), d._repr_html_(), m.evaluate(d)._repr_html_(),"
        "     m.certify()._repr_html_(), m.infer(d)._repr_html_()]);"
        "print(sorted({'matplotlib', 'IPython', 'smore.plotting'} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert found.stdout.strip() == "[]"


class Notebook:
    """IPython in a kernel, as far as a line of text needs it."""

    def __init__(self, kernel=True):
        self.lines, self.display = [], SimpleNamespace(display=self._display)
        self.shell = SimpleNamespace(kernel=object()) if kernel else SimpleNamespace()

    def get_ipython(self):
        return self.shell

    def _display(self, told, *, raw, display_id):
        assert raw
        assert display_id
        return self

    def update(self, told, *, raw):
        assert raw
        assert list(told) == ["text/plain"]  # never HTML
        self.lines.append(told["text/plain"])


def test_fits_show_a_line_that_is_rewritten(monkeypatch, capsys):
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    SMORE(latent_dim=4, hidden_dim=8, recipe="paper", epochs=3).fit(trajectories())
    assert any("3/3" in line and "█" * 24 in line for line in notebook.lines)
    assert not capsys.readouterr().err
    SMORE(latent_dim=4, hidden_dim=8, recipe="paper", epochs=1).fit(
        trajectories(), progress=(before := len(notebook.lines)) < 0
    )
    assert len(notebook.lines) == before


def test_lines_move_a_few_times_a_second(monkeypatch):
    notebook, now = Notebook(), iter(np.arange(0.0, 1e6, 0.05))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setattr("smore.runtime.progress.time.monotonic", lambda: float(next(now)))
    with ProgressLine("training", 1000) as line:
        for step in range(1, 1001):
            line.update(step, f"loss {step}")
    assert 100 < len(notebook.lines) < 700
    assert "1000/1000" in notebook.lines[-1]
    assert "loss 1000" in notebook.lines[-1]


def test_a_terminal_of_ipython_is_no_notebook(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "IPython", Notebook(kernel=False))
    with ProgressLine("training", 1) as line:
        line.update(1)
    assert "training 1/1" in capsys.readouterr().err
