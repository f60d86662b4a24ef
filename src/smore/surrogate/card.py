"""The card of a model: what it was made from, what it is, how good, what is proved, what it cannot.

Everything on it is kept in the model's file, so that whoever is given the file has the card.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smore.data import told_steps
from smore.runtime import html_table, show, told_instant
from smore.settings import Settings, when_tried
from smore.stability import HEADLINES
from smore.surrogate.networks import count_parameters
from smore.surrogate.summary import left_out_in_words
from smore.surrogate.surrogate import Surrogate

Rows = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class ModelCard:
    """Sections of rows: a word, and a value or a sentence.

    Attributes:
        data: what the model learned from.
        settings: with the choices that were made, those that rarely matter only if not the usual.
        scores: errors that the fit found.
        certificate: what is proved about long forecasts.
        limits: where to be careful.
    """

    data: Rows
    settings: Rows
    scores: Rows
    certificate: Rows
    limits: Rows

    @classmethod
    def of(cls, surrogate: Surrogate) -> ModelCard:
        """The card of what was learned."""
        return cls(
            data=tuple(_data(surrogate)),
            settings=tuple(_settings(surrogate.description.settings)),
            scores=tuple(_scores(surrogate)),
            certificate=tuple(_certificate(surrogate)),
            limits=tuple(_limits(surrogate)),
        )

    @property
    def sections(self) -> dict[str, Rows]:
        """By name, in order."""
        return dict(vars(self))

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values for JSON."""
        return {name: dict(rows) for name, rows in self.sections.items()}

    def _repr_html_(self) -> str:
        tables = [html_table(name.capitalize(), rows) for name, rows in self.sections.items()]
        return f"<div>{''.join(tables)}</div>"


def _data(surrogate: Surrogate) -> Iterator[tuple[str, Any]]:
    description, record = surrogate.description, surrogate.description.training
    yield "sequences", record.num_sequences
    yield "snapshots", record.num_snapshots
    yield "points", record.num_points
    if record.first_time is not None and record.last_time is not None:
        ends = description.clock.to_values(np.array([record.first_time, record.last_time]))
        units = description.clock.units if description.clock.kind == "number" else ""
        first, last = map(told_instant, ends)
        yield "times", f"{first} to {last} {units}".rstrip()
    step = np.array([description.time_step])
    yield "time step", told_steps(description.clock, description.pace, step)
    space, mesh = description.space, surrogate.mesh
    for column, (name, units) in enumerate(zip(space.names, space.units, strict=True)):
        reach = "" if mesh is None else _between(mesh.reach[:, column])
        yield f"coordinate {name}", f"{reach} {units}".strip() or space.geometry
    variances = description.training_variance
    for channel, variance in zip(description.channels, variances, strict=True):
        told = [channel.units, channel.long_name, f"standard deviation {show(variance**0.5)}"]
        yield f"channel {channel.name}", ", ".join(each for each in told if each)


def _between(values: np.ndarray) -> str:
    return f"{values.min():.6g} to {values.max():.6g}"


def _settings(settings: Settings) -> Iterator[tuple[str, Any]]:
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        if value != field.default or (value is not None and when_tried(name) == "first"):
            yield name, value


def _scores(surrogate: Surrogate) -> Iterator[tuple[str, Any]]:
    description, record = surrogate.description, surrogate.description.training
    known = left_out_in_words(record.findings)
    if known is not None:
        yield "forecasts", known
    if "decoder_error" in record.findings:
        yield "decoder error", float(record.findings["decoder_error"])
    if record.history:
        yield f"error on the {record.selection}", min(error for _, error in record.history)
    missed = np.sqrt(np.array(description.noise_variance) * np.array(description.noise_growth))
    missed = missed * description.normalization.scale_array
    for channel, size in zip(description.channels, missed, strict=True):
        told = f"{show(float(size))} {channel.units}".rstrip()
        yield f"decoding misses of {channel.name}", f"{told} (root mean square, left out)"
    yield "seconds of training", float(record.seconds)
    yield "parameters", count_parameters(surrogate.decoder, surrogate.dynamics)
    yield "on other data", "smore evaluate MODEL TEST"


def _certificate(surrogate: Surrogate) -> Iterator[tuple[str, Any]]:
    claims = surrogate.certificate.claims
    yield "verdict", HEADLINES[claims.verdict].lower()
    yield "because", claims.reason


def _limits(surrogate: Surrogate) -> Iterator[tuple[str, Any]]:
    findings, description = surrogate.description.training.findings, surrogate.description
    yield "systems", "the one of the training data: other equations or forcing are not noticed"
    yield "places", "those above: points outside come with a warning, or without a value"
    steps = int(findings.get("checked_steps", description.horizon - 1))
    yield "time", f"forecasts were checked up to {steps} steps ahead: further is extrapolation"
    if surrogate.seen is not None:
        blank = int((~surrogate.seen).sum())
        yield "gaps", f"{blank:,} values of a snapshot were never observed: no forecast there"
    if findings.get("share", 1.0) < 1:
        yield "changes", f"only the last {findings['share']:.0%} of the record was learned from"
