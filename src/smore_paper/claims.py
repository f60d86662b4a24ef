"""What the paper claims: mean squared errors over three seeds (PAPER_FACTS section 4)."""

from __future__ import annotations

from dataclasses import dataclass

# Snapshots that each window scores.
IN_HORIZON, EXTRAPOLATION = 9, 10


@dataclass(frozen=True)
class Claim:
    """Errors of one model on one benchmark."""

    in_horizon_mse: float
    extrapolation_mse: float

    @property
    def full_mse(self) -> float:
        """Both windows together."""
        total = IN_HORIZON * self.in_horizon_mse + EXTRAPOLATION * self.extrapolation_mse
        return total / (IN_HORIZON + EXTRAPOLATION)


_ROWS = {
    "fno": (2.89e-4, 7.37e-2, 1.61e-3, 2.43e-3, 1.79e-3, 5.22e-3),
    "cno": (1.99e-2, 1.53e-1, 1.52e-3, 3.87e-3, 8.03e-4, 2.86e-3),
    "transolver": (7.82e-4, 1.67e-2, 4.13e-1, 6.22e-1, 1.71e-3, 6.05e-3),
    "dino": (1.13e-3, 1.38e-2, 1.34e-3, 2.32e-3, 4.90e-4, 6.49e-4),
    "koopman": (6.74e-5, 3.22e-4, 5.37e-2, 9.78e-2, 2.22e-4, 5.34e-4),
    "lrlq": (1.25e-3, 8.65e-4, 1.01e-3, 2.00e-3, 5.86e-4, 7.67e-4),
}
# "wave-koopman" and so on, as presets are named.
ROLLOUT_CLAIMS: dict[str, Claim] = {
    f"{data}-{model}": Claim(*row[2 * number : 2 * number + 2])
    for model, row in _ROWS.items()
    for number, data in enumerate(("wave", "ns", "sw"))
}

# Sparse initialisation: full-window error by the fraction of points that is visible at first, the
# mean of three trained models on one mask per fraction.
_SPARSE_ROWS = {
    # visible: (wave, ns, sw)
    1.0: (2.01e-4, 1.53e-3, 3.86e-4),
    0.5: (2.05e-4, 1.53e-3, 3.94e-4),
    0.25: (2.12e-4, 1.56e-3, 4.06e-4),
    0.2: (2.12e-4, 1.57e-3, 4.17e-4),
    0.15: (2.01e-4, 1.59e-3, 4.30e-4),
    0.1: (1.98e-4, 1.60e-3, 4.55e-4),
    0.08: (2.04e-4, 1.64e-3, 4.85e-4),
    0.06: (1.91e-4, 1.65e-3, 5.37e-4),
    0.04: (2.11e-4, 1.78e-3, 6.71e-4),
    0.02: (6.96e-4, 3.77e-3, 1.32e-3),
    0.01: (4.06e-2, 2.48e-2, 1.56e-3),
}
# c_S of the same masks; its scale is that of the latents, which no two models share.
_OBSERVABILITY_ROWS = {
    1.0: (0.170, 8.64, 8.20),
    0.5: (0.114, 6.04, 5.58),
    0.1: (0.0400, 2.34, 1.92),
    0.04: (0.0104, 0.965, 0.696),
    0.02: (0.0, 0.102, 0.177),
    0.01: (0.0, 0.0, 0.0),
}
_SPARSE_PRESETS = ("wave-koopman", "ns-lrlq", "sw-koopman")


def _by_preset(rows: dict[float, tuple[float, float, float]]) -> dict[str, dict[float, float]]:
    return {
        name: {visible: row[number] for visible, row in rows.items()}
        for number, name in enumerate(_SPARSE_PRESETS)
    }


SPARSE_CLAIMS: dict[str, dict[float, float]] = _by_preset(_SPARSE_ROWS)
SPARSE_OBSERVABILITY: dict[str, dict[float, float]] = _by_preset(_OBSERVABILITY_ROWS)


# The stability study, by latent dimension p: best full-window error on the test set within 10,000
# epochs, times 1e3, from the paper's appendix. (For shallow water at p = 100 its main text has FULL
# 0.63, without penalties 0.64, without clip 0.63 and without low rank 5.6.)
STABILITY_DIMS = {"navier-stokes": (10, 30, 50, 70, 100), "shallow-water": (50, 70, 100)}
_STABILITY_ROWS: dict[str, dict[str, tuple[float, ...]]] = {
    "navier-stokes": {
        "OFF": (31.39, 4.432, 1.966, 3.226, 7.215),
        "cons only": (31.37, 4.496, 2.921, 4.141, 6.708),
        "eig only": (31.39, 4.506, 1.959, 3.351, 5.102),
        "penalties only": (31.37, 4.536, 2.845, 4.097, 7.018),
        "clip only": (30.87, 4.441, 1.939, 2.295, 4.532),
        "low rank only": (39.60, 5.335, 2.635, 2.887, 4.161),
        "FULL": (38.97, 4.970, 2.003, 1.923, 2.337),
        "FULL without penalties": (38.79, 5.104, 2.922, 2.509, 3.475),
        "FULL without clip": (39.54, 5.049, 2.321, 1.902, 2.796),
        "FULL without low rank": (31.20, 4.438, 2.658, 3.271, 5.191),
    },
    "shallow-water": {
        "OFF": (0.8614, 2.360, 4.069),
        "cons only": (0.8574, 2.757, 3.397),
        "eig only": (0.8603, 2.699, 3.427),
        "penalties only": (0.8464, 2.953, 3.240),
        "clip only": (0.8843, 2.669, 5.313),
        "low rank only": (0.9120, 0.7832, 0.7305),
        "FULL": (0.9301, 0.7845, 0.7274),
        "FULL without penalties": (0.9330, 0.7833, 0.7382),
        "FULL without clip": (0.9088, 0.7793, 0.7273),
        "FULL without low rank": (0.8709, 2.538, 5.480),
    },
}
# First non-finite epoch; the paper saw none on Navier-Stokes.
_NON_FINITE: dict[tuple[str, str], tuple[int | None, ...]] = {
    ("shallow-water", "OFF"): (8111, 200, 100),
    ("shallow-water", "cons only"): (None, 147, 142),
    ("shallow-water", "eig only"): (8100, 227, 135),
    ("shallow-water", "penalties only"): (None, 150, 146),
    ("shallow-water", "clip only"): (7162, 158, 100),
    ("shallow-water", "FULL without low rank"): (None, 160, 137),
}


@dataclass(frozen=True)
class StabilityClaim:
    """What the paper has after 10,000 epochs."""

    full_mse: float
    first_non_finite_epoch: int | None


# By benchmark, configuration and latent dimension.
STABILITY_CLAIMS = {
    (dataset, name, latent_dim): StabilityClaim(
        error / 1e3, _NON_FINITE.get((dataset, name), (None,) * len(errors))[number]
    )
    for dataset, rows in _STABILITY_ROWS.items()
    for name, errors in rows.items()
    for number, (latent_dim, error) in enumerate(zip(STABILITY_DIMS[dataset], errors, strict=True))
}
