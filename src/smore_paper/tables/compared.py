"""What is compared: models and what people call them, their sizes, the paper's errors, the data."""

from __future__ import annotations

from typing import Literal

from smore.data import Trajectories
from smore_paper import datasets
from smore_paper.baselines.base import Baseline
from smore_paper.baselines.operator_inference import OperatorInference
from smore_paper.baselines.pod_dmd import PODDMD
from smore_paper.baselines.sizes import BASELINE_SIZES, paper_operator
from smore_paper.claims import ROLLOUT_CLAIMS, Claim
from smore_paper.datasets.catalogue import ALIASES, benchmark_of
from smore_paper.presets import PRESETS, Preset

HORIZON = 10  # snapshots that supervise

Recipe = Literal["fast", "paper"]
RECIPES: tuple[Recipe, ...] = ("fast", "paper")
BASELINE = "baseline"  # the recipe of everything else: its own

SMORE_MODELS = ("smore-koopman", "smore-lrlq")
# The paper's SMORE follows DINo (Yin et al., 2023) in everything but the dynamics, so DINo is SMORE
# with an MLP for these and the paper's recipe, and nothing else.
BY_SMORE = (*SMORE_MODELS, "dino")
# One look at the data: no budget, and the first has no random numbers either.
CLASSICAL = ("pod-dmd", "opinf")
SEEDLESS = ("pod-dmd",)
# All models, with what people call them.
LABELS = {
    "fno": "FNO",
    "cno": "CNO",
    "transolver": "Transolver",
    "dino": "DINo",
    "smore-koopman": "SMORE-Koopman",
    "smore-lrlq": "SMORE-LRLQ",
    "pod-dmd": "POD + DMD",
    "opinf": "operator inference",
}
# Every line of the table: a model and its recipe.
VARIANTS = tuple(
    (model, recipe)
    for model in LABELS
    for recipe in (RECIPES if model in SMORE_MODELS else (BASELINE,))
)

SHORT_NAMES = {"wave": "wave"} | {full: alias for alias, full in ALIASES.items()}


def label(model: str, recipe: str) -> str:
    """A model as tables and figures call it."""
    return LABELS[model] if recipe == BASELINE else f"{LABELS[model]}, {recipe}"


def supervising_and_test(dataset: str) -> tuple[Trajectories, Trajectories]:
    """Training sequences as far as they supervise, and whole test sequences."""
    benchmark = datasets.load(dataset)
    train = Trajectories.from_xarray(benchmark.train).leading(HORIZON)
    return train, Trajectories.from_xarray(benchmark.test)


def make_baseline(dataset: str, model: str) -> Baseline:
    """The untrained baseline in the size that it has on this benchmark."""
    dataset = benchmark_of(dataset)
    if model == "pod-dmd":
        return PODDMD.for_dataset(dataset)
    if model == "opinf":
        return OperatorInference.for_dataset(dataset)
    return paper_operator(_operator(dataset, model), dataset)


def paper_preset(dataset: str, model: str) -> Preset:
    """The paper's size of SMORE or DINo on a benchmark."""
    return PRESETS[_preset_name(dataset, model)]


def paper_claim(dataset: str, model: str) -> Claim | None:
    """The paper's errors, None for methods that it has none of."""
    return ROLLOUT_CLAIMS.get(_preset_name(dataset, model))


def _preset_name(dataset: str, model: str) -> str:
    """Such as "wave-koopman"."""
    return f"{SHORT_NAMES[benchmark_of(dataset)]}-{model.removeprefix('smore-')}"


def paper_parameters(dataset: str, model: str) -> int | None:
    """The paper's count, None for methods that it does not have."""
    if model in CLASSICAL:
        return None
    if model in BY_SMORE:
        return paper_preset(dataset, model).paper_parameters
    dataset = benchmark_of(dataset)
    return BASELINE_SIZES[_operator(dataset, model), dataset].paper_parameters


def _operator(dataset: str, model: str) -> str:
    """On the sphere the paper's FNO is the spherical one."""
    return "sfno" if (dataset, model) == ("shallow-water", "fno") else model
