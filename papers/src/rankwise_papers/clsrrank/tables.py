"""What the cells become: both methods and all kernels side by side; nothing is published."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise_papers.elmrank_recommendation.reviewers import GROUPS
from rankwise_papers.shared_tables import mean_and_deviation, mean_and_error

METHODS = ("LSRRank Gaussian", "CLSRRank Gaussian", "CLSRRank sigmoid", "CLSRRank containment")
MEASURES = {"MSD": 3, "M1D": 3, "Misranking": 4}
DATA = {"MovieLens": "movielens-1m", "Jester": "jester"}
QSAR_MEASURES = {
    "RankingError": "ranking error",
    "Pearson": "correlation",
    "Tau": "Kendall's tau-b",
    "Rho": "Spearman's rho",
    "nDCG": "nDCG",
    "MSD": "mean squared difference",
}
REFERENCE = METHODS[0]


def make(results: Results, quick: bool) -> list[ResultTable]:
    """All tables of the finished cells."""
    recommendation = [_recommendation(results, quick, measure) for measure in MEASURES]
    return [*recommendation, _differences(results, quick), _compounds(results)]


def _recommendation(results: Results, quick: bool, measure: str) -> ResultTable:
    values = []
    beside = () if measure == "Misranking" else ("constant",)  # which ties all pairs
    for method in (*beside, *METHODS):
        for column, prefix in _columns(quick):
            means = [float(np.mean(values)) for values in _found(results, prefix, method, measure)]
            values.append(Value(method, column, *mean_and_deviation(means)))
    return ResultTable(
        f"recommendation-{measure.lower()}",
        f"Recommendation: {measure}",
        values,
        caption="The reviewers, halves and features are those of elmrank-recommendation.",
        error_is="standard deviation over repetitions",
        digits=MEASURES[measure],
    )


def _differences(results: Results, quick: bool) -> ResultTable:
    values = []
    for measure in MEASURES:
        for method in METHODS[1:]:
            for column, prefix in _columns(quick):
                found = _found(results, prefix, method, measure)
                other = _found(results, prefix, REFERENCE, measure)
                means = [float(np.mean(a - b)) for a, b in zip(found, other, strict=True)]
                row = f"{measure}: {method}"
                values.append(Value(row, column, *mean_and_error(means)))
    return ResultTable(
        "minus-lsrrank",
        f"Difference to {REFERENCE}",
        values,
        caption="On the same reviewers; negative is better.",
        error_is="standard error of the paired difference, from the spread over repetitions",
        digits=4,
    )


def _compounds(results: Results) -> ResultTable:
    values = []
    for data in ("dhfr", "cox2"):
        for method in METHODS:
            for measure, name in QSAR_MEASURES.items():
                result = results.get(f"qsar/{data}")
                ours = None if result is None else result["values"][method][measure]
                values.append(Value(f"{data.upper()} {method}", name, ours=ours))
    return ResultTable(
        "compounds",
        "Compounds ordered by predicted activity",
        values,
        caption="One run each: kernel and penalty by ten folds of the training compounds.",
    )


def _columns(quick: bool) -> list[tuple[str, str]]:
    """Shown name and start of the cells' names for every data set and group."""
    size = "quick/" if quick else ""
    return [
        (f"{shown} {low}-{high}", f"{size}{data}/{low}-{high}/repetition")
        for shown, data in DATA.items()
        for low, high in GROUPS
    ]


def _found(results: Results, prefix: str, method: str, measure: str) -> list[np.ndarray[Any, Any]]:
    """Values of the reviewers who count, one array per repetition."""
    found = []
    for name, result in results.items():
        if name.startswith(prefix):
            column = result["values"][method][measure]
            found.append(np.array([value for value in column if value is not None]))
    return found
