"""Training rows of ORBoost, prepared for its base learners."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.rows.fit_data import FitData
from rankwise.rows.merged_rows import merge_rows
from rankwise.rows.row_hash import row_hashes
from rankwise.solvers.boosting.margin_boosting import class_order
from rankwise.solvers.boosting.perceptron_ensemble import PerceptronEnsemble
from rankwise.solvers.boosting.perceptron_search import PerceptronSearch
from rankwise.solvers.boosting.stump_ensemble import StumpEnsemble
from rankwise.solvers.boosting.stump_search import StumpSearch
from rankwise.typing import Float64Array, Int64Array, Matrix

ROW_WEIGHTS = ("rank", "query", "rank_query", "gain")
BY_QUERY = ("query", "rank_query")  # these need a qid
Ensemble = StumpEnsemble | PerceptronEnsemble
MOST_ROUNDS = 1000
ROUNDS_PER_ROOT = 3


@dataclass(frozen=True, eq=False)
class BoostedRows:
    """Rows sorted by class, the search for base learners, and the current ensemble."""

    X: Matrix
    rows: Int64Array  # (n_rows,), row of ``X`` that each weight belongs to
    class_ptr: Int64Array  # (n_classes + 1,), limits of the classes in ``rows`` and ``weight``
    weight: Float64Array  # (n_rows,)
    search: Any  # StumpSearch or PerceptronSearch for the base learner of a round
    ensemble: Ensemble  # base learners found so far


def rounds_for(data: FitData) -> int:
    """Default number of rounds. Only distinct rows count, so repeated rows do not change it."""
    distinct = len(np.unique(row_hashes(data.X, data.y)))
    return min(math.ceil(ROUNDS_PER_ROOT * math.sqrt(distinct)), MOST_ROUNDS)


def row_weights(data: FitData, scheme: str | None) -> Float64Array:
    """Weight of every row: ``sample_weight`` times the factor of ``scheme``.

    Factors: "rank": the class number plus one. "query": 1 / the number of rows of the query.
    "rank_query": product of both. "gain": ``2^k`` for class number k, which is the gain of nDCG and
    ERR plus one.
    """
    repeats = np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight
    weight = repeats.copy()
    if scheme in ("rank", "rank_query"):
        weight *= data.y + 1.0
    if scheme in BY_QUERY:
        query = data.groups.codes()
        weight /= np.bincount(query, repeats, minlength=data.groups.n_queries)[query]
    if scheme == "gain":
        weight *= 2.0**data.y
    return weight


def stump_rows(
    data: FitData, weight: Float64Array, earlier: StumpEnsemble | None, max_bins: int | None
) -> BoostedRows:
    """Training rows prepared for stumps."""
    assert data.classes is not None
    rows, class_ptr = class_order(data.y, len(data.classes))
    search = StumpSearch(data.X, rows, max_bins, data.sample_weight, ties_above=True)
    ensemble = StumpEnsemble.empty() if earlier is None else earlier
    return BoostedRows(data.X, rows, class_ptr, weight[rows], search, ensemble)


def perceptron_rows(
    data: FitData,
    weight: Float64Array,
    earlier: PerceptronEnsemble | None,
    *,
    pocket: bool,
    n_iter: int,
    seed: int,
) -> BoostedRows:
    """Training rows prepared for perceptrons: equal rows are merged and sorted by content.

    Otherwise draws of rows and floating-point sums would depend on the order of the rows.
    """
    assert data.classes is not None
    merged = merge_rows(data.X, data.y, QueryGroups.single(len(data.y)), weight)
    X, y = data.X[merged.rows], data.y[merged.rows]
    order, class_ptr = class_order(y, len(data.classes))
    X, weight = X[order], merged.weight[order]
    ensemble = PerceptronEnsemble.empty(X, weight) if earlier is None else earlier
    search = PerceptronSearch(
        ensemble.prepare(X), pocket=pocket, n_iter=n_iter, seed=seed, first_round=len(ensemble)
    )
    return BoostedRows(X, np.arange(len(y)), class_ptr, weight, search, ensemble)
