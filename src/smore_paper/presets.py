"""The paper's nine configurations (PAPER_FACTS section 3), by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smore.errors import SettingsError
from smore.model import SMORE
from smore.settings import Settings


@dataclass(frozen=True)
class Preset:
    """One row of the paper's architecture table.

    Args:
        name: dataset and dynamics, such as "wave-koopman".
        dataset: the benchmark it was made for.
        num_channels: components of the field.
        coordinate_dim: d, dimension of the decoder's coordinates.
        paper_parameters: the paper's count, which includes d·h weights fixed at zero.
        settings: everything else.
    """

    name: str
    dataset: str
    num_channels: int
    coordinate_dim: int
    paper_parameters: int
    settings: Settings


# dataset: (short name, channels, coordinate dimension, batch size, K_eval)
_DATASETS = {
    "wave": ("wave", 2, 2, 32, 500),
    "ns": ("navier-stokes", 1, 2, 32, 300),
    "sw": ("shallow-water", 2, 3, 4, 500),
}
# (dataset, dynamics): (p, h_dec, l_dec, {h_dyn or κ}, the paper's parameter count)
_MODELS: dict[tuple[str, str], tuple[int, int, int, dict[str, int], int]] = {
    ("wave", "dino"): (100, 46, 3, {"dynamics_hidden_dim": 146}, 126_928),
    ("wave", "koopman"): (100, 116, 3, {}, 128_045),
    ("wave", "lrlq"): (40, 112, 3, {"rank": 5}, 127_265),
    ("ns", "dino"): (72, 64, 3, {"dynamics_hidden_dim": 368}, 356_444),
    ("ns", "koopman"): (128, 260, 3, {}, 355_165),
    ("ns", "lrlq"): (72, 160, 4, {"rank": 18}, 353_961),
    ("sw", "dino"): (100, 100, 3, {"dynamics_hidden_dim": 290}, 356_674),
    ("sw", "koopman"): (100, 262, 3, {}, 354_401),
    ("sw", "lrlq"): (60, 96, 3, {"rank": 10}, 354_553),
}


def _preset(data: str, model: str) -> Preset:
    dataset, num_channels, coordinate_dim, batch_size, fit_steps = _DATASETS[data]
    latent_dim, hidden_dim, num_hidden, extra, paper_parameters = _MODELS[data, model]
    settings = Settings.of().replace(
        dynamics="mlp" if model == "dino" else model,
        latent_dim=latent_dim,
        hidden_dim=hidden_dim,
        num_hidden=num_hidden,
        frequency_scale=64.0,
        normalization="none",  # the benchmark files hold the paper's units already
        time_scale=1.0,
        train_length=10,
        window=10,
        epochs=5000,
        batch_size=batch_size,
        fit_steps=fit_steps,
        **extra,
    )
    return Preset(
        f"{data}-{model}", dataset, num_channels, coordinate_dim, paper_parameters, settings
    )


PRESETS: dict[str, Preset] = {f"{data}-{model}": _preset(data, model) for data, model in _MODELS}


def preset(name: str) -> Preset:
    """The preset of that name, or a SettingsError that lists the valid ones."""
    if name not in PRESETS:
        raise SettingsError(f"unknown preset {name!r}; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def preset_settings(name: str, **overrides: Any) -> Settings:
    """A preset's settings with some values replaced."""
    settings = preset(name).settings.replace(**overrides)
    settings.require_used(overrides)
    return settings


def preset_dataset(name: str) -> str:
    """The benchmark that a preset was made for."""
    return preset(name).dataset


def from_preset(name: str, **overrides: Any) -> SMORE:
    """A model with one of the paper's nine configurations, such as "wave-koopman"."""
    return SMORE.from_settings(preset_settings(name, **overrides))
