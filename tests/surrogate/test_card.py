"""The card that goes with a model's file."""

import json
from dataclasses import replace

import numpy as np

from smore import SMORE
from smore.data import Channel
from waves import planted, trajectories


def test_the_card_of_a_file_is_that_of_the_model(tmp_path):
    data = trajectories()
    model = planted(data)
    model.save(tmp_path / "model.smore")
    card = SMORE.load(tmp_path / "model.smore").card()
    assert card.to_dict() == model.card().to_dict()
    assert list(card.sections) == ["data", "settings", "scores", "certificate", "limits"]
    told = dict(card.data)
    assert told["sequences"] == len(data)
    times = np.concatenate([sequence.times for sequence in data])
    assert told["times"].startswith(f"{times.min():.12g} to {times.max():.12g}")
    chosen = model.surrogate_.description.settings
    assert dict(card.settings)["latent_dim"] == chosen.latent_dim
    assert dict(card.certificate)["because"] == model.certify().claims.reason
    assert "steps ahead" in dict(card.limits)["time"]
    json.dumps(card.to_dict())


def test_what_the_data_call_themselves_is_text():
    data = trajectories()
    hostile = (Channel(name="<script>", units="<b>m</b>"), *data.channels[1:])
    html = planted(replace(data, channels=hostile)).card()._repr_html_()
    assert "<script>" not in html
    assert "&lt;b&gt;m" in html
