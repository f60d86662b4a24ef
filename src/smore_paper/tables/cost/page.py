"""Cost on the page: who is beaten by nobody at the price, as a training and as a forecast."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smore.plotting import save_figure
from smore_paper.datasets import BENCHMARKS
from smore_paper.page.entries import entry
from smore_paper.page.markdown import NOT_RUN, duration, figure, number, table
from smore_paper.tables.compared import VARIANTS, label
from smore_paper.tables.cost.figure import Cost, frontier, pareto_figure
from smore_paper.tables.cost.measure import NAME
from smore_paper.tables.ledger import Row, read_rows
from smore_paper.tables.rollout.measure import NAME as ROLLOUT
from smore_paper.tables.selection import is_by_habit

Costs = dict[tuple[str, str], Cost]


def draw_cost(results: Path) -> list[Path]:
    """Draw `results/cost.png` from the rows of the main comparison and of forecast times."""
    rollout, times = (read_rows(results / f"{name}.csv") for name in (ROLLOUT, NAME))
    found = {dataset: costs(rollout, times, dataset) for dataset in BENCHMARKS}
    found = {dataset: here for dataset, here in found.items() if here}
    if not found:
        return []
    path = results / f"{NAME}.png"
    save_figure(pareto_figure(found, "full size"), path)
    return [path]


def costs(rollout: Sequence[Row], times: Sequence[Row], dataset: str) -> Costs:
    """Error and cost of the models that have a row in the main comparison, by their habits."""
    rows = [row for row in rollout if is_by_habit(row)]
    found = {}
    for each in VARIANTS:
        which = {"dataset": dataset, "model": each[0], "recipe": each[1]}
        here = entry(rows, **which)
        error, seconds = here.mean("full_mse"), here.mean("seconds")
        if error is not None and seconds is not None:
            forecast = entry(times, **which).mean("forecast_seconds")
            found[each] = Cost(error, seconds, forecast)
    return found


def cost_section(
    rollout: Sequence[Row], times: Sequence[Row], results: Path, folder: str
) -> list[str]:
    """Who is beaten by nobody, as training and as forecast."""
    lines = []
    for dataset in BENCHMARKS:
        here = costs(rollout, times, dataset)
        training = {each: (cost.training, cost.error) for each, cost in here.items()}
        forecast = {
            each: (cost.forecast, cost.error)
            for each, cost in here.items()
            if cost.forecast is not None
        }
        lines.append([dataset, _told(training), _told(forecast)])
    return [
        "## Cost",
        "Models of the main comparison that no other beats in both error and time, the cheapest "
        "first: (time, error over the full window). Baselines were trained as long as a budget "
        "allowed, and are not converged at full size. Forecasts: one sequence from its first "
        "snapshot, state inferred (by 1,000 steps of Adam for models by Algorithm 1) and fields "
        "decoded, on one thread while other programs ran.",
        table(["", "by training", "by forecast"], lines),
        *figure(results, folder, f"{NAME}.png", "Error against cost, full size"),
    ]


def _told(points: dict[tuple[str, str], tuple[float, float]]) -> str:
    told = [
        f"{label(*each)} ({duration(points[each][0])}, {number(points[each][1])})"
        for each in frontier(points)
    ]
    return "; ".join(told) or NOT_RUN
