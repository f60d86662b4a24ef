"""`smore compare` as a user meets it, with a model of the user's own in the folder."""

import json

import pytest
from test_commands import smore, waves

OWN = """
import numpy as np

class Mean:
    def fit(self, train):
        self.mean = np.mean([sequence.fields.mean(0) for sequence in train], axis=0)

    def forecast(self, first, times):
        return np.repeat(self.mean[None], len(times), axis=0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("compared")
    waves(12, 15, 1).to_netcdf(place / "train.nc")
    waves(4, 15, 2).to_netcdf(place / "test.nc")
    (place / "mine.py").write_text(OWN)
    return place


def test_own_models_stand_beside_others(folder):
    models = "smore,pod-dmd,persistence,climatology,mine:Mean"
    how = ("--models", models, "--figure", "compared.png")
    printed, _ = smore("compare", "train.nc", "test.nc", *how, folder=folder)
    for words in ("mine:Mean", "4 forecasts each, up to 14 steps ahead", "is best"):
        assert words in printed
    assert (folder / "compared.png").stat().st_size > 10_000
    printed, _ = smore(
        "compare", "train.nc", "test.nc", "--models", models, "--json", folder=folder
    )
    found = {each["name"]: each["fits"][0]["error"] for each in json.loads(printed)["models"]}
    assert found["mine:Mean"] == pytest.approx(found["climatology"])
    assert found["smore"] < 1e-3 * found["persistence"]


def test_a_mistake_in_ones_own_module_is_found(folder):
    wrong = OWN.replace("self.mean = ", "self.mean = train.first + ").replace("Mean", "M")
    (folder / "wrong.py").write_text(wrong)
    printed, _ = smore(
        "compare", "train.nc", "test.nc", "--models", "persistence,wrong:M", folder=folder
    )
    printed = printed.replace("\n", " ")
    assert "failed: wrong:M: AttributeError: 'Trajectories'" in printed
    assert "no attribute 'first' (wrong.py:6)" in printed


def test_an_unknown_model_is_one_line(folder):
    _, error = smore("compare", "train.nc", "test.nc", "--models", "arima", folder=folder, code=2)
    assert "'arima' is no model; there are smore, pod-dmd" in error.replace("\n", " ")


def test_the_laboratory_brings_models_too(folder):
    how = ("--models", "opinf,fno", "--json")
    printed, _ = smore("compare", "train.nc", "test.nc", *how, folder=folder)
    opinf, fno = json.loads(printed)["models"]
    assert opinf["fits"][0]["error"] < 1
    assert "rectangular grid" in fno["failure"]  # the points are scattered
