"""Numbers are kept to the digits that are shown, and these are right."""

import base64
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from smore.report._decimals import MISSING, Decimals

sizes = st.floats(-1e30, 1e30).filter(lambda value: value == 0 or abs(value) > 1e-30)


@given(arrays(np.float64, (3, 7), elements=sizes))
def test_what_is_shown_is_the_number_rounded_to_its_digits(values):
    found = Decimals.of(values)
    for frame, row in enumerate(values):
        unit = 10.0 ** found.exponent[frame]
        codes = found.codes[frame].astype(int)
        shown = [(found.first[frame] + code) * unit for code in codes]
        # Half a unit, and the rounding of doubles.
        slack = 0.5 * unit * (1 + 1e-9) + 4e-16 * np.abs(row).max()
        np.testing.assert_allclose(shown, row, rtol=0, atol=slack)
        assert codes.max() < MISSING
        # Sixteen bits are used: four digits of the range, or all that a double has.
        span = np.ptp(row)
        assert unit <= max(span / 6000, 1e-14 * np.abs(row).max()) or span == 0
    np.testing.assert_allclose(found.values(), shown_of(found), rtol=1e-12, atol=1e-300)


def shown_of(found):
    return np.array(
        [
            [float(Decimal(found.first[f] + int(code)).scaleb(found.exponent[f])) for code in row]
            for f, row in enumerate(found.codes)
        ]
    )


def test_what_is_not_there_is_missing():
    found = Decimals.of(np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, np.inf]]))
    assert (found.codes == MISSING).tolist() == [[False, True, False], [True, True, True]]
    np.testing.assert_array_equal(found.values(), [[1, np.nan, 2], [np.nan] * 3])


@pytest.mark.parametrize("value", [0.0, 3.25, -7e12, 1e-290])
def test_a_field_that_is_the_same_everywhere(value):
    found = Decimals.of(np.full((1, 4), value)).values()
    np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-280)


def test_bytes_are_little_endian():
    told = Decimals.of(np.array([[0.0, 258.0, 65534.0]])).to_json()
    assert (told["first"], told["exponent"]) == ([0], [0])
    assert base64.b64decode(told["codes"]) == bytes([0, 0, 2, 1, 254, 255])
