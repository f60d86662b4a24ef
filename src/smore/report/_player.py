"""The player: truth, forecast, error and error bar at one time, and one point at all times.

What can be said without a script stands in the page; `player.js` fills in pictures and numbers from
the data beside it. Colours of fields with both signs have their middle at zero.
"""

from __future__ import annotations

import math
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

from smore.data import Channel, Clock
from smore.plotting import with_units
from smore.report._decimals import MISSING, Decimals, encoded
from smore.report._html import Html, data_element, element
from smore.report._picture import BLANK, Picture
from smore.report._played import Frames
from smore.report._telling import paragraph, section, told_unit
from smore.surrogate import Description

FloatArray = NDArray[np.float64]

DATA = "player-data"
SIGNED, PLAIN, BAR = "RdBu_r", "viridis", "cividis"
# A field has both signs if the smaller side reaches this share of the larger.
BOTH_SIGNS = 0.1
SHARE_LEVELS = 255
# Of a range of colours.
SMALLEST = 1e-30
# Height over width of a panel, within reason.
RATIOS = (0.28, 1.3)
LEGEND = "Solid: truth. Dashed: forecast. Band: two standard deviations on either side."


def player_section(frames: Frames, description: Description) -> Html:
    """The section and the data it plays."""
    channels = description.channels[: frames.truth.shape[1]]
    return section(
        "player",
        "Watch a forecast",
        _intro(frames, description),
        _controls(frames, channels),
        element("p", id="numbers", class_="numbers", aria_live="polite"),
        element(
            "div",
            [_panel(*each) for each in _panels(frames)],
            class_="panels",
            id="panels",
        ),
        _probe(frames),
        element(
            "noscript",
            paragraph("The player needs JavaScript; everything else on this page does not."),
        ),
        data_element(DATA, _data(frames, channels, description.clock)),
    )


def _intro(frames: Frames, description: Description) -> Html:
    first = told_time(frames.times[0], description.clock)
    told: list[str | Html] = [f"Forecast from one snapshot, at {first}, beside what happened."]
    if frames.num_sequences > 1:
        told += [
            f" This is sequence {frames.sequence + 1} of {frames.num_sequences}; ",
            element("code", "--sequence"),
            " chooses another one.",
        ]
    if len(frames.numbers) < frames.length:
        told.append(f" {len(frames.numbers)} of {frames.length} snapshots are shown.")
    if len(description.channels) > frames.truth.shape[1]:
        told.append(f" The first {frames.truth.shape[1]} channels are shown.")
    if frames.picture.plane:
        told.append(f" Shown is the plane {frames.picture.plane}.")
    if frames.picture.is_line:
        told.append(f" {LEGEND}")
    return paragraph(told)


def _controls(frames: Frames, channels: tuple[Channel, ...]) -> Html:
    options = [
        element("option", channel.name, value=number) for number, channel in enumerate(channels)
    ]
    last = len(frames.numbers) - 1
    return element(
        "div",
        element("button", "Play", type="button", id="play"),
        element("button", "‹", type="button", id="back", aria_label="One snapshot back"),
        element("button", "›", type="button", id="on", aria_label="One snapshot on"),
        element(
            "div",
            element("label", "Time", for_="time"),
            element("input", type="range", id="time", min=0, max=last, step=1, value=0),
            class_="pair along",
        ),
        element("output", id="moment", for_="time"),
        element(
            "div",
            element("label", "Channel", for_="channel"),
            element("select", options, id="channel"),
            class_="pair",
        ),
        class_="controls",
        role="group",
        aria_label="Player",
    )


def _panels(frames: Frames) -> list[tuple[str, str]]:
    """Identifier and title of every panel."""
    if frames.picture.is_line:
        return [("field", "Truth and forecast"), ("error", "Error")]
    told = [("truth", "Truth"), ("forecast", "Forecast"), ("error", "Error")]
    if frames.deviation is not None:
        told.append(("deviation", "Error bar"))
    return told


def _panel(identifier: str, title: str) -> Html:
    # One stop of the tab key for all maps: the others follow the point that is chosen there.
    reached = identifier in ("forecast", "field")
    canvas = element(
        "canvas",
        id=f"panel-{identifier}",
        width=2,
        height=2,
        tabindex="0" if reached else None,
        role="application" if reached else "img",
        aria_label=f"{title}. Arrow keys choose a point." if reached else title,
    )
    marker = element("span", class_="marker", aria_hidden="true")
    scale = element(
        "div",
        element("span", id=f"low-{identifier}"),
        element("canvas", id=f"scale-{identifier}", width=256, height=1, aria_hidden="true"),
        element("span", id=f"high-{identifier}"),
        class_="scale",
    )
    return element(
        "figure",
        element("figcaption", title, " ", element("span", id=f"unit-{identifier}", class_="unit")),
        element("div", canvas, marker, class_="canvas"),
        scale,
    )


