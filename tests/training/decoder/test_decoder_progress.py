"""What a decoder is compared with while it is fitted: only with what was computed."""

from types import SimpleNamespace

import pytest
import torch

from smore import Settings
from smore.training.decoder.fit import DecoderFit


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ([0.25], "decoder error 5.00e-01 (best possible 2.50e-01)"),
        ([0.0], "decoder error 5.00e-01"),  # nobody knows
        ([0.25, 0.5], "decoder error 5.00e-01"),  # of parts of the data
    ],
)
def test_the_best_possible_is_told_where_it_is_known(limits, told):
    said = []
    fit = DecoderFit(
        SimpleNamespace(settings=Settings()),
        [SimpleNamespace(limit=limit) for limit in limits],
        torch.device("cpu"),
        torch.Generator(),
        checkpoints=None,
        status=lambda _, words: said.append(words),
    )
    fit._progress(3, 0.5)
    assert said == [told]
