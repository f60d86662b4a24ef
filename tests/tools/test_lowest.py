"""Lower bounds as pins."""

from lowest import lowest

PROJECT = """
[project]
dependencies = ["numpy>=1.26", "dask[array]>=2024.6", "torch>=2.6"]
[project.optional-dependencies]
paper = ["opinf>=0.6"]
dev = ["scipy-stubs", "ruff>=0.6"]
"""


def test_every_bound_is_a_pin_but_that_of_what_cannot_be_had():
    assert lowest(PROJECT, []) == ["numpy==1.26", "dask==2024.6"]
    assert lowest(PROJECT, ["paper", "dev"])[2:] == ["opinf==0.6", "ruff==0.6"]