def _probe(frames: Frames) -> Html:
    """One point: its numbers now, and its course."""
    names = [("place", "At"), ("truth", "truth"), ("forecast", "forecast"), ("error", "error")]
    if frames.deviation is not None:
        names.append(("deviation", "error bar (standard deviation)"))
    values = [
        element("div", element("dt", title), element("dd", id=f"value-{name}"))
        for name, title in names
    ]
    return element(
        "div",
        element("h3", "At one point"),
        paragraph(
            "Click a picture, or move to the forecast with the tab key and choose with the arrow "
            "keys.",
            None if frames.picture.is_line else f" {LEGEND}",
            class_="note",
        ),
        element("dl", values, class_="facts", id="values", aria_live="polite"),
        element("div", element("canvas", id="series", role="img"), class_="series"),
        class_="probe",
    )


def told_time(time: float, clock: Clock) -> str:
    """A time as the data tell it."""
    when = clock.to_values(time)
    if clock.kind == "number":
        return f"{float(when):.6g} {clock.units}".rstrip()
    return str(when).replace("T", " ")[:16].removesuffix(" 00:00")


def _data(frames: Frames, channels: tuple[Channel, ...], clock: Clock) -> dict[str, Any]:
    return {
        "picture": _picture(frames.picture),
        "times": [told_time(time, clock) for time in frames.times],
        "steps": frames.numbers.tolist(),
        "channels": [_channel(frames, number, channel) for number, channel in enumerate(channels)],
        "colours": {name: encoded(_colours(name), "u1") for name in (SIGNED, PLAIN, BAR)},
        "missing": MISSING,
        "start": _liveliest(frames.truth[:, 0]),
    }


def _liveliest(truth: FloatArray) -> int:
    """The point at which most happens: there the reader begins."""
    known = np.isfinite(truth).all(axis=0)
    change = np.where(known, np.where(known, truth, 0.0).std(axis=0), -1.0)
    return int(change.argmax())


def _colours(name: str) -> NDArray[np.uint8]:
    """(256, 3)."""
    table = matplotlib.colormaps[name](np.arange(256), bytes=True)
    return np.asarray(table)[:, :3]


def _picture(picture: Picture) -> dict[str, Any]:
    told: dict[str, Any] = {
        "labels": picture.labels,
        "extent": picture.extent,
        "places": encoded(picture.places, "<f4"),
    }
    if picture.shape is None:
        return told | {"line": True}
    left, right, bottom, top = picture.extent
    corners = np.where(picture.corners == BLANK, MISSING, picture.corners)
    return told | {
        "line": False,
        "rows": picture.shape[0],
        "columns": picture.shape[1],
        "ratio": float(np.clip((top - bottom) / max(right - left, 1e-300), *RATIOS)),
        "corners": encoded(corners.T, "<u2"),
        "mixed": picture.corners.shape[1],
        "shares": encoded(np.rint(SHARE_LEVELS * picture.shares.T), "u1"),
    }


def _channel(frames: Frames, number: int, channel: Channel) -> dict[str, Any]:
    truth, forecast = frames.truth[:, number], frames.forecast[:, number]
    error = forecast - truth
    low, high = _range(truth if np.isfinite(truth).any() else forecast)
    largest = max(-low, high)
    signed = low < 0 < high and min(-low, high) >= BOTH_SIGNS * largest
    if signed:
        low, high = -largest, largest
    most = max(high - low, SMALLEST)
    reach = min(_largest(error[1:]), most)
    kinds = {
        "truth": (truth, (low, high), SIGNED if signed else PLAIN),
        "forecast": (forecast, (low, high), SIGNED if signed else PLAIN),
        "error": (error, (-reach, reach), SIGNED),
    }
    if frames.deviation is not None:
        deviation = frames.deviation[:, number]
        kinds["deviation"] = (deviation, (0.0, min(_largest(deviation), most)), BAR)
    return {
        "name": channel.name,
        "title": with_units(channel.name, channel.units),
        "units": told_unit(channel.units),
        "kinds": {
            name: Decimals.of(values).to_json() | {"limits": limits, "colours": colours}
            for name, (values, limits, colours) in kinds.items()
        },
        "numbers": [_numbers(frames, frame, number) for frame in range(len(frames.times))],
    }


def _range(values: FloatArray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    return float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))


def _largest(values: FloatArray) -> float:
    known = np.abs(values[np.isfinite(values)])
    return float(known.max(initial=0.0)) or SMALLEST


def _numbers(frames: Frames, frame: int, channel: int) -> dict[str, str | None]:
    """Root mean squares of a frame, to four digits."""
    told = {"error": frames.error, "persistence": frames.kept, "expected": frames.expected}
    found = {
        name: None if values is None else _told(float(values[frame, channel]))
        for name, values in told.items()
    }
    share = None if frames.inside is None else float(frames.inside[frame, channel])
    found["inside"] = None if share is None or math.isnan(share) else f"{share:.0%}"
    return found


def _told(value: float) -> str | None:
    return None if math.isnan(value) else f"{value:.4g}"
