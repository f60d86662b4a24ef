"""Methods beside each other on the same data: ours, what people use today, and your own.

>>> from smore.comparison import compare                              # doctest: +SKIP
>>> compare("train.nc", "test.nc", ["smore", "pod-dmd", "mine:Model"])  # doctest: +SKIP
"""

from smore.comparison.comparing import MINUTES, USUAL, compare
from smore.comparison.forecaster import Forecaster, whole_steps
from smore.comparison.models import model_names
from smore.comparison.results import Comparison, Fit, ModelScores

__all__ = [
    "MINUTES",
    "USUAL",
    "Comparison",
    "Fit",
    "Forecaster",
    "ModelScores",
    "compare",
    "model_names",
    "whole_steps",
]
