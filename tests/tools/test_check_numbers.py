"""A number that is not what its file says is noticed, and so is one that names no file."""

import shutil
from pathlib import Path

import pytest

from check_numbers import check_page, check_repository
from check_numbers.figures import Figure
from check_numbers.sources import Sources

ROOT = Path(__file__).parents[2]

ERRORS = """preset,seed,full_mse,seconds,megabytes,note
wave,0,4.932e-08,106.3,1103.0,first
wave,1,4.206e-08,109.6,1110.0,
wave,2,4.833e-08,86.8,1112.0,
flow,0,0.000388,157.1,210.0,with blanks in it
"""


@pytest.fixture
def check(tmp_path):
    """The problems of a page, in words."""
    (tmp_path / "errors.csv").write_text(ERRORS)

    def problems(text):
        found, _ = check_page(text, Sources(tmp_path))
        return [problem.what for problem in found]

    return problems


@pytest.mark.parametrize(
    "figure",
    [
        "4.2e-8<!-- errors.csv preset=wave seed=1 full_mse -->",
        "4.21e-8<!-- errors.csv preset=wave seed=1 full_mse -->",
        "4.8e-8<!-- errors.csv preset=wave full_mse median -->",
        "87 s<!-- errors.csv preset=wave seconds min -->",
        "**110 s**<!-- errors.csv preset=wave seconds max -->",
        "101 s<!-- errors.csv preset=wave seconds mean -->",
        "1.11 GB<!-- errors.csv preset=wave seed=1 megabytes / 1000 -->",
        "1.8 minutes<!-- errors.csv preset=wave seed=1 seconds / 60 -->",
        "68%<!-- errors.csv preset=wave seed=0 seconds / same preset=flow seconds -->",
        "0.68<!-- errors.csv preset=wave seed=0 seconds / same preset=flow seconds -->",
        "9,225 times<!-- errors.csv preset=flow full_mse / same preset=wave full_mse min -->",
        "3<!-- errors.csv preset=wave count -->",
        "303 s<!-- errors.csv preset=wave seconds sum -->",
        "50.8 s<!-- errors.csv preset=flow seconds - same preset=wave seed=0 seconds -->",
        '388e-6<!-- errors.csv "note=with blanks *" full_mse -->',
        "2.01e-4<!-- claims table=rollout preset=wave-koopman full_mse -->",
        "1.98e-4<!-- claims table=sparse preset=wave-koopman visible=0.1 full_mse -->",
    ],
)
def test_what_the_file_says_passes(check, figure):
    assert check(f"An error of {figure}, and so on.") == []


@pytest.mark.parametrize(
    ("figure", "told"),
    [
        ("4.3e-8<!-- errors.csv preset=wave seed=1 full_mse -->", "4.3e-8 is quoted"),
        ("4.20e-8<!-- errors.csv preset=wave seed=1 full_mse -->", "is 4.206e-08"),
        ("69%<!-- errors.csv preset=wave seed=0 seconds / same preset=flow seconds -->", "67.7%"),
        ("4.2e-8<!-- mistakes.csv seed=1 full_mse -->", "no file mistakes.csv"),
        ("4.2e-8<!-- errors.csv preset=wave seed=7 full_mse -->", "seed=7: no such row"),
        ("4.2e-8<!-- errors.csv preset=wave full_mse -->", "3 rows; name one"),
        ("4.2e-8<!-- errors.csv seed=1 error -->", "no column 'error'"),
        ("4.2e-8<!-- errors.csv colour=red full_mse -->", "no column 'colour'"),
        ("4.2e-8<!-- errors.csv preset=wave seed=1 note -->", "note is '', not a number"),
        ("4.2e-8<!-- errors.csv seed=1 full_mse middle -->", "one of median, mean, min, max, sum"),
        ("4.2e-8<!-- errors.csv -->", "expected FILE"),
        ("4.2e-8<!-- same full_mse -->", "no source before it"),
        ("4.2e-8<!-- full_mse -->", "expected FILE"),
        ('4.2e-8<!-- errors.csv "seed=1 full_mse -->', "cannot be read"),
        ("4.2e-8 <!-- errors.csv seed=1 full_mse -->", "is not right behind a number"),
        ("twelve times<!-- errors.csv seed=1 full_mse -->", "in digits"),
    ],
)
def test_what_it_does_not_say_is_noticed(check, figure, told):
    problems = check(f"An error of {figure}, and so on.")
    assert any(told in problem for problem in problems), problems


