"""One page: requests of its browser go to an explorer, and what changed comes back."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.templates import get_env
from bokeh.document import Document
from bokeh.models import ColumnDataSource, CustomJS

from smore.data import time_unit
from smore.errors import SmoreError
from smore.explore import _words as words
from smore.explore._desk import Desk
from smore.explore._explorer import Explorer
from smore.explore._exports import (
    ANALYSIS,
    FORECAST,
    SENSORS,
    command_line,
    forecast_file,
    sensors_table,
)
from smore.explore._figures import (
    add_mark,
    add_readings,
    add_sensors,
    picture_figure,
    point_figure,
    scale,
    worth_figure,
)
from smore.explore._pictures import BESIDE, Pictures
from smore.explore._requests import ALL, MOVING, SHOWN, done

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Names:
    """What was named on the command line, for titles and commands.

    Args:
        model: the model file.
        data: the data, if any.
        stream: the stream, if any.
    """

    model: str
    data: str | None = None
    stream: str | None = None


class Page:
    """The page of one browser.

    Args:
        explorer: what it knows and does.
        names: of the files.
        offer: keeps bytes under a name until they are fetched, and says by which key.
    """

    explorer: Explorer

    def __init__(
        self, explorer: Explorer, names: Names, offer: Callable[[str, bytes], str]
    ) -> None:
        self.explorer, self.names, self.offer = explorer, names, offer
        self.pictures = Pictures(explorer)
        self.beside, self.number = BESIDE[0], 1
        self.desk = Desk(name="desk")
        self.sensors = ColumnDataSource(
            {"x": [], "y": [], "number": [], "label": []},
            default_values={"number": 0, "label": ""},
        )
        self.readings = ColumnDataSource({"x": [], "out_x": [], "y": []})
        self.mark = ColumnDataSource({"x": [], "y": []})
        self._figures()

    def _figures(self) -> None:
        explorer, space = self.explorer, self.explorer.description.space
        canvas = explorer.view.canvas
        labels = [words.quantity(space.names[n], space.units[n]) for n in canvas.columns]
        low, high, _ = self.pictures.limits()
        self.field_figure = picture_figure(canvas, labels, (low, high))
        self.beside_figure = picture_figure(explorer.view.coarse, labels)
        is_line = canvas.kind == "line"
        for each in (self.field_figure, self.beside_figure):
            add_mark(each.plot, self.mark, line=is_line)
        add_readings(self.field_figure.plot, self.readings)
        add_sensors(self.field_figure.plot, self.sensors)
        self.worth_figure = worth_figure(self._time_label())
        self.point_figure = point_figure(self._time_label())

    def open(self, document: Document) -> None:
        """Put everything into a document."""
        folder = Path(__file__).parent
        document.title = f"smore explore: {self.names.model}"
        template = (folder / "page.html").read_text(encoding="utf-8")
        document.template = get_env().from_string("{% extends base %}\n" + template)
        document.template_variables["style"] = (folder / "page.css").read_text(encoding="utf-8")
        plots = {
            "field": self.field_figure.plot,
            "beside": self.beside_figure.plot,
            "worth": self.worth_figure.plot,
            "point": self.point_figure.plot,
        }
        for name, plot in plots.items():
            plot.name = name
            document.add_root(plot)
        self.field_figure.plot.tags = [self.desk]  # a part of the document that is not drawn
        self.desk.update(words={"fixed": self._fixed(), **self._refreshed(ALL)})
        self.desk.on_change("request", self._asked)
        script = CustomJS(
            args={"desk": self.desk, "sensors": self.sensors, "plots": plots},
            code=(folder / "page.js").read_text(encoding="utf-8"),
        )
        document.js_on_event("document_ready", script)

    def _asked(self, attr: str, old: Any, request: Any) -> None:
        """Answer a request; whatever it is, there is an answer."""
        document = self.desk.document
        assert document is not None
        document.hold("combine")
        try:
            told = self.answer(request)
        except Exception:  # the page must not wait for ever
            logger.exception("a request failed")
            told = {"problem": "something went wrong; the terminal says what"}
        turn = request.get("turn", -1) if isinstance(request, dict) else -1
        self.desk.update(words=told, turn=turn)
        document.unhold()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What changes on the page by a request."""
        try:
            if request["what"] == "download":
                return self._download(str(request["value"]))
            return {"problem": "", **self._refreshed(done(self, request))}
        except SmoreError as error:
            return {"problem": str(error), **self._refreshed(ALL)}
        except (KeyError, TypeError, ValueError, OverflowError):
            return {"problem": "the page asked for something that does not exist"}

    def _download(self, what: str) -> dict[str, Any]:
        if what == "sensors":
            name, content = SENSORS, sensors_table(self.explorer)
        else:
            name = ANALYSIS if self.explorer.following else FORECAST
            content = forecast_file(self.explorer)
        return {"problem": "", "download": {"key": self.offer(name, content), "name": name}}

    # What is shown

    def _refreshed(self, how: int) -> dict[str, Any]:
        """Draw what a change of some kind may have changed, and say the rest in words."""
        explorer = self.explorer
        scales = self._draw()
        told = {
            "scales": scales,
            "step": explorer.step,
            "time": explorer.told_time(explorer.step),
            **self._read(),
        }
        if explorer.following:
            told["heard"] = words.heard(explorer)
        else:
            told["known"] = words.known(explorer)
        if how == MOVING:
            return told
        for curve in (self.worth_figure, self.point_figure):
            curve.now.location = float(self._times()[explorer.step])
        told["command"] = command_line(explorer, self.names.model, self.names.stream)
        return told if how == SHOWN else told | self._everything()

    def _draw(self) -> dict[str, Any]:
        """Both pictures, and what their colours mean."""
        explorer = self.explorer
        field = self.pictures.field()
        beside = self.pictures.beside(self.beside, self.number)
        if field.canvas.kind == "line":
            nothing = np.full(len(field.values), np.nan)
            band = explorer.shown.deviation(explorer.view.places, explorer.channel, explorer.step)
            self.field_figure.draw_line(field, band, self.pictures.truth(field.canvas))
            self.beside_figure.draw_line(beside, 0 * nothing, nothing)
        else:
            self.field_figure.draw(field)
            self.beside_figure.draw(beside)
        if explorer.following and explorer.followed is not None:
            places, taken = explorer.followed.readings(explorer.step)
            columns = explorer.view.canvas.columns
            up = places[:, columns[1]] if len(columns) > 1 else np.zeros(len(places))
            x = places[:, columns[0]]
            self.readings.data = {"x": x, "out_x": np.where(taken, np.nan, x), "y": up}
        elif len(self.readings.data["x"]):
            self.readings.data = {"x": [], "out_x": [], "y": []}
        if field.canvas.kind == "line":
            return {}
        return {"field": scale(field), "beside": scale(beside)}

    def _read(self) -> dict[str, Any]:
        """The numbers at the marked point."""
        explorer = self.explorer
        reading, channel = explorer.read(), explorer.description.channels[explorer.channel]
        told = {
            "quantity": channel.name,
            "value": words.number(reading.value),
            "deviation": words.number(reading.deviation, words.FEW_DIGITS),
            "units": channel.units if channel.units != "1" else "",
            "where": words.place_words(explorer, explorer.view.marked),
        }
        truth = words.number(reading.truth)
        known = math.isfinite(reading.truth)
        return told | {"truth": f"The data say {truth} there." if known else ""}

    def _everything(self) -> dict[str, Any]:
        explorer = self.explorer
        drawn = explorer.view.marked[list(explorer.view.canvas.columns)].tolist()
        self.mark.data = {"x": drawn[:1], "y": drawn[1:] or [0.0]}
        worth = explorer.worth()
        self._draw_worth(worth)
        self._draw_point(worth.steps)
        several = range(len(explorer.shown.instants))
        return {
            "times": [explorer.told_time(step) for step in several],
            "sensors": self._rows(),
            "doubts": words.doubts(explorer),
            "worth": worth.words(explorer.told_time, furthest=explorer.looks_furthest),
            "unseen": words.unseen(explorer),
            "planned": words.planned(explorer),
            "settings": self._settings(),
        }

    def _draw_worth(self, worth: Any) -> None:
        nothing = np.full(len(worth.steps), np.nan)
        curves = (worth.measured, worth.persistence, worth.climatology_measured)
        measured, persistence, climatology = (nothing if c is None else c for c in curves)
        self.worth_figure.source.data = {
            "x": self._times()[worth.steps],
            "expected": worth.expected,
            "usual": np.full(len(nothing), worth.climatology),
            "measured": measured,
            "persistence": persistence,
            "climatology": climatology,
        }

    def _draw_point(self, steps: np.ndarray) -> None:
        explorer, shown = self.explorer, self.explorer.shown
        places, channel = explorer.view.marked_places, explorer.channel
        value = np.array([places.field(channel, shown.state(step))[0] for step in steps.tolist()])
        width = [shown.deviation(places, channel, step)[0] for step in steps.tolist()]
        data = np.full(len(steps), np.nan)
        for at, step in enumerate(steps.tolist()):
            index = explorer.truth_index(step)
            if index is not None and explorer.truth is not None:
                found = explorer.truth.on(places.mesh, explorer.sequence, index, channel)
                data[at] = found[0]
        self.point_figure.source.data = {
            "x": self._times()[steps],
            "value": value,
            "low": value - width,
            "high": value + width,
            "data": data,
        }

    def _times(self) -> np.ndarray:
        """Instants as the axes have them: as they are, or in a unit of time since the start."""
        explorer = self.explorer
        if explorer.description.clock.kind == "number":
            return explorer.shown.instants
        unit = time_unit(explorer.description.clock, explorer.description.pace)
        return (explorer.shown.instants - explorer.shown.instants[0]) / unit.length

    def _time_label(self) -> str:
        description = self.explorer.description
        unit = time_unit(description.clock, description.pace)
        if description.clock.kind == "number":
            return words.quantity("time", unit.name)
        return f"{unit.name} from the start"

    def _rows(self) -> list[dict[str, Any]]:
        """The sensors, for the table and the picture."""
        explorer = self.explorer
        return [
            {
                "number": row.number,
                "drawn": explorer.drawn(row).tolist(),
                "cells": [*map(words.cell, row.place), *map(words.cell, row.values)],
            }
            for row in ([] if explorer.following else explorer.sensors.rows)
        ]

    def _settings(self) -> dict[str, Any]:
        """What the controls stand at."""
        explorer, canvas = self.explorer, self.explorer.view.canvas
        noise = explorer.noise.get(explorer.channel)
        truth = explorer.truth
        start = explorer.description.clock.to_values(np.array([explorer.start]))[0]
        return {
            "channel": explorer.channel,
            "beside": self.beside,
            "number": self.number,
            "source": "stream" if explorer.following else "sensors",
            "values": "data" if explorer.from_data else "typed",
            "sequence": explorer.sequence,
            "origin": explorer.origin,
            "origins": 1 if truth is None else len(truth.times(explorer.sequence)),
            "start": str(start),
            "ahead": explorer.ahead,
            "measured": explorer.measured,
            "noise": "" if noise is None else repr(noise),
            "mark": [words.cell(x) for x in explorer.view.marked[list(canvas.columns)]],
            "height": "" if canvas.cut is None else words.cell(canvas.cut[1]),
        }

    def _fixed(self) -> dict[str, Any]:
        """What a page says once."""
        explorer, description = self.explorer, self.explorer.description
        verdict, checked = words.certificate(explorer.surrogate)
        canvas, space = explorer.view.canvas, description.space
        return {
            "model": self.names.model,
            "about": words.about(explorer.surrogate),
            "verdict": verdict,
            "checked": checked,
            "channels": [words.quantity(c.name, c.units) for c in description.channels],
            "coordinates": [
                words.quantity(*pair) for pair in zip(space.names, space.units, strict=True)
            ],
            "drawn": [space.names[column] for column in canvas.columns],
            "cut": "" if canvas.cut is None else space.names[canvas.cut[0]],
            "data": self.names.data or "",
            "sequences": 0 if explorer.truth is None else len(explorer.truth),
            "stream": self.names.stream or "",
            "modes": words.mode_rows(self.pictures.modes),
            "modes_about": [self.pictures.modes.about, *self.pictures.modes.cautions()],
            "line": canvas.kind == "line",
        }
