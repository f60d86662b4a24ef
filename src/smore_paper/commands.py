"""The commands that the laboratory adds to `smore`, by name."""

from smore.cli.commands import Command

COMMANDS = (
    Command(
        "data generate",
        "smore_paper.cli.generate:app",
        "Simulate a benchmark into the cache.",
        "paper",
    ),
    Command(
        "presets", "smore_paper.cli.presets:presets", "List the paper's configurations.", "paper"
    ),
    Command(
        "sparse",
        "smore_paper.cli.sparse:sparse",
        "Forecast from fewer and fewer points of the first snapshot.",
        "paper",
    ),
    Command("bench", "smore_paper.cli.bench:app", "Measure, each thing in one run.", "paper"),
    Command(
        "reproduce", "smore_paper.cli.reproduce:app", "Measure the paper's tables here.", "paper"
    ),
)
