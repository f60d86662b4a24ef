"""Single records of our own: the solver against exact solutions, and what all of them promise."""

import numpy as np
import pytest

from smore.errors import SettingsError
from smore_paper.datasets.records import RECORDS, make_record
from smore_paper.datasets.records.periodic_lines import Line, solve


def test_a_soliton_travels_without_changing_its_shape():
    """u = c/2 sech²(√c/2 (x - ct)) solves u_t = -6 u u_x - u_xxx."""
    line, speed, time = Line(40.0, 256), 1.0, 2.0

    def soliton(shift):
        away = (line.places - 20 - shift + 20) % 40 - 20
        return speed / 2 / np.cosh(np.sqrt(speed) / 2 * away) ** 2

    found = solve(
        line,
        1j * line.wavenumbers**3,
        lambda u: -line.derivative(np.fft.rfft(3 * u**2)),
        soliton(0.0),
        step=0.01,
        steps_per_snapshot=100,
        num_snapshots=3,
    )
    np.testing.assert_allclose(found[-1], soliton(speed * time), atol=2e-7)


def test_the_order_of_the_scheme_is_four():
    line = Line(2 * np.pi, 64)
    start = np.sin(line.places)

    def run(step):
        return solve(
            line,
            -0.1 * line.wavenumbers**2,
            lambda u: -line.derivative(np.fft.rfft(u**2 / 2)),
            start,
            step=step,
            steps_per_snapshot=round(0.8 / step),
            num_snapshots=2,
        )[-1]

    exact, steps = run(0.8 / 512), np.array([0.8 / count for count in (8, 16, 32)])
    errors = [np.abs(run(step) - exact).max() for step in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(4, abs=0.4)


def test_linear_parts_are_exact_at_any_step():
    line = Line(2 * np.pi, 32)
    found = solve(
        line,
        -(line.wavenumbers**2),
        np.zeros_like,
        np.cos(3 * line.places),
        step=0.7,
        steps_per_snapshot=1,
        num_snapshots=2,
    )
    np.testing.assert_allclose(found[-1], np.exp(-9 * 0.7) * np.cos(3 * line.places), atol=1e-14)


@pytest.mark.parametrize("name", ["kdv-two", "burgers-thick", "fisher", "monthly-4", "profiles"])
def test_a_record_is_cut_in_time_and_the_same_whenever_it_is_made(name):
    training, test = make_record(name)
    assert training.time.values[-1] < test.time.values[0]
    assert training.sizes["time"] == pytest.approx(3 * test.sizes["time"], abs=3)
    (channel,) = training.data_vars
    assert np.isfinite(training[channel].values).all()
    assert training[channel].std() > 0
    assert training.equals(make_record(name)[0])


def test_an_unknown_record_is_answered_with_the_known_ones():
    with pytest.raises(SettingsError, match=f"nile.*{next(iter(RECORDS))}"):
        make_record("nile")
