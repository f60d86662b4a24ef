"""What the laboratory offers to the commands of smore (see `smore.cli.laboratory`)."""

from smore_paper.cli.generate import load_benchmark, load_test_set
from smore_paper.presets import preset_dataset, preset_settings
from smore_paper.results import append_result

__all__ = [
    "append_result",
    "load_benchmark",
    "load_test_set",
    "preset_dataset",
    "preset_settings",
]
