"""What a user may choose about a benchmark: frozen, validated, part of the cache's key."""

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveFloat


def _ascending(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"the lower bound comes first, got {bounds}")
    return bounds


def _even(count: int) -> int:
    if count % 2:
        raise ValueError(f"must be even, got {count}")
    return count


PositiveRange = Annotated[tuple[PositiveFloat, PositiveFloat], AfterValidator(_ascending)]
EvenInt = Annotated[int, AfterValidator(_even)]


class Options(BaseModel):
    """What the benchmarks have in common; each adds its grid, its recording and its physics."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    num_train: int = Field(
        default=256, ge=1, description="training trajectories, each cut into sequences"
    )
    num_test: int = Field(
        default=16, ge=1, description="test trajectories, each cut into sequences"
    )
    seed: int = Field(default=0, ge=0, description="seed of the random initial states")
    snapshots: int = Field(default=20, ge=2, description="snapshots per sequence")

    def random_streams(self) -> tuple[list[np.random.Generator], list[np.random.Generator]]:
        """One independent stream per training trajectory and per test trajectory.

        Trajectory i of a split depends on i and the seed alone, so a smaller data set is the
        beginning of a larger one, and the test set does not depend on the size of the training set.
        """
        train = [np.random.default_rng([i, 0, self.seed]) for i in range(self.num_train)]
        test = [np.random.default_rng([i, 1, self.seed]) for i in range(self.num_test)]
        return train, test


def require_multiple(**options: float) -> None:
    """span = n unit with n whole, for the two options given by name: span=..., unit=...

    Raises:
        ValueError: there is no such n; the message names both options.
    """
    (span_name, span), (unit_name, unit) = options.items()
    if not np.isclose(round(span / unit) * unit, span, rtol=1e-9, atol=0.0):
        raise ValueError(f"{span_name} = {span:g} must be a multiple of {unit_name} = {unit:g}")
