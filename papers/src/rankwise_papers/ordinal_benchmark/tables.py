"""What the cells become: both errors on every set, and ranks over the sets with tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import friedmanchisquare, rankdata

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise_papers.ordinal_benchmark.ours import ONE_HOT
from rankwise_papers.ordinal_benchmark.peers import missing_peer
from rankwise_papers.ordinal_benchmark.sets import NOMINAL, BenchmarkSet
from rankwise_papers.shared_tables import ABSENT, mean_and_error

LEVEL = 0.05
TREE = "RankingTree"
ERRORS = {"absolute": "Mean absolute error", "zero-one": "Zero-one error"}


def make(
    results: Results, sets: Sequence[BenchmarkSet], methods: Sequence[str], quick: bool
) -> list[ResultTable]:
    """Ranks first, then each error with a row per method and a column per set."""
    found = {
        (known.key, method): results.get(f"{'quick/' if quick else ''}{known.key}/{method}")
        for known in sets
        for method in (*methods, ONE_HOT)
    }
    return [
        *(_ranks(found, sets, methods, error) for error in ERRORS),
        *(_errors(found, sets, methods, error) for error in ERRORS),
        _nominal(found, [known for known in sets if known.key in NOMINAL]),
    ]


def _errors(
    found: dict[tuple[str, str], Any],
    sets: Sequence[BenchmarkSet],
    methods: Sequence[str],
    error: str,
) -> ResultTable:
    values = []
    for method in methods:
        for known in sets:
            cell = found[known.key, method]
            ours = mean_and_error(cell and cell[error])
            values.append(Value(method, known.key, *ours, note=_why_not(cell, method)))
    return ResultTable(
        f"errors-{error}",
        f"{ERRORS[error]} on the test rows, mean over the splits",
        values,
        caption="Class numbers ascend by one. Smaller is better.",
        error_is="standard error over the splits, which share rows",
        digits=3,
    )


def _ranks(
    found: dict[tuple[str, str], Any],
    sets: Sequence[BenchmarkSet],
    methods: Sequence[str],
    error: str,
) -> ResultTable:
    """Mean ranks over the data sets that all methods have, each counted once."""
    run = [m for m in methods if any(found[known.key, m] for known in sets)]
    counted = [
        known
        for known in sets
        if run and not known.twin and all(found[known.key, method] for method in run)
    ]
    means = np.array([[np.mean(found[known.key, m][error]) for m in run] for known in counted])
    means = means.reshape(len(counted), len(run))
    ranks = rankdata(means.round(12), axis=1)
    best = int(ranks.mean(axis=0).argmin()) if counted else 0
    p = _against(means, best)
    values = []
    for method in methods:
        if method not in run or not counted:
            values.append(Value(method, "mean rank", note=_why_not(None, method)))
            continue
        column = run.index(method)
        is_best = column == best
        wins = float((ranks[:, column] == ranks.min(axis=1)).sum())
        note = "The tests are against this one, which the same data chose." if is_best else ""
        values.append(Value(method, "mean rank", ours=float(ranks[:, column].mean()), note=note))
        values.append(Value(method, "best on", ours=wins))
        if not is_best:
            values.append(Value(method, "p against the best", ours=float(p[column])))
    return ResultTable(
        f"ranks-{error}",
        f"Ranks by {ERRORS[error].lower()} over {len(counted)} data sets",
        values,
        caption=(
            "1 is best, equal means share a rank; of a data set in 5 and in 10 classes the ten "
            f"count. {_friedman(means)} p: Wilcoxon's signed ranks of the means on the data sets "
            "against the method of the least mean rank, Holm-corrected over the methods."
        ),
        digits=3,
    )


def _nominal(found: dict[tuple[str, str], Any], sets: Sequence[BenchmarkSet]) -> ResultTable:
    """The ranking tree with nominal columns split by subsets, and with a column per category."""
    values = []
    for known in sets:
        cells = {name: found[known.key, name] for name in (TREE, ONE_HOT)}
        columns = {name: np.array(cell["absolute"]) for name, cell in cells.items() if cell}
        named = {"as such": columns.get(TREE), "one-hot": columns.get(ONE_HOT)}
        if len(columns) == 2:
            named["one-hot minus as such"] = columns[ONE_HOT] - columns[TREE]
        for name, column in named.items():
            note = _why_not(column, TREE)
            values.append(Value(known.key, name, *mean_and_error(column), note=note))
    return ResultTable(
        "nominal",
        "RankingTree on nominal columns: mean absolute error",
        values,
        caption=(
            "As such: splits by subsets of the categories, missing cells to the better side. "
            "One-hot: a column per category, missing cells the mean, marked by one more column."
        ),
        error_is="standard error over the splits, which share rows",
        digits=3,
    )


def _against(means: np.ndarray[Any, Any], best: int) -> np.ndarray[Any, Any]:
    """Corrected p-values of every method against the best; NaN for the best itself."""
    if means.size == 0:
        return np.empty(0)
    p = [
        math.nan if k == best else paired_test(means[:, k], means[:, best], "wilcoxon").p_value
        for k in range(means.shape[1])
    ]
    return holm(p)


def _friedman(means: np.ndarray[Any, Any]) -> str:
    if means.size == 0 or min(means.shape) < 3:
        return "Too few data sets for Friedman's test."
    statistic, p = friedmanchisquare(*means.T)
    said = "no method differs" if p > LEVEL else "the methods differ"
    return f"Friedman's test that all are alike: chi-square {statistic:.1f}, p {p:.2g}, {said}."


def _why_not(cell: Any, method: str) -> str:
    if cell is not None:
        return ""
    return missing_peer(method) or ABSENT
