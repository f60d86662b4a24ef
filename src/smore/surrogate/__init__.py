"""What was learned, as a value; inferring, decoding and forecasting with it."""

from smore.surrogate.advancing import advance, advance_uncertain, errors_of_forecasts, iterate
from smore.surrogate.asking import instants_of, mesh_of
from smore.surrogate.card import ModelCard
from smore.surrogate.decoding import decode, decode_channels, decode_departures, deviation
from smore.surrogate.description import (
    CellLayout,
    Description,
    MeshLayout,
    ReferenceLayout,
    TrainingRecord,
)
from smore.surrogate.forecasting import fields_dataset, forecast_dataset
from smore.surrogate.inferring import Evidence, Noise, evidence, infer, inferred, noise_of
from smore.surrogate.networks import build_decoder, build_dynamics, build_network, count_parameters
from smore.surrogate.pod_dmd import PodDmd, affine_step
from smore.surrogate.references import MONTHS, References, months_of
from smore.surrogate.summary import left_out_in_words, summary_rows
from smore.surrogate.surrogate import LEAST_NOISE, Surrogate

__all__ = [
    "LEAST_NOISE",
    "MONTHS",
    "CellLayout",
    "Description",
    "Evidence",
    "MeshLayout",
    "ModelCard",
    "Noise",
    "PodDmd",
    "ReferenceLayout",
    "References",
    "Surrogate",
    "TrainingRecord",
    "advance",
    "advance_uncertain",
    "affine_step",
    "build_decoder",
    "build_dynamics",
    "build_network",
    "count_parameters",
    "decode",
    "decode_channels",
    "decode_departures",
    "deviation",
    "errors_of_forecasts",
    "evidence",
    "fields_dataset",
    "forecast_dataset",
    "infer",
    "inferred",
    "instants_of",
    "iterate",
    "left_out_in_words",
    "mesh_of",
    "months_of",
    "noise_of",
    "summary_rows",
]
