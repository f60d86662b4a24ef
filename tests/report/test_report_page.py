"""The page as a file: valid, complete, self-contained, and what it says is right."""

import itertools
import re
import warnings
from types import SimpleNamespace

import html5lib
import numpy as np
import pytest

from reported import HOSTILE, HOSTILE_FILE, planted_report
from smore.errors import SettingsError, UnobservedWarning
from smore.evaluation import NAMES
from smore.evaluation.words import beside_in_words
from smore.report import report_page
from smore.report._html import content_hash
from smore.report._model_sections import certificate_section, sensors_section

SECTIONS = ["skill", "player", "places", "calibration", "limits", "certificate", "modes"]
SECTIONS += ["sensors", "model"]


def parsed(page):
    """A tree; every error of the specification's parser is one here."""
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)


def text_of(page, identifier):
    (found,) = [each for each in parsed(page).iter() if each.attrib.get("id") == identifier]
    return " ".join("".join(found.itertext()).split())


@pytest.fixture(scope="module")
def pages(on_grid, on_line, on_globe):
    untested = report_page(on_grid.model, name="untested")
    return {
        "grid": on_grid.page,
        "line": on_line.page,
        "globe": on_globe.page,
        "dots": planted_report().page,
        "untested": untested,
    }


@pytest.mark.parametrize("kind", ["grid", "line", "globe", "dots", "untested"])
def test_the_page_is_valid_and_everything_in_it_has_one_name(pages, kind):
    tree = parsed(pages[kind])
    ids = [each.attrib["id"] for each in tree.iter() if "id" in each.attrib]
    assert len(ids) == len(set(ids))
    for attribute in ("for", "aria-labelledby"):
        assert {e.attrib[attribute] for e in tree.iter() if attribute in e.attrib} <= set(ids)
    links = {e.attrib["href"] for e in tree.iter("a")}
    assert all(link[1:] in ids for link in links)
    levels = [int(e.tag[1]) for e in tree.iter() if re.fullmatch(r"h\d", str(e.tag))]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("kind", ["grid", "untested"])
def test_nothing_is_loaded_and_only_its_own_script_may_run(pages, kind):
    tree = parsed(pages[kind])
    scripts = [e for e in tree.iter("script") if e.attrib.get("type") != "application/json"]
    styles = list(tree.iter("style"))
    assert (len(scripts), len(styles)) == (1, 1)
    (policy,) = [e.attrib["content"] for e in tree.iter("meta") if "http-equiv" in e.attrib]
    assert f"script-src {content_hash(scripts[0].text)};" in policy
    assert f"style-src {content_hash(styles[0].text)};" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for each in tree.iter():
        assert not {name for name in each.attrib if name.startswith("on") or name == "style"}
        for name in ("src", "href"):
            assert each.attrib.get(name, "#").startswith(("#", "data:image/png"))


def test_the_parts_of_a_page(pages):
    for kind, wanted in (("grid", SECTIONS), ("untested", [*SECTIONS[:1], *SECTIONS[4:]])):
        found = [e.attrib["id"] for e in parsed(pages[kind]).iter("section")]
        assert found == wanted
    assert "No test data were given" in pages["untested"]


def test_every_figure_and_control_is_described(pages):
    tree = parsed(pages["grid"])
    described = [e for e in tree.iter() if str(e.tag) in ("svg", "canvas")]
    for each in described:
        told = each.attrib.get("aria-label", "")
        assert told or each.attrib.get("aria-hidden") == "true" or each.attrib["id"] == "series"
    named = {e.attrib["for"] for e in tree.iter("label")}
    assert {"time", "channel"} <= named
    for button in tree.iter("button"):
        assert "".join(button.itertext()).strip()


def test_hostile_names_are_shown_as_they_are(pages):
    (title,) = list(parsed(pages["grid"]).iter("h1"))
    assert title.text == HOSTILE_FILE
    (options,) = list(parsed(pages["grid"]).iter("select"))
    assert [e.text for e in options] == [HOSTILE, "speed $\\frac$"]
    assert "<script>window" not in pages["grid"]
    assert "<img" not in pages["grid"]


