"""A map in words, and numbers as certificates want them."""

import numpy as np
import torch

from smore.stability.stepping import Stepping, as_array


def test_a_map_says_what_it_is():
    assert str(Stepping(0.5, "exact", 3)) == "exact steps over an interval of 0.5"
    assert str(Stepping(0.25, "rk4", 3)) == "rk4 steps over an interval of 0.25, 3 per interval"
    assert (
        str(Stepping(1e-7, "strang", 1)) == "strang steps over an interval of 1e-07, 1 per interval"
    )
    assert Stepping(1.0, "exact", 1).time_unit == "unit of time"


def test_numbers_become_doubles_of_the_same_value():
    values = torch.tensor([0.1, -3.0], requires_grad=True)
    found = as_array(values)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, values.detach().double().numpy())
    array = np.ones(2)
    assert as_array(array) is array
