"""Losses of all methods beside the ranking tree's, and the trees' learning curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Figure, Results, ResultTable, Series, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.liu2007_ratings.methods import GINI, METHODS, RANKING
from rankwise_papers.shared_tables import ABSENT, mean_and_deviation, resampling_p_value

LEAST = "best rule of the columns"
THESE, NEW, USERS = "p, these rows", "p, new rows", "p"
SAID = {
    True: (
        f"{THESE}: paired t over the draws, about halves of these very rows. {NEW}: around each "
        "rater's mean, with the variance of draws that share rows (Nadeau and Bengio 2003), which "
        "hardly falls with their number. Both Holm-corrected."
    ),
    False: f"{USERS}: paired t over the draws, which are of different users, Holm-corrected.",
}


def make(
    results: Results,
    sizes: Sequence[int],
    *,
    caption: str,
    shares_rows: bool,
    least: Callable[[int], float] | None,
) -> list[ResultTable]:
    """The losses, and the difference of the trees by the number of training rows."""
    return [
        _losses(results, caption, shares_rows, least),
        _curve_differences(results, sizes, shares_rows),
    ]


def figures(results: Results, sizes: Sequence[int]) -> list[Figure]:
    """Loss against training size for both trees."""
    found = _curves(results)
    series = [
        Series(name, list(sizes), losses.mean(axis=0).tolist(), _errors(losses).tolist())
        for name, losses in found.items()
    ]
    if not series:
        return []
    return [
        Figure(
            "convergence",
            "Loss against training size",
            "training rows",
            "mean absolute rank loss",
            series,
            log_x=True,
            caption="Bands are two standard errors over the draws; depth by cross-validation.",
        )
    ]


def _losses(
    results: Results,
    caption: str,
    shares_rows: bool,
    least: Callable[[int], float] | None,
) -> ResultTable:
    cells = [cell for name, cell in results.items() if name.startswith("draws")]
    columns = {
        name: np.concatenate([cell["losses"][name] for cell in cells]) if cells else np.empty(0)
        for name in METHODS
    }
    n_train = np.concatenate([cell["n_train"] for cell in cells]) if cells else np.empty(0)
    names = [name for name in METHODS if name != RANKING]
    targets = np.concatenate([cell["targets"] for cell in cells]) if cells else np.empty(0)
    p = _p_values([columns[name] - columns[RANKING] for name in names], targets, shares_rows)
    values = []
    for name, column in columns.items():
        difference = column - columns[RANKING]
        values.append(_value(name, "loss", column))
        if name != RANKING:
            values.append(_value(name, "minus the ranking tree's", difference))
            share = float(np.mean(difference > 0)) if len(column) else None
            values.append(Value(name, "draws behind it", ours=share))
            values += [_p(name, kind, column[names.index(name)]) for kind, column in p.items()]
    if least is not None and cells:
        known = [least(int(target)) for target in targets]
        values.append(_value(LEAST, "loss", np.array(known)))
    return ResultTable(
        "losses",
        "Mean absolute rank loss on the other half",
        values,
        caption=(
            f"{caption} {len(n_train)} draws, half of the rows train"
            f"{_typical(n_train)}. The paper prints no number, it says that the ranking tree is "
            f"obviously better than all others. {SAID[shares_rows]}"
        ),
        error_is="standard deviation over the draws",
        digits=4,
    )


def _curve_differences(results: Results, sizes: Sequence[int], shares_rows: bool) -> ResultTable:
    found = _curves(results)
    values = []
    for place, size in enumerate(sizes):
        row = f"{size} rows"
        for name in (RANKING, GINI):
            column = found[name][:, place] if found else np.empty(0)
            values.append(_value(row, name, column))
        if found:
            ranking, gini = found[RANKING][:, place], found[GINI][:, place]
            values.append(_value(row, "Gini minus ranking", gini - ranking))
            values.append(_p(row, "p", paired_test(gini, ranking).p_value))
    overlap = " About halves of these very rows." if shares_rows else ""
    return ResultTable(
        "convergence",
        "Loss by training size",
        values,
        caption=(
            "The paper says that the ranking tree converges faster. The first rows of each half "
            f"train, depth by cross-validation. p: paired t over the draws.{overlap}"
        ),
        error_is="standard deviation over the draws",
        digits=4,
    )


def _curves(results: Results) -> dict[str, Float64Array]:
    cells = [cell for name, cell in results.items() if name.startswith("curve")]
    if not cells:
        return {}
    return {
        name: np.concatenate([cell["losses"][name] for cell in cells]) for name in (RANKING, GINI)
    }


def _value(row: str, column: str, values: Float64Array) -> Value:
    note = "" if len(values) else ABSENT
    return Value(row, column, *mean_and_deviation(values), note=note)


def _p(row: str, column: str, p: float) -> Value:
    return Value(row, column, ours=None if math.isnan(p) else p)


def _p_values(
    differences: Sequence[Float64Array], targets: Float64Array, shares_rows: bool
) -> dict[str, Float64Array]:
    """Holm-corrected p-values of every method's differences from the ranking tree."""
    if not len(targets):
        return {}
    plain = holm(
        [paired_test(difference, np.zeros(len(difference))).p_value for difference in differences]
    )
    if not shares_rows:
        return {USERS: plain}
    new = holm(
        [resampling_p_value(difference, targets, test_per_train=1.0) for difference in differences]
    )
    return {THESE: plain, NEW: new}


def _errors(losses: Float64Array) -> Any:
    return 2 * losses.std(axis=0, ddof=1) / math.sqrt(len(losses))


def _typical(n_train: Any) -> str:
    if not len(n_train):
        return ""
    low, middle, high = np.min(n_train), np.median(n_train), np.max(n_train)
    return f" ({low:,.0f})" if low == high else f" (median {middle:,.0f}, {low:.0f} to {high:,.0f})"
