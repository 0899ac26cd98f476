"""Why are the rows of a query in the order they are in."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import RankingExplanation
from rankwise.explain.methods import check_scores, is_additive, score_trees
from rankwise.explain.pair import explain_pair
from rankwise.explain.rows import as_table, names_of, score_mixed, take
from rankwise.explain.tree_games import tree_values
from rankwise.groups import QueryGroups
from rankwise.metrics.predicting import scores_of
from rankwise.typing import ArrayLike, Float64Array


def explain_ranking(
    ranker: Any,
    X: Any,
    qid: ArrayLike | None = None,
    *,
    n_others: int = 10,
    n_orders: int = 10,
    random_state: Any = 0,
) -> RankingExplanation:
    """Share out what each row's score is above the mean of its query.

    Parameters
    ----------
    ranker : fitted estimator
    X : array-like, CSR or frame of shape (n_samples, n_features)
    qid : array-like of shape (n_samples,), optional
        None: all rows are one query.
    n_others : int, default=10
        Rows of the query against which a row is explained where the model is not additive; all of
        them in smaller queries.
    n_orders : int, default=10
        Random orders of the features for each of them where contributions are sampled.
    random_state : int, RandomState or None, default=0
        Draws the rows and the orders.

    Returns
    -------
    RankingExplanation
        A row's ``values`` are the means of :func:`explain_pair` against the rows of its query, so
        they add up to its score less their mean score.

    Raises
    ------
    TypeError
        When the estimator is a classifier and not an ordinal one: it has no scores to rank by.

    Notes
    -----
    Additive models: (d + 1) n_samples mixed rows, exact against all rows of the query. Others:
    ``n_samples n_others`` pairs.
    """
    check_is_fitted(ranker)
    check_scores(ranker)
    table = as_table(X)
    n = table.shape[0]
    groups = QueryGroups.from_qid(qid, n)
    scores = scores_of(ranker, table)
    names = names_of(ranker, table)
    if is_additive(ranker):
        values = _additive(ranker, table, groups, len(names))
        return RankingExplanation(names, values, scores, groups, True)
    random = check_random_state(random_state)
    values, exact = np.zeros((n, len(names))), True
    trees = score_trees(ranker)
    rows = None if trees is None else ranker.encoded_rows(table)
    for query in range(groups.n_queries):
        members = groups.rows([query])
        for row in members.tolist():
            others = members
            if len(members) > n_others:
                others, exact = random.choice(members, n_others, replace=False), False
            pairs = [(row, int(other)) for other in others]
            if trees is not None and rows is not None:
                values[row] = tree_values(trees, rows, pairs).mean(axis=0)
                continue
            parts = [
                explain_pair(
                    ranker, take(table, [a]), take(table, [b]), n_orders=n_orders,
                    random_state=random,
                )
                for a, b in pairs
            ]  # fmt: skip
            values[row] = np.mean([part.values for part in parts], axis=0)
            exact = exact and all(part.error is None for part in parts)
    return RankingExplanation(names, values, scores, groups, exact)


def _additive(ranker: Any, table: Any, groups: QueryGroups, d: int) -> Float64Array:
    """Each feature's function of its value, less its mean over the query."""
    n = table.shape[0]
    parts = np.empty((n, d))
    for j in range(d):
        sources = np.zeros((n, d), dtype=np.int64)  # all features but j from the first row
        sources[:, j] = np.arange(n)
        parts[:, j] = score_mixed(ranker, table, sources)
    codes = groups.codes()
    sizes = np.bincount(codes, minlength=groups.n_queries)
    means = np.zeros((groups.n_queries, d))
    np.add.at(means, codes, parts)
    return parts - (means / np.maximum(sizes, 1)[:, None])[codes]
