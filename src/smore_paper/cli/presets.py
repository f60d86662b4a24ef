"""`smore presets`: the paper's nine configurations."""

from __future__ import annotations

from smore.cli.output import Json, print_json, print_table
from smore.surrogate import build_dynamics, build_network, count_parameters
from smore_paper.presets import PRESETS

SIZES = ("dynamics", "latent_dim", "hidden_dim", "num_hidden", "rank", "dynamics_hidden_dim")


def presets(as_json: Json = False) -> None:
    """List the paper's nine configurations."""
    rows = []
    for preset in PRESETS.values():
        settings = preset.settings
        decoder = build_network(settings, preset.coordinate_dim)
        dynamics = build_dynamics(settings, preset.num_channels)
        rows.append(
            {
                "name": preset.name,
                "dataset": preset.dataset,
                **{size: getattr(settings, size) for size in SIZES},
                "coordinate_dim": preset.coordinate_dim,
                "num_channels": preset.num_channels,
                "parameters": count_parameters(decoder, dynamics),
                "paper_parameters": preset.paper_parameters,
            }
        )
    if as_json:
        print_json(rows)
        return
    columns = ["name", "dynamics", "latent_dim", "hidden_dim", "num_hidden", "parameters"]
    print_table(
        "Presets (smore fit --preset NAME)",
        columns,
        [[row[column] for column in columns] for row in rows],
    )
