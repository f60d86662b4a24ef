"""The paper's figures as it prints them, and what is derived from them."""

import pytest

from smore_paper.benches.recipes import RecipeResult, median
from smore_paper.claims import ROLLOUT_CLAIMS
from smore_paper.presets import PRESETS


@pytest.mark.parametrize(
    ("name", "full"), [("wave-koopman", 2.01e-4), ("ns-lrlq", 1.53e-3), ("sw-koopman", 3.86e-4)]
)
def test_full_windows_agree_with_the_sparse_table_at_all_points_visible(name, full):
    assert ROLLOUT_CLAIMS[name].full_mse == pytest.approx(full, rel=5e-3)


def test_every_preset_has_a_claim():
    assert set(PRESETS) <= set(ROLLOUT_CLAIMS)


def test_medians_are_taken_figure_by_figure():
    runs = [
        RecipeResult("p", seed, e, e, e, 1.0, 1.0, 1.0, 7, t, 5.0, 100, e, 1.0, e, 3.0, 25)
        for seed, (e, t) in enumerate([(1.0, 30.0), (9.0, 10.0), (2.0, 20.0)])
    ]
    middle = median(runs)
    assert (middle.seed, middle.full_mse, middle.seconds) == ("median", 2.0, 20.0)
    assert middle.time_to_paper_seconds == 3.0