def test_the_answer_comes_first(pages, on_grid):
    told = text_of(pages["grid"], "skill")
    skill = on_grid.model.skill(on_grid.truth)
    beside = beside_in_words({NAMES[name]: ratio for name, ratio in skill.ratios.items()})
    assert told.index("Worth using up to 4 s, all that was tested.") < told.index(f"{beside}.")
    (header,) = list(parsed(pages["grid"]).iter("header"))
    assert "Worth using" in "".join(header.itertext())


def test_what_it_cannot_do_names_land_and_proof(pages, on_grid):
    told = text_of(pages["grid"], "limits")
    unseen = int((~on_grid.model.surrogate_.seen[0]).sum())
    assert unseen == 12
    assert f"{HOSTILE} at 12 of 396 points" in told
    certificate = on_grid.model.certify().claims
    assert (certificate.verdict == "certified") != ("Nothing is proved" in told)


def test_numbers_that_are_told_are_those_of_the_model(pages, on_grid):
    told = text_of(pages["grid"], "calibration")
    assert on_grid.model.skill(on_grid.truth).calibration.verdict() in told
    relative = on_grid.model.evaluate(on_grid.truth).relative_l2[HOSTILE]
    assert f"{HOSTILE} {relative:.2%}" in text_of(pages["grid"], "skill")


def test_warnings_of_the_model_are_told_and_not_raised(on_grid):
    surrogate = on_grid.model.surrogate_
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnobservedWarning)
        few = on_grid.truth.at_points(np.arange(0, 396, 37))
        page = report_page(on_grid.model, few)
    assert surrogate is on_grid.model.surrogate_
    assert "A warning." in text_of(page, "limits")


def test_without_room_for_error_bars_there_are_none(pages):
    assert 'id="panel-error"' in pages["dots"]
    assert 'id="panel-deviation"' not in pages["dots"]
    assert "× 2.5 m" in pages["dots"]  # units that are numbers


def test_a_sequence_that_is_not_there_is_refused(on_grid):
    with pytest.raises(SettingsError, match="one of 3 sequences, counted from 1, got 4"):
        report_page(on_grid.model, on_grid.truth, sequence=3)


def test_the_same_report_is_the_same_text(on_line):
    again = report_page(on_line.model, on_line.truth, name="waves.smore", test_name="test.nc")
    assert again == on_line.page


def test_places_on_the_globe_are_told_in_degrees(pages):
    assert re.search(r"from -?[\d.]+ to [\d.]+ °N", text_of(pages["globe"], "model"))
    assert "degrees_north" not in text_of(pages["globe"], "limits")


def test_squared_errors_are_called_so(pages):
    """They stand beside root mean squares, of which they are the squares."""
    told = text_of(pages["grid"], "skill")
    assert "By squared errors of all these steps together it is" in told
    assert "the squared error is" in told


@pytest.mark.parametrize(("radius", "told"), [(0.0, False), (0.25, True)])
def test_how_far_a_proof_reaches_is_told_if_it_reaches_anywhere(on_grid, radius, told):
    surrogate = on_grid.model.surrogate_
    claims = surrogate.certificate.claims.model_copy(update={"radius": radius})
    certified = SimpleNamespace(
        certificate=SimpleNamespace(claims=claims), description=surrogate.description
    )
    told_there = str(certificate_section(SimpleNamespace(surrogate=certified)))
    assert ("states up to" in told_there) == told


@pytest.mark.parametrize(("random", "told"), [(0.895, True), (0.8, False)])
def test_where_to_measure_hardly_matters_if_random_places_are_as_good(on_line, random, told):
    surrogate = on_line.model.surrogate_
    plan = on_line.model.place_sensors(3)
    shares = SimpleNamespace(
        explained=0.9,
        random_explained=random,
        coords=plan.coords,
        channels=plan.channels,
        variance=plan.variance,
        random_coords=plan.random_coords,
    )
    found = str(sensors_section(SimpleNamespace(sensors=shares, surrogate=surrogate)))
    assert ("The place hardly matters here." in found) == told
    assert "from none, instruments taken to be exact" in found


def test_no_sentence_speaks_of_worse_steps_by_another_rule(pages):
    """Of the worth there is one rule; the verdict of `smore evaluate` goes by another."""
    for kind in ("grid", "line", "globe"):
        told = text_of(pages[kind], "skill") + text_of(pages[kind], "limits")
        assert "is better at" not in told
        assert "do not use this model" not in told
