"""Single records that say much, little or nothing about their dynamics.

A model may be as simple as the best simple reference, and must not be worse.
"""

import numpy as np
import pytest

from smore import SMORE, Trajectories

POINTS = 24
X = np.linspace(0, 1, POINTS)[:, None]
MONTHS = np.datetime64("1990-01", "M")


def record(fields, times, *, coords=X):
    return Trajectories.from_arrays([fields[:, None]], coords, [times])


def patterns(count, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(POINTS, count)))[0].T * POINTS**0.5


def noise(length, seed, size=1.0):
    return size * np.random.default_rng(seed).normal(size=(length, POINTS))


def oscillation(length):
    phase = 0.13 * np.arange(length)
    return np.column_stack([np.cos(phase), np.sin(phase)]) @ patterns(2)


def months(length):
    return (MONTHS + np.arange(length)).astype("datetime64[s]")


def seasonal(length):
    phase = 2 * np.pi * np.arange(length) / 12
    waves = np.column_stack([np.cos(phase), np.sin(phase), np.cos(2 * phase)])
    return waves @ (patterns(3) * [[1.0], [1.0], [0.3]])


RECORDS = {
    "noise": (noise(120, 1), np.arange(120.0)),
    "trend": (np.linspace(0, 3, 120)[:, None] * patterns(1) + 5.0, np.arange(120.0)),
    "trend and noise": (
        np.linspace(0, 3, 120)[:, None] * patterns(1) + noise(120, 2, 0.3),
        np.arange(120.0),
    ),
    "season": (seasonal(120), months(120)),
    "season and noise": (seasonal(120) + noise(120, 3, 0.3), months(120)),
    "random walk": (np.cumsum(noise(200, 4), axis=0), np.arange(200.0)),
    "oscillation with a fifth of noise": (
        oscillation(240) + noise(240, 5, 0.2),
        np.arange(240.0),
    ),
    "long and narrow": (
        (oscillation(20_000) + noise(20_000, 6, 0.5))[:, :10],
        np.arange(20_000.0),
    ),
}


def split(fields, times, share=0.75):
    cut, coords = int(share * len(fields)), X[: fields.shape[1]]
    return record(fields[:cut], times[:cut], coords=coords), fields[cut:], times[cut:]


