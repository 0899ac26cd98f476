"""What the cells become: test costs on every set, and CSOVO against each method over the sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankwise.experiments import Results, ResultTable, Value
from rankwise.metrics.significance import holm, paired_test
from rankwise.typing import Float64Array
from rankwise_papers.shared_tables import ABSENT, mean_and_error, resampling_p_value

LEVEL = 0.05
TITLES = {
    "random": "Random costs",
    "absolute": "Absolute costs of ordered classes",
    "squared": "Squared costs of ordered classes",
}


def make(
    results: Results,
    asked: Mapping[str, Sequence[str]],
    methods: Mapping[str, Sequence[str]],
    quick: bool,
) -> list[ResultTable]:
    """For every kind of costs the mean test costs and the comparison with CSOVO."""
    tables = []
    for kind, sets in asked.items():
        found = {
            (name, method): results.get(f"{'quick/' if quick else ''}{kind}/{name}/{method}")
            for name in sets
            for method in methods[kind]
        }
        tables.append(_costs(found, kind, sets, methods[kind]))
        tables.append(_against(found, kind, sets, methods[kind]))
    return tables


def _costs(
    found: dict[tuple[str, str], Any], kind: str, sets: Sequence[str], methods: Sequence[str]
) -> ResultTable:
    values = []
    for method in methods:
        for name in sets:
            cell = found[name, method]
            ours = mean_and_error(cell and cell["cost"])
            note = "" if cell else ABSENT
            values.append(Value(method, name, *ours, larger_is_better=False, note=note))
    return ResultTable(
        f"{kind}-costs",
        f"{TITLES[kind]}: mean cost of a test row",
        values,
        caption=(
            "Smaller is better. SVM: with the perceptron kernel; ORBoost: stumps; all others: "
            "linear on random perceptrons."
        ),
        error_is="standard error over the splits, which share rows",
        digits=1 if kind == "random" else 3,
    )


def _against(
    found: dict[tuple[str, str], Any], kind: str, sets: Sequence[str], methods: Sequence[str]
) -> ResultTable:
    """Sets won and lost by CSOVO with the same base, and tests over splits and over sets."""
    values = []
    for method in methods:
        reference = "SVM, CSOVO" if method.startswith("SVM") else "CSOVO"
        if method == reference:
            continue
        pairs = [
            (found[name, reference], found[name, method])
            for name in sets
            if found[name, reference] is not None and found[name, method] is not None
        ]
        row = f"{method} (to {reference})"
        if not pairs:
            values.append(Value(row, "less", note=ABSENT))
            continue
        means = np.array([[np.mean(cell["cost"]) for cell in pair] for pair in pairs])
        less, more = means[:, 0] < means[:, 1], means[:, 0] > means[:, 1]
        plain = holm([_paired_p(*pair, shared=False) for pair in pairs]) < LEVEL
        corrected = holm([_paired_p(*pair, shared=True) for pair in pairs]) < LEVEL
        costly = means[(means > 0).all(axis=1)]
        ratio = np.log(costly[:, 0] / costly[:, 1])
        counts = {
            "less": less.sum(),
            "t": (less & plain).sum(),
            "corrected": (less & corrected).sum(),
            "more": more.sum(),
            "t, more": (more & plain).sum(),
            "corrected, more": (more & corrected).sum(),
        }
        if len(ratio):
            counts["cost ratio"] = math.exp(ratio.mean())
        values += [Value(row, column, ours=float(value)) for column, value in counts.items()]
        if len(ratio) > 1:
            over_sets = paired_test(ratio, np.zeros(len(ratio)), "wilcoxon").p_value
            values.append(Value(row, "p over sets", ours=float(over_sets)))
    return ResultTable(
        f"{kind}-against",
        f"{TITLES[kind]}: CSOVO against each method over the sets",
        values,
        caption=(
            "Sets on which CSOVO with the same base classifier costs less, or more; t: of these by "
            "a paired t-test over the splits, p < 0.05, Holm-corrected over the sets; corrected: "
            "with its variance corrected for rows that splits share (Nadeau & Bengio, 2003: "
            "1/n + n_test/n_train for 1/n). The plain test is too sure of itself; the correction "
            "does not know that random costs are drawn anew for every split, and with up to 500 "
            "test rows on 300 training rows it finds next to nothing. Cost ratio: geometric mean "
            "over the sets of CSOVO's mean cost over the method's. p over sets: Wilcoxon's signed "
            "ranks of its logarithm."
        ),
        digits=3,
    )


def _paired_p(ours: Any, other: Any, *, shared: bool) -> float:
    """Two-sided paired t-test, with a corrected variance if splits share rows."""
    difference: Float64Array = np.array(ours["cost"]) - np.array(other["cost"])
    n_train, n_test = ours["rows"]
    zeros = np.zeros(len(difference))
    return resampling_p_value(difference, zeros, n_test / n_train if shared else 0.0)
