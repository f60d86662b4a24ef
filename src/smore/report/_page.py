"""The page: what matters first, everything else below, one file that needs nothing else.

Its content security policy allows the script and the style that are in it, by their hashes, and
pictures that are written out; nothing else runs or is loaded, whatever names the data have.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from smore.report._findings import Findings
from smore.report._forecast_sections import calibration_section, places_section, skill_section
from smore.report._html import Html, content_hash, element, joined
from smore.report._limits import limits_section
from smore.report._model_sections import (
    certificate_section,
    extent,
    model_section,
    modes_section,
    sensors_section,
)
from smore.report._player import player_section
from smore.report._svg import figure_style
from smore.report._telling import paragraph
from smore.report._worth import in_time
from smore.stability import HEADLINES, Verdict

PACKAGE = "smore-rom"
STYLE, SCRIPTS = "page.css", ("drawing.js", "player.js")
# Of a card: good, doubtful or bad.
TONES: dict[Verdict, str] = {"certified": "good", "bounded": "fair", "refused": "poor"}

# Errors more or fewer times those without a model are not told apart.
MUCH, LITTLE = 100.0, 1e-4


def page(findings: Findings, name: str, test_name: str) -> str:
    """The report as HTML.

    Args:
        findings: what to tell.
        name: of the model.
        test_name: of the test data; "" without.
    """
    style = _asset(STYLE)
    script = "\n".join(map(_asset, SCRIPTS))
    with figure_style():
        body = _body(findings, name, test_name)
    policy = (
        f"default-src 'none'; script-src {content_hash(script)}; "
        f"style-src {content_hash(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{name}: a SMORE report"),
        element("style", Html(style)),
    )
    whole = element("html", head, element("body", body, element("script", Html(script))), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _body(findings: Findings, name: str, test_name: str) -> Html:
    tested = findings.tested
    sections = {
        "skill": ("Skill", skill_section(findings)),
        "player": (
            "Player",
            None
            if tested is None or tested.frames is None
            else player_section(tested.frames, findings.surrogate.description),
        ),
        "places": ("Where it errs", places_section(findings)),
        "calibration": ("Error bars", calibration_section(findings)),
        "limits": ("Limits", limits_section(findings)),
        "certificate": ("Stability", certificate_section(findings)),
        "modes": ("Modes", modes_section(findings)),
        "sensors": ("Sensors", sensors_section(findings)),
        "model": ("The model", model_section(findings)),
    }
    there = {key: each for key, each in sections.items() if each[1] is not None}
    links = [
        element("li", element("a", title, href=f"#{key}")) for key, (title, _) in there.items()
    ]
    return joined(
        [
            element("a", "To the content", href="#main", class_="skip"),
            _header(findings, name, test_name),
            element("nav", element("ul", links), aria_label="Sections"),
            element("main", [part for _, part in there.values()], id="main"),
            element(
                "footer",
                paragraph(
                    f"Made by smore {version(PACKAGE)} from {name}"
                    + (f" and {test_name}." if test_name else ".")
                    + " Nothing on this page is loaded from elsewhere."
                ),
            ),
        ]
    )


def _header(findings: Findings, name: str, test_name: str) -> Html:
    description = findings.surrogate.description
    channels = ", ".join(channel.name for channel in description.channels)
    step = in_time(1, description)
    told = f"Forecasts {channels} over {extent(findings)}"
    told += "." if step == "1 step" else f", in steps of {step}."
    data = f" Tested on {test_name}." if test_name else " Not tested: no test data were given."
    toggle = element("button", "Dark", type="button", id="theme")
    return element(
        "header",
        element("div", element("h1", name), toggle, class_="title"),
        paragraph(told + data),
        element("div", _cards(findings), class_="cards"),
    )


def _cards(findings: Findings) -> list[Html]:
    """The few things to know."""
    tested, claims = findings.tested, findings.surrogate.certificate.claims
    description = findings.surrogate.description
    proof = _card(
        "Stability", HEADLINES[claims.verdict].capitalize(), TONES[claims.verdict], "#certificate"
    )
    if tested is None:
        return [_card("Worth using", "not tested", "fair", "#skill"), proof]
    worth, skill = tested.worth, tested.skill
    span = worth.span
    tone = "poor" if span is None else "good" if span[1] == worth.tested else "fair"
    cards = [_card("Worth using", worth.headline(description), tone, "#skill")]
    if span is not None:
        ends = {lead: worth.errors[worth.leads.index(lead)] for lead in (worth.leads[0], span[1])}
        told = [f"{_percent(e)} after {in_time(n, description)}" for n, e in ends.items()]
        if len({_percent(error) for error in ends.values()}) == 1:
            told = [_percent(worth.errors[0])]
        cards.append(_card("Its error, of that without a model", ", ".join(told), tone, "#skill"))
    if skill.calibration is not None:
        size = skill.calibration.verdict().partition(": ")[2].rstrip(".")
        right = "good" if size == "about right" else "fair"
        cards.append(_card("Error bars", size, right, "#calibration"))
    return [*cards, proof]


def _percent(ratio: float) -> str:
    if ratio >= MUCH:
        return "far more"
    if ratio < LITTLE:
        return "less than 0.01%"
    return f"{ratio:.0%}" if ratio >= 0.1 else f"{100 * ratio:.2g}%"


def _card(title: str, value: str, tone: str, link: str) -> Html:
    return element(
        "a",
        element("span", title, class_="what"),
        element("span", value, class_="value"),
        class_=f"card {tone}",
        href=link,
    )
