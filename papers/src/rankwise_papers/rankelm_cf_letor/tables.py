"""AP of every fold, precision at every cut-off, and tests between the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.shared_tables import ABSENT, MeanAndSpread, mean_and_deviation
from rankwise_papers.zong2013.methods import PAPER, Method

FOLDS, CUTOFFS = range(1, 6), range(1, 11)
SEEDS, QUICK_SEEDS = range(10), range(2)
_CAPTION = "Penalty chosen by AP on the validation part, preset letor3. A stand-in for {where}."
_ERROR = "standard deviation over draws of the nodes"


def fit_name(method: Method, fold: int, seed: int) -> str:
    """Name of the cell of one fit."""
    return f"fold{fold}/{method.name}" + (f"/seed{seed}" if method.is_drawn else "")


def seeds_of(method: Method, quick: bool) -> range:
    """Seeds of a method; a single one if it is deterministic."""
    if not method.is_drawn:
        return range(1)
    return QUICK_SEEDS if quick else SEEDS


def make(results: Results, quick: bool) -> list[ResultTable]:
    """Stand-ins for Tables 1 and 3, nDCG, and tests."""
    both = "TD2003 and TD2004"
    return [
        _folds_table(results, quick, _CAPTION.format(where=both)),
        _top_table("P", f"In place of Table 3, {both}: P@k", results, quick),
        _top_table("nDCG", "Beyond the paper: nDCG@k", results, quick),
        _tests(results, quick),
    ]


def _found(method: Method, results: Results, quick: bool) -> list[list[dict[str, Any]]]:
    """Cells of every complete draw, fold by fold."""
    rows = [[fit_name(method, fold, seed) for fold in FOLDS] for seed in seeds_of(method, quick)]
    complete = [row for row in rows if all(name in results for name in row)]
    return [[results[name] for name in row] for row in complete]


def _value(row: str, method: Method, ours: MeanAndSpread) -> Value:
    mean, spread = ours
    return Value(row, method.column, mean, spread, note=ABSENT if mean is None else "")


def _folds_table(results: Results, quick: bool, caption: str) -> ResultTable:
    values = []
    for fold in (*FOLDS, None):
        for method in PAPER:
            draws = [[cell["test"]["AP"] for cell in row] for row in _found(method, results, quick)]
            ours = [float(np.mean(draw)) if fold is None else draw[fold - 1] for draw in draws]
            row = "mean" if fold is None else f"fold {fold}"
            values.append(_value(row, method, mean_and_deviation(ours)))
    return ResultTable("ap", "In place of Table 1, TD2003 and TD2004: AP", values, caption, _ERROR)


def _top_table(measure: str, title: str, results: Results, quick: bool) -> ResultTable:
    values = []
    for k in CUTOFFS:
        for method in PAPER:
            rows = _found(method, results, quick)
            draws = [[cell["test"][f"{measure}@{k}"] for cell in row] for row in rows]
            ours = [float(np.mean(draw)) for draw in draws]
            values.append(_value(f"{measure}@{k}", method, mean_and_deviation(ours)))
    caption = "Mean of the folds; penalty chosen by AP on the validation part, preset letor3."
    return ResultTable(measure.lower(), title, values, caption, _ERROR)


def _tests(results: Results, quick: bool) -> ResultTable:
    """Lead of every column over Regularized in AP, query by query."""
    by_query = {
        method.name: ap
        for method in PAPER
        if (ap := _by_query(_found(method, results, quick))) is not None
    }
    others = [method for method in PAPER if method.name in by_query and method.name != "ridge"]
    values = []
    if "ridge" in by_query:
        base = by_query["ridge"]
        tests = [paired_test(by_query[method.name], base).p_value for method in others]
        for method, p, adjusted in zip(others, tests, holm(tests).tolist(), strict=True):
            lead = by_query[method.name] - base
            error = lead.std(ddof=1) / np.sqrt(len(lead))
            values += [
                Value(method.column, "lead", float(lead.mean()), float(error)),
                Value(method.column, "p", p),
                Value(method.column, "p (Holm)", adjusted),
            ]
    return ResultTable(
        "tests",
        "Lead over Regularized in AP",
        values,
        "Two-sided paired t tests over the 100 queries; of drawn nodes, the mean over the draws.",
        "standard error over queries",
    )


def _by_query(rows: Sequence[Sequence[dict[str, Any]]]) -> Float64Array | None:
    if not rows:
        return None
    draws = [np.concatenate([np.array(cell["AP"], float) for cell in row]) for row in rows]
    return np.mean(draws, axis=0)
