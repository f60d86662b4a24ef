"""Test sessions share the machine with other workers: one thread each, in torch and in BLAS."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import torch  # noqa: E402

torch.set_num_threads(1)
