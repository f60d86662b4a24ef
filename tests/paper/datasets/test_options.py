"""Options out of range are refused, and the message says which."""

import pytest
from pydantic import ValidationError

from smore_paper.datasets.navier_stokes.benchmark import NavierStokesOptions
from smore_paper.datasets.shallow_water.benchmark import ShallowWaterOptions
from smore_paper.datasets.wave import WaveOptions


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        (WaveOptions, "resolution", 2),
        (WaveOptions, "snapshots", 1),
        (WaveOptions, "num_train", 0),
        (WaveOptions, "seed", -1),
        (WaveOptions, "speed", 0.0),
        (WaveOptions, "speed", float("nan")),
        (WaveOptions, "width", (0.3, 0.25)),
        (WaveOptions, "amplitude", (-1.0, 2.0)),
        (WaveOptions, "colour", "red"),
        (NavierStokesOptions, "viscosity", -1e-3),
        (NavierStokesOptions, "resolution", 63),
        (NavierStokesOptions, "solver_step", 0.3),
        (NavierStokesOptions, "spin_up", 0.5),
        (ShallowWaterOptions, "diffusion_order", 3),
        (ShallowWaterOptions, "keep_last", 321),
        (ShallowWaterOptions, "keep_last", 150),
        (ShallowWaterOptions, "solver_step", 700.0),
        (ShallowWaterOptions, "resolution", 8),
    ],
)
def test_values_out_of_range_are_refused_by_name(model, field, value):
    with pytest.raises(ValidationError, match=field):
        model(**{field: value})


def test_options_are_frozen():
    with pytest.raises(ValidationError, match="frozen"):
        WaveOptions().seed = 1


def test_streams_depend_on_seed_split_and_number_alone():
    def draws(**options):
        return [
            [stream.random() for stream in split]
            for split in WaveOptions(**options).random_streams()
        ]

    train, test = draws(num_train=4, num_test=3)
    more_train, fewer_test = draws(num_train=9, num_test=2)
    assert more_train[:4] == train
    assert fewer_test == test[:2]
    assert len({*train, *test, *more_train}) == 9 + 3
    assert not {*draws(num_train=4, seed=1)[0]} & {*train}
