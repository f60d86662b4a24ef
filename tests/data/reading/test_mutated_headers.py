"""Whatever happens to a header, a dataset is read rightly or refused.

`make torture` tries 2,000 others, by way of files.
"""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import fault, mutant


@settings(
    max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(st.randoms(use_true_random=False))
def test_a_mutated_header_is_read_rightly_or_refused(chance: Random) -> None:
    made = mutant(chance)
    assert fault(made, None) is None, made.story
