"""What is wrong with the site is noticed: links, code, notebooks, options and names."""

import shutil
from pathlib import Path
from typing import Annotated

import pytest
import typer

from build_docs import check_code, command_reference, copy_pages, name_reference, run_notebooks
from build_docs.commands import described
from build_docs.names import undocumented

ROOT = Path(__file__).parents[2]


@pytest.fixture
def repository(tmp_path):
    """Pages of a small repository."""
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        (tmp_path / name).write_text(f"# {name}\n")
    (tmp_path / "LICENSE").write_text("MIT\n")
    (tmp_path / "experiments" / "results").mkdir(parents=True)
    (tmp_path / "experiments" / "results" / "one.csv").write_text("a\n1\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# A page\n[one](../experiments/results/one.csv)\n")
    return tmp_path


def test_pages_keep_their_places_and_folders_get_lists(repository):
    (repository / "README.md").write_text("[all](docs), [rows](experiments/results#top)\n")
    pages = repository / "build"
    assert copy_pages(repository, pages) == []
    found = (pages / "README.md").read_text()
    assert found == "[all](docs/index.md), [rows](experiments/results/index.md#top)\n"
    assert "[A page](page.md)" in (pages / "docs" / "index.md").read_text()
    assert (pages / "experiments" / "results" / "one.csv").exists()


def test_a_broken_link_is_noticed(repository):
    (repository / "docs" / "page.md").write_text("[gone](no_such.md), [out](https://a.example/b)\n")
    assert copy_pages(repository, repository / "build") == [
        "docs/page.md: no_such.md leads nowhere"
    ]


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("```\nsmore fit a.nc --latent-dims 3\n```", "smore fit has no option --latent-dims"),
        ("```bash\nsmore fti a.nc\n```", "smore has no command 'fti'"),
        ("```\n$ smore data info a.nc --nope\n```", "smore data info has no option --nope"),
        ("```python\nfrom smore import SMOR\n```", "smore has no SMOR"),
        ("```python\nmodel.forcast(1)\n```", "SMORE has no forcast"),
        ("```python\nmodel = = 1\n```", "no Python"),
    ],
)
def test_code_that_would_fail_is_noticed(repository, code, problem):
    (repository / "docs" / "page.md").write_text(f"# A page\n\n{code}\n")
    (found,) = check_code(repository)
    assert found.startswith(f"docs/page.md:3: {problem}")


def test_code_that_works_is_left_alone(repository):
    (repository / "docs" / "page.md").write_text(
        "```\nsmore --threads 1 fit a.nc -o b.smore --dynamics koopman   # that's it\n"
        "torchrun --nproc-per-node 4 -m smore fit a.nc \\\n    --memory 2GB\n```\n"
        "```python\nfrom smore import SMORE\nmodel = SMORE()\nmodel.surrogate_\n```\n"
    )
    assert check_code(repository) == []


def test_an_option_that_is_not_documented_is_noticed():
    def plan(times: int, noise: Annotated[float, typer.Option()] = 0.0):
        """Plan."""

    app = typer.Typer(add_completion=False)
    app.command()(plan)
    _, missing = described("plan", typer.main.get_command(app))
    assert missing == [
        "smore plan: times is not documented",
        "smore plan: --noise is not documented",
    ]


def test_a_name_that_is_not_documented_is_noticed():
    class Silent:
        """Says something of itself."""

        def act(self):
            first = 1
            second = 2
            return first + second

    Silent.__module__ = "smore.silent"
    assert list(undocumented("smore", "Silent", Silent)) == ["smore.Silent.act has no docstring"]


def test_every_option_and_name_of_ours_is_documented(tmp_path):
    assert command_reference(tmp_path) == []
    assert name_reference(tmp_path) == []
    told = (tmp_path / "commands.md").read_text()
    for words in ("## smore compare", "`--minutes`", "## smore data split", "`--threads`"):
        assert words in told


def test_pages_of_ours_have_links_and_code_that_hold(tmp_path):
    assert copy_pages(ROOT, tmp_path / "pages") == []
    assert check_code(ROOT) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell")
def test_notebooks_are_run_and_those_that_fail_are_noticed(tmp_path):
    sources = tmp_path / "gallery"
    sources.mkdir()
    (sources / "good.py").write_text('# %% [markdown]\n# # Good\n\n# %%\nprint("two", 1 + 1)\n')
    (sources / "bad.py").write_text('# %% language="bash" magic_args="-e"\n# false\n# true\n')
    (problem,) = run_notebooks(sources, tmp_path / "pages")
    assert problem.startswith("bad.py failed")
    assert "two 2" in (tmp_path / "pages" / "good.md").read_text()
    assert "[Good](good.md)" in (tmp_path / "pages" / "index.md").read_text()
