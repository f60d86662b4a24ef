"""A number as it is quoted, and whether a value rounds to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal


@dataclass(frozen=True)
class Figure:
    """One number of a page.

    Args:
        digits: as written, such as "1,419" or "4.8e-8".
        unit: what follows it, such as "%" or "times"; "" if nothing that counts as one does.
        line: where it is.
    """

    digits: str
    unit: str
    line: int

    @property
    def value(self) -> float:
        """In the units of a table: 99% is 0.99."""
        return float(self._decimal) / self._scale

    @property
    def resolution(self) -> float:
        """One unit in the last digit that is quoted."""
        return float(self._last_digit) / self._scale

    def agrees(self, value: float) -> bool:
        """Whether `value`, rounded to the digits quoted, halves up, is what is quoted."""
        if not math.isfinite(value):
            return False
        # Twelve digits: what arithmetic on cells adds beyond them must not decide about halves.
        exact = Decimal(f"{value * self._scale:.12g}")
        return exact.quantize(self._last_digit, ROUND_HALF_UP) == self._decimal

    @property
    def is_a_count(self) -> bool:
        """A whole number below ten with no unit: "4 rows", "p > 0", "step 1"."""
        return not self.unit and self.digits.lstrip("+-").isdigit() and abs(self.value) < 10

    @property
    def _decimal(self) -> Decimal:
        return Decimal(self.digits.replace(",", ""))

    @property
    def _last_digit(self) -> Decimal:
        exponent = self._decimal.as_tuple().exponent
        assert isinstance(exponent, int)  # digits are finite
        return Decimal(1).scaleb(exponent)

    @property
    def _scale(self) -> float:
        return 100.0 if self.unit in ("%", "percent") else 1.0

    def __str__(self) -> str:
        return self.digits + ("%" if self.unit == "%" else "")


def as_quoted(figure: Figure, value: float) -> str:
    """`value` with a digit more than the figure has, to be told beside it."""
    shown = 100 * value if figure.unit in ("%", "percent") else value
    size = math.floor(math.log10(abs(figure.value))) if figure.value else 0
    digits = max(2, size - math.floor(math.log10(figure.resolution)) + 2)
    return f"{shown:.{digits}g}" + ("%" if figure.unit == "%" else "")
