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
