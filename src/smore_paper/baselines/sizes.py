"""The sizes of the neural operators in the paper's comparison (PAPER_FACTS section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from smore.errors import SettingsError
from smore_paper.baselines.cno import CNO
from smore_paper.baselines.fno import FNO
from smore_paper.baselines.rollout_operator import RolloutOperator
from smore_paper.baselines.sfno import SFNO
from smore_paper.baselines.transolver import Transolver
from smore_paper.datasets import resolve


@dataclass(frozen=True)
class BaselineSize:
    """One row of the paper's table of architectures.

    Args:
        operator: the class.
        size: its sizes, in the order of its arguments and of the paper.
        batch_size: windows per update.
        paper_parameters: the paper's count, in which a complex weight is one.
    """

    operator: type[FNO | SFNO | CNO | Transolver]
    size: tuple[int, ...]
    batch_size: int
    paper_parameters: int


# All counts are equal to the paper's, so no difference is to be explained. The paper's FNO is the
# planar one on Wave and Navier-Stokes and the spherical one on the sphere.
BASELINE_SIZES: dict[tuple[str, str], BaselineSize] = {
    ("fno", "wave"): BaselineSize(FNO, (12, 10, 4), 32, 117_356),
    ("fno", "navier-stokes"): BaselineSize(FNO, (12, 17, 4), 32, 336_653),
    ("sfno", "shallow-water"): BaselineSize(SFNO, (12, 25, 4), 4, 366_336),
    ("cno", "wave"): BaselineSize(CNO, (3, 4, 6, 6), 32, 111_996),
    ("cno", "navier-stokes"): BaselineSize(CNO, (3, 1, 8, 10), 32, 326_184),
    ("cno", "shallow-water"): BaselineSize(CNO, (3, 3, 8, 10), 4, 346_727),
    ("transolver", "wave"): BaselineSize(Transolver, (5, 33, 64), 32, 128_328),
    ("transolver", "navier-stokes"): BaselineSize(Transolver, (8, 46, 32), 32, 358_007),
    ("transolver", "shallow-water"): BaselineSize(Transolver, (8, 46, 64), 4, 359_774),
}


def paper_operator(model: str, dataset: str, *, device: str = "auto") -> RolloutOperator:
    """The untrained operator `model` in the size that the paper gives it on `dataset`.

    Raises:
        SettingsError: the paper has no such pair; the message lists those it has.
    """
    row = BASELINE_SIZES.get((model, resolve(dataset)))
    if row is None:
        known = ", ".join(" on ".join(pair) for pair in BASELINE_SIZES)
        raise SettingsError(f"the paper has no {model!r} on {dataset!r}; it has {known}")
    return row.operator(*row.size, batch_size=row.batch_size, device=device)
