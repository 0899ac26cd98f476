"""A table of systems, each tested against the best one, with the p-values corrected."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rankwise.metrics.effects import cohens_d
from rankwise.metrics.intervals import bootstrap_intervals, stratified_mean
from rankwise.metrics.multiplicity import bonferroni, holm
from rankwise.metrics.paired import METHODS, check_choice, paired_test
from rankwise.metrics.randomisation import sign_flip_p_values
from rankwise.typing import ArrayLike, Float64Array

CORRECTIONS = {"holm": holm, "bonferroni": bonferroni}


@dataclass(frozen=True)
class Comparison:
    """One system of a table against the best one.

    Attributes
    ----------
    name : str
    mean, low, high : float
        Mean over queries (over folds, where there are any) and its bootstrap interval.
    difference : float
        ``mean`` minus the best mean.
    p_value, p_corrected : float
        Paired test against the best, plain and corrected for the tests in the table; NaN in the
        best system's own row.
    effect : float
        Cohen's d of the paired differences (system minus best).
    wins, ties, losses : int
        Queries on which the system is better than, level with and worse than the best.
    """

    name: str
    mean: float
    low: float
    high: float
    difference: float
    p_value: float
    p_corrected: float
    effect: float
    wins: int
    ties: int
    losses: int


def compare_to_best(
    per_query: Mapping[str, ArrayLike],
    *,
    greater_is_better: bool = True,
    method: str = "t",
    correction: str = "holm",
    strata: ArrayLike | None = None,
    level: float = 0.95,
    interval: str = "bca",
    n_resamples: int = 9999,
    random_state: int = 0,
) -> list[Comparison]:
    """Table of systems, best first, each tested against the best.

    Parameters
    ----------
    per_query : mapping of str to array-like of shape (n_queries,)
        Values per query of each system, queries in the same order; NaN: does not count.
    greater_is_better : bool
    method : {"t", "wilcoxon", "randomisation"}
        As in :func:`paired_test`, two-sided.
    correction : {"holm", "bonferroni"}
        Over the tests of this table.
    strata : array-like of shape (n_queries,), optional
        Fold of each query: means are then means of fold means. Tests are on the pooled queries.
    level, interval, n_resamples, random_state
        As in :func:`bootstrap_interval`, ``interval`` being its ``method``.

    Returns
    -------
    list of Comparison
        Ordered by the mean; systems without any value come last. The best one is picked by the
        same data: its lead over the second is flattered, all the more the more systems there are.

    Raises
    ------
    ValueError
        When the arrays differ in length, or a parameter is not one of its choices.

    Examples
    --------
    >>> table = compare_to_best({"a": [0.1, 0.2, 0.4, 0.3], "b": [0.3, 0.5, 0.5, 0.4]})
    >>> [(row.name, round(row.difference, 3), row.wins, row.losses) for row in table]
    [('b', 0.0, 0, 0), ('a', -0.175, 0, 4)]
    """
    check_choice("method", method, METHODS)
    check_choice("correction", correction, tuple(CORRECTIONS))
    if not per_query:
        return []
    values = {name: np.asarray(column, dtype=np.float64) for name, column in per_query.items()}
    shapes = {name: column.shape for name, column in values.items()}
    if len(set(shapes.values())) > 1 or len(next(iter(shapes.values()))) != 1:
        raise ValueError(
            f"per_query must hold 1-d arrays of equal length, got shapes {shapes}. "
            "Pass one value per query for every system."
        )
    means = {name: stratified_mean(column, strata) for name, column in values.items()}
    sign = -1.0 if greater_is_better else 1.0
    names = sorted(means, key=lambda name: (math.isnan(means[name]), sign * means[name]))
    columns = np.column_stack([values[name] for name in names])
    ends = bootstrap_intervals(
        columns,
        strata=strata,
        level=level,
        method=interval,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    differences = columns - columns[:, :1]
    p_values = _against_first(columns, method, n_resamples, random_state)
    corrected = CORRECTIONS[correction](p_values)
    better = -sign * differences
    return [
        Comparison(
            name=name,
            mean=means[name],
            low=float(ends[i, 0]),
            high=float(ends[i, 1]),
            difference=means[name] - means[names[0]],
            p_value=float(p_values[i]),
            p_corrected=float(corrected[i]),
            effect=cohens_d(columns[:, i], columns[:, 0]),
            wins=int((better[:, i] > 0).sum()),
            ties=int((better[:, i] == 0).sum()),
            losses=int((better[:, i] < 0).sum()),
        )
        for i, name in enumerate(names)
    ]


def _against_first(
    columns: Float64Array, method: str, n_resamples: int, random_state: int
) -> Float64Array:
    """p-value of every column against the first; NaN for the first itself."""
    p_values = np.full(columns.shape[1], math.nan)
    if method == "randomisation":
        p_values[1:] = sign_flip_p_values(
            columns[:, 1:] - columns[:, :1], n_resamples=n_resamples, random_state=random_state
        )
    else:
        for i in range(1, columns.shape[1]):
            p_values[i] = paired_test(columns[:, i], columns[:, 0], method).p_value
    return p_values
