"""Settings are refused by name, or stored and read again as they were."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from smore import SMORE, Settings
from smore.errors import SettingsError
from smore_paper.presets import from_preset

NOT_A_NUMBER = [float("nan"), float("inf"), "many"]
WRONG = {
    "latent_dim": [0, -1, 2.5],
    "hidden_dim": [0, 7, 1],
    "num_hidden": [-1, -3],
    "latents": ["both", "", 1],
    "decoder": ["pod", "", 1],
    "frequency_scale": [0.0, -1.0, *NOT_A_NUMBER],
    "dynamics": ["dino", ""],
    "rank": [0],
    "dynamics_hidden_dim": [0],
    "integrator": ["euler"],
    "substeps": [0, 1.5, "four"],
    "gradient": ["backprop"],
    "normalization": ["minmax"],
    "time_scale": [0.0, -2.0, *NOT_A_NUMBER],
    "periods": [(0.0,), (-1.0,), "1y"],
    "train_length": [1, 0],
    "window": [1, -1],
    "validation_fraction": [-0.1, 1.0, *NOT_A_NUMBER],
    "recipe": ["quick"],
    "epochs": [0],
    "batch_size": [0],
    "chunk_size": [0, -64],
    "memory": [0, -1, "lots", *NOT_A_NUMBER],
    "on_divergence": ["retry"],
    "decoder_steps": [0, -1],
    "dissipative": ["perhaps"],
    "dynamics_steps": [0, -1],
    "quadratic_start": [-1e-3, *NOT_A_NUMBER],
    "stabilise": ["sometimes", True],
    "decoder_rate": [0.0, -1e-3, *NOT_A_NUMBER],
    "dynamics_rate": [0.0, *NOT_A_NUMBER],
    "latent_rate": [0.0, *NOT_A_NUMBER],
    "eig_weight": [-1e-9, *NOT_A_NUMBER],
    "cons_weight": [-1e-9, *NOT_A_NUMBER],
    "clip_norm": [0.0, -1.0, *NOT_A_NUMBER],
    "teacher_forcing_start": [-0.1, 1.1, *NOT_A_NUMBER],
    "teacher_forcing_decay": [0.0, 1.1, *NOT_A_NUMBER],
    "evaluate_every": [0],
    "fit_steps": [0],
    "final_fit_steps": [0],
    "fit_rate": [0.0, *NOT_A_NUMBER],
    "fit_keeps": ["first", True],
    "seed": [-1, 2**63],
    "device": [3],
}


def test_every_field_has_wrong_values_here():
    assert set(WRONG) == set(Settings.model_fields)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_value_out_of_range_is_refused_under_its_name(name, value):
    with pytest.raises(SettingsError) as caught:
        Settings.of(**{name: value})
    assert str(caught.value).startswith(f"{name}: ")
    assert repr(value) in str(caught.value)
    with pytest.raises(SettingsError, match=name):
        SMORE(**{name: value})


def test_all_faults_are_named_at_once():
    with pytest.raises(SettingsError, match=r"window: .*epochs: "):
        Settings.of(epochs=0, window=0)


def test_an_unknown_setting_lists_the_valid_ones():
    with pytest.raises(SettingsError) as caught:
        Settings.of(learning_rate=1e-3)
    assert str(caught.value).startswith("learning_rate is not a setting")
    for name in Settings.model_fields:
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"integrator": "exact", "dynamics": "lrlq"}, ["exact", "linear"]),
        ({"integrator": "exact", "dynamics": "mlp"}, ["exact", "linear"]),
        ({"gradient": "adjoint", "integrator": "rk4"}, ["adjoint", "rk4-38"]),
        ({"gradient": "adjoint", "integrator": "exact"}, ["adjoint", "rk4-38"]),
        ({"rank": 3}, ["rank", "lrlq"]),
        ({"periods": (1.0,), "dynamics": "lrlq"}, ["periods", "linear"]),
        ({"dynamics": "linear", "recipe": "paper"}, ["linear", "fast"]),
        ({"dynamics": "linear", "integrator": "rk4"}, ["linear", "exact"]),
        ({"rank": 3, "dynamics": "mlp"}, ["rank", "lrlq"]),
        ({"dynamics_hidden_dim": 8, "dynamics": "lrlq"}, ["dynamics_hidden_dim", "mlp"]),
    ],
)
def test_settings_that_contradict_each_other_are_refused(values, named):
    with pytest.raises(SettingsError) as caught:
        Settings.of(**values)
    for word in named:
        assert word in str(caught.value)


def test_a_replaced_value_is_validated_again():
    chosen = Settings.of(dynamics="lrlq", rank=3)
    assert chosen.replace(rank=4).rank == 4
    assert chosen.rank == 3
    with pytest.raises(SettingsError, match="rank"):
        chosen.replace(dynamics="koopman")
    with pytest.raises(SettingsError, match="epochs"):
        chosen.replace(epochs=-1)


@pytest.mark.parametrize(
    "values", [{"epochs": 10}, {"recipe": "paper", "decoder_steps": 10}], ids=str
)
def test_what_has_no_effect_is_refused(values):
    with pytest.raises(SettingsError, match="belongs to recipe"):
        Settings.of(**values)
    with pytest.raises(SettingsError, match="belongs to recipe"):
        from_preset("wave-koopman", **values)


def test_settings_cannot_be_changed_in_place():
    with pytest.raises(ValidationError):
        Settings().epochs = 3


positive = st.floats(min_value=1e-300, allow_infinity=False, exclude_min=True)
count = st.integers(1, 2**40)


@settings(max_examples=50, deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "latent_dim": st.none() | count,
            "hidden_dim": st.none() | count.map(lambda value: 2 * value),
            "dynamics": st.sampled_from(["koopman", "lrlq", "quadratic", "mlp"]),
            "substeps": count,
            "normalization": st.sampled_from(["standard", "scale", "none"]),
            "time_scale": st.none() | positive,
            "validation_fraction": st.floats(0, 1, exclude_max=True),
            "chunk_size": st.none() | count,
            "decoder_rate": positive,
            "clip_norm": st.none() | positive,
            "eig_weight": st.just(0.0) | positive,
            "teacher_forcing_decay": st.floats(0, 1, exclude_min=True),
            "seed": st.integers(0, 2**63 - 1),
            "device": st.text(),
        },
    )
)
def test_json_gives_the_same_settings_back(values):
    stored = Settings.of(**values)
    again = Settings.model_validate_json(stored.model_dump_json())
    assert again == stored
    assert again.model_dump() == stored.model_dump()
