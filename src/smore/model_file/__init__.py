"""Models and checkpoints on disk: one safetensors file each, checked before it is believed."""

from smore.model_file.container import CHECKPOINT, Kind, load_file, require_writable, save_file
from smore.model_file.surrogate_file import load_surrogate, save_surrogate

__all__ = [
    "CHECKPOINT",
    "Kind",
    "load_file",
    "load_surrogate",
    "require_writable",
    "save_file",
    "save_surrogate",
]