def origins(length):
    """First rows and horizon of the forecasts of a test part."""
    horizon = max(2, length // 2)
    return sorted({round(each) for each in np.linspace(0, length - 1 - horizon, 5)}), horizon


def simple_errors(training, truth, starts, horizon):
    """Of persistence and climatology."""
    ahead = [truth[i + 1 : i + 1 + horizon] for i in starts]
    mean = training.sequences[0].fields[:, 0].mean(0)
    kept = np.mean([((each - truth[i]) ** 2).mean() for each, i in zip(ahead, starts, strict=True)])
    return kept, np.mean([((each - mean) ** 2).mean() for each in ahead])


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_forecast_is_no_worse_than_what_is_simple(name):
    training, truth, times = split(*RECORDS[name])
    model = SMORE().fit(training, progress=False)
    starts, horizon = origins(len(truth))
    coords = training.sequences[0].mesh.coords
    errors, inside = [], []
    for i in starts:
        start = record(truth[i : i + 1], times[i : i + 1], coords=coords)
        forecast = model.forecast(start, times[i + 1 : i + 1 + horizon])
        error = forecast["u0"].values.reshape(horizon, -1) - truth[i + 1 : i + 1 + horizon]
        deviation = forecast["u0_std"].values.reshape(horizon, -1)
        errors.append((error**2).mean())
        inside.append((np.abs(error) <= 1.645 * deviation).mean())
    best = min(simple_errors(training, truth, starts, horizon))
    assert np.mean(errors) <= 1.1 * best + 1e-8
    if "noise" in name:
        assert 0.8 < np.mean(inside) < 0.98


@pytest.mark.parametrize("name", ["noise", "oscillation with a fifth of noise"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_errors_that_are_there_at_once_are_expected_at_once(name):
    training, truth, times = split(*RECORDS[name])
    model = SMORE().fit(training, progress=False)
    inside = []
    for i in range(0, len(truth) - 1, 3):
        forecast = model.forecast(record(truth[i : i + 1], times[i : i + 1]), times[i + 1 : i + 2])
        error = forecast["u0"].values.ravel() - truth[i + 1]
        inside.append((np.abs(error) <= 1.645 * forecast["u0_std"].values.ravel()).mean())
    assert 0.8 < np.mean(inside) < 0.98


def test_what_is_known_exactly_is_forecast_exactly():
    for name, bar in {"season": 1e-6, "trend": 1e-6}.items():
        training, truth, times = split(*RECORDS[name])
        model = SMORE().fit(training, progress=False)
        forecast = model.forecast(record(truth[:1], times[:1]), times[1:])
        error = forecast["u0"].values.reshape(len(times) - 1, -1) - truth[1:]
        assert (error**2).mean() < bar


@pytest.mark.parametrize("length", [2, 3, 5, 12])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_very_short_records_get_a_model(length):
    fields = oscillation(length) + noise(length, 8, 0.05)
    model = SMORE().fit(record(fields, np.arange(float(length))), progress=False)
    forecast = model.forecast(record(fields[:1], np.zeros(1)), np.arange(1.0, 4.0))
    assert np.isfinite(forecast["u0"].values).all()
    assert (forecast["u0_std"].values > 0).all()


def test_a_missing_month_is_bridged():
    fields, times = RECORDS["season"]
    kept = np.delete(np.arange(90), [20, 55])
    model = SMORE().fit(record(fields[kept], times[kept]), progress=False)
    forecast = model.forecast(record(fields[90:91], times[90:91]), times[91:110])
    error = forecast["u0"].values.reshape(19, -1) - fields[91:110]
    assert (error**2).mean() < 1e-4


def test_a_clock_that_is_off_still_gives_the_frequency():
    random = np.random.default_rng(9)
    times = np.cumsum(random.uniform(0.8, 1.2, size=160))
    phase = 0.4 * times
    waves = np.column_stack([np.cos(phase), np.sin(phase)]) @ patterns(2)
    model = SMORE().fit(record(waves[:120], times[:120]), progress=False)
    forecast = model.forecast(record(waves[120:121], times[120:121]), times[121:])
    error = forecast["u0"].values.reshape(39, -1) - waves[121:]
    assert (error**2).mean() < 1e-3 * (waves**2).mean()


def test_periods_that_are_told_are_used():
    fields, _ = RECORDS["season"]
    told = record(fields[:40], np.arange(40.0))
    model = SMORE(periods=(12.0,)).fit(told, progress=False)
    assert 12.0 in np.round(model.surrogate_.description.settings.periods, 9)


def test_a_size_that_is_told_is_shared_with_the_seasons():
    fields, times = RECORDS["season"]
    training, truth, later = split(fields, times)
    model = SMORE(latent_dim=3).fit(training, progress=False)
    forecast = model.forecast(record(truth[:1], later[:1]), later[1:])
    error = forecast["u0"].values.reshape(len(later) - 1, -1) - truth[1:]
    assert (error**2).mean() < 1e-6 * (truth**2).mean()


def test_of_a_few_trajectories_all_of_each_is_learned_from():
    decays = [np.exp(-0.1 * rate * np.arange(60.0))[:, None] * patterns(1) for rate in (1, 2, 3)]
    data = Trajectories.from_arrays(
        [each[:, None] for each in decays], X, [np.arange(60.0)] * len(decays)
    )
    model = SMORE().fit(data, progress=False)
    assert model.surrogate_.description.training.findings["share"] == 1.0
    assert model.surrogate_.description.training.num_snapshots == 180


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (months(60), "1 month"),
        (np.datetime64("2001-02-03", "s") + 6 * np.arange(60).astype("timedelta64[h]"), "6 hours"),
        (0.25 * np.arange(60), "0.25"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_certificate_tells_time_as_the_data_do(times, unit):
    model = SMORE().fit(record(oscillation(60) + noise(60, 9, 0.1), times), progress=False)
    assert f"times are in units of {unit}\n" in model.certify().text()
