"""Test sessions share the machine with other workers: one torch thread each."""

import torch

torch.set_num_threads(1)