@pytest.mark.parametrize(
    "figure",
    ["4.8e-8", "106 s", "99%", "1,419 times", "12x", "2 GB", "0.92", "409", "ten times"],
)
def test_a_number_without_a_source_is_noticed(check, figure):
    assert len(check(f"It takes {figure} in all.")) == 1
    assert len(check(f"| what | {figure} |\n")) == 1
    assert check(f"It takes {figure}<!-- not measured: the paper's claim --> in all.") == []


def test_counts_labels_code_and_addresses_are_no_figures(check):
    page = """Theorem 3 has 2 parts (§5.1); Algorithm 12, Python 3.11, exit code 128, PM64, p = 100.

Call `fit(0.5)` or [this](x_1.5.md), in L2:

    rate = 1e-3

```
smore fit --rate 1e-3
```
"""
    assert check(page) == []


def test_a_page_declares_its_settings_once(check):
    declared = "<!-- not measured, settings: 64 x 64; 5,000 epochs -->\n"
    assert check(declared + "On 64 x 64 points for 5,000\nepochs.") == []
    assert check(declared + "On 64 x 64 points for 5,000 epochs or 5,001.")
    assert "not on this page" in check(declared + "On 64 x 64 points.")[0]
    assert "bare number" in check("<!-- not measured, setting: 64 -->\nOn 64 points.")[0]


def test_same_reaches_no_further_than_a_paragraph_or_a_row(check):
    first = "4.2e-8<!-- errors.csv preset=wave seed=1 full_mse -->"
    assert check(f"| {first} | 110 s<!-- same seconds --> |\n") == []
    assert check(f"| {first} |\n| 110 s<!-- same seconds --> |\n")
    assert check(f"{first} and\n\n110 s<!-- same seconds -->")


def test_figures_in_a_block_of_code_have_their_sources_above_it(check):
    page = "<!-- below: 4.2e-8 errors.csv preset=wave seed=1 full_mse; {} same seconds -->\n\n"
    code = "```\nerror 4.2e-8 in 110 s\n```\n"
    assert check(page.format("110") + code) == []
    assert "111 is not in the block" in check(page.format("111") + code)[0]
    assert "111 is quoted" in check(page.format("111") + code.replace("110", "111"))[0]


def test_digits_are_compared_as_quoted():
    assert Figure("1.10", "", 1).agrees(1.1049)
    assert not Figure("1.10", "", 1).agrees(1.106)
    assert Figure("1.1", "", 1).agrees(1.106)
    assert Figure("4,085", "times", 1).agrees(4085.1)
    assert not Figure("4,000", "times", 1).agrees(4085.1)
    assert Figure("4e-6", "", 1).agrees(3.9998e-6)
    assert Figure("99", "%", 1).agrees(0.9944)
    assert Figure("527", "s", 1).agrees(526.5)
    assert not Figure("526", "s", 1).agrees(526.5)
    assert not Figure("1", "", 1).agrees(float("inf"))


def test_every_number_of_readme_and_docs_is_what_its_file_says():
    found, compared = check_repository(ROOT)
    assert not any(found.values()), {str(page): told for page, told in found.items() if told}
    assert compared > 100


@pytest.mark.parametrize("page", ["README.md", "docs/reproduction_notes.md"])
def test_a_planted_digit_is_found(tmp_path, page):
    """Any last digit of any figure that has a source."""
    results = tmp_path / "experiments/results"
    shutil.copytree(ROOT / "experiments/results", results, ignore=shutil.ignore_patterns("*.[np]*"))
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "README.md", tmp_path)
    text = (ROOT / page).read_text()
    places = [place for place in range(1, len(text)) if _ends_a_sourced_figure(text, place)]
    assert len(places) > 10
    for place in places[:: max(1, len(places) // 10)]:
        digit = str((int(text[place]) + 1) % 10)
        (tmp_path / page).write_text(text[:place] + digit + text[place + 1 :])
        found, _ = check_repository(tmp_path)
        assert found[Path(page)], text[place - 20 : place + 60]


def _ends_a_sourced_figure(text, place):
    return (
        text[place].isdigit()
        and text[place + 1 :].startswith("<!-- ")
        and (text[place + 5 :].split()[0].endswith(".csv") or text[place + 6 :].startswith("same "))
    )
