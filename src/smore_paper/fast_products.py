"""Products of single-precision matrices by oneDNN, where MKL makes half of the processor's speed.

PyTorch multiplies matrices by MKL, which on AMD processors does not use 512-bit instructions.
oneDNN, which is part of PyTorch as well, does. The laboratory's trainings are little but such
products, those of all methods alike; results differ by rounding.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

# Beneath, the detour costs more than it saves.
SMALLEST = 20_000  # multiplications


@cache
def use_fast_products() -> bool:
    """Have all products of this process done by oneDNN, if it is the faster one; whether it is."""
    if not _pays():
        return False
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():  # that there is a kernel already is the point
        warnings.simplefilter("ignore")
        library.impl("mm", _product, "CPU", allow_override=True)
    _kept.append(library)
    return True


def are_products_fast() -> bool:
    """Whether `use_fast_products` has changed anything."""
    return bool(_kept)


_kept: list[torch.library.Library] = []  # the registration ends with the object


def _pays() -> bool:
    processor = Path("/proc/cpuinfo")
    return (
        torch.backends.mkldnn.is_available()
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and processor.exists()
        and "AuthenticAMD" in processor.read_text()
    )


def _product(left: Tensor, right: Tensor) -> Tensor:
    multiplications = left.shape[0] * left.shape[1] * right.shape[1]
    if left.dtype == right.dtype == torch.float32 and multiplications >= SMALLEST:
        if not (right.is_contiguous() or right.t().is_contiguous()):
            right = right.contiguous()  # oneDNN is a thousand times slower on rows with gaps
        return torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
    result = left.new_empty(left.shape[0], right.shape[1])
    return torch.ops.aten.mm.out(left, right, out=result)
