"""Scores of rows by rankers that were fitted without the queries of these rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.rankers.ensemble.members import fit_members, member_scores
from rankwise.rows.fit_data import FitData
from rankwise.rows.row_hash import canonical_order
from rankwise.tuning.folds import content_folds, row_splits
from rankwise.tuning.held_out import mean_defined, measure_per_query
from rankwise.typing import Float64Array, Int64Array

_SEED = 0  # fixed, so that parts are the same for every random_state
DEFAULT_FOLDS = 5


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Training data of the final ranker."""

    scores: Float64Array  # (n_rows, n_members), held-out scores of the members
    y: Float64Array
    qid: Int64Array  # query numbers; rows of a query have the same number only within one part
    models: list[dict[str, Any]]  # models that computed the scores, one dict for each part

    @property
    def groups(self) -> QueryGroups:
        """Query groups of the rows."""
        return QueryGroups.from_qid(self.qid, len(self.y))

    def values(self, measure: Measure) -> Float64Array:
        """Mean measure of the scores of each member, shape (n_members,); larger is better."""
        means = mean_defined(measure_per_query(measure, self.y, self.scores, self.groups))
        return means if measure.greater_is_better else -means

    def best(self, n_best: int, measure: Measure) -> HeldOutScores:
        """Held-out scores of the ``n_best`` best members only, in the order of the members."""
        order = np.argsort(-np.nan_to_num(self.values(measure), nan=-np.inf), kind="stable")
        kept = np.sort(order[:n_best])
        names = list(self.models[0])
        models = [{names[k]: fold_models[names[k]] for k in kept} for fold_models in self.models]
        return HeldOutScores(self.scores[:, kept], self.y, self.qid, models)


def query_numbers(data: FitData) -> Int64Array:
    """Query number of every row, which depends only on the content of the queries."""
    order, sizes = canonical_order(data.X, data.y, data.groups)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.repeat(np.arange(len(sizes)), sizes)
    return numbers


def parts(
    cv: Any, share: float | None, data: FitData, numbers: Int64Array
) -> list[tuple[Int64Array, Int64Array]]:
    """Pairs of (rows to fit, rows to score): folds of queries, or a single split by ``share``.

    The parts depend on the content of the queries, and not on their order or ids. If there are
    fewer queries than folds, or a single query for a share, rows are split instead.
    """
    n_queries = int(numbers.max()) + 1
    if share is not None:
        n_held = min(max(1, round((1.0 - share) * n_queries)), n_queries - 1)
        if n_held < 1:
            n_parts = max(2, round(1.0 / (1.0 - share)))
            held_rows = [content_folds(data.X, data.y, n_parts)[0]]
        else:
            held = np.random.RandomState(_SEED).permutation(n_queries)[:n_held]
            held_rows = [np.flatnonzero(np.isin(numbers, held))]
    elif cv is None or isinstance(cv, Integral):
        n_folds = int(cv or DEFAULT_FOLDS)
        if n_queries < n_folds:
            held_rows = content_folds(data.X, data.y, n_folds)
        else:
            fold = np.empty(n_queries, dtype=np.int64)
            fold[np.random.RandomState(_SEED).permutation(n_queries)] = (
                np.arange(n_queries) % n_folds
            )
            held_rows = [np.flatnonzero(fold[numbers] == number) for number in range(n_folds)]
    else:
        splits = row_splits(cv, data)
        if not splits or not all(len(train) and len(test) for train, test in splits):
            raise ValueError(f"cv={cv!r} must give splits with training rows and test rows.")
        return splits
    every = np.arange(len(data.y))
    return [(np.setdiff1d(every, rows), rows) for rows in held_rows]


def score_held_out(
    members: Mapping[str, Any],
    data: FitData,
    splits: list[tuple[Int64Array, Int64Array]],
    numbers: Int64Array,
    has_qid: bool,
    validation: Mapping[str, Any] | None,
) -> HeldOutScores:
    """Fit the members on each part, and score the rows that are left out."""
    scores, models = [], []
    for train, test in splits:
        models.append(
            fit_members(
                members, data.X[train], data.y[train], numbers[train] if has_qid else None,
                validation,
            )
        )  # fmt: skip
        ids = numbers[test] if has_qid else None
        scores.append(member_scores(models[-1], data.X[test], ids))
    rows, queries = held_out_rows(splits, numbers)
    return HeldOutScores(np.concatenate(scores), data.y[rows], queries, models)


def held_out_rows(
    splits: list[tuple[Int64Array, Int64Array]], numbers: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Left-out row numbers, sorted by part, and their query numbers.

    Rows of a query in two parts count as two queries, because different models score them.
    """
    rows = np.concatenate([test for _, test in splits])
    part = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    return rows, part * (int(numbers.max()) + 1) + numbers[rows]
