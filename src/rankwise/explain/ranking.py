"""Explain the order of the rows of a query."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import RankingExplanation
from rankwise.explain.methods import check_game, check_scores, is_additive, tree_games
from rankwise.explain.pair import contributions
from rankwise.explain.table_rows import (
    additive_parts,
    convert_to_arrays,
    convert_to_table,
    names_of,
    row_values,
)
from rankwise.explain.tree_games import TreeGames
from rankwise.groups import QueryGroups
from rankwise.prediction import scores_of
from rankwise.typing import ArrayLike, Float64Array, FloatArray


def explain_ranking(
    ranker: Any,
    X: Any,
    qid: ArrayLike | None = None,
    *,
    feature_perturbation: str = "interventional",
    n_others: int = 10,
    n_orders: int = 10,
    random_state: Any = 0,
) -> RankingExplanation:
    """Contributions of the features to each row's score minus the mean score of its query.

    Parameters
    ----------
    ranker : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Rows to explain.
    qid : array-like of shape (n_samples,), optional
        Query of each row; None: all rows are one query.
    feature_perturbation : {"interventional", "tree_path_dependent"}, default="interventional"
        As in :func:`explain_pair`.
    n_others : int, default=10
        Number of other rows of the query that a row is compared with, or all rows in smaller
        queries. Only for models that are neither additive nor made of trees.
    n_orders : int, default=10
        Number of random orders of the features per comparison, if contributions are sampled.
    random_state : int, RandomState or None, default=0
        Seed for drawing the rows and the orders.

    Returns
    -------
    RankingExplanation
        The ``values`` of a row are the means of :func:`explain_pair` against the rows of its query,
        so they add up to its score minus their mean score.

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If path-dependent values are requested for a model without trees.

    Notes
    -----
    For models made of trees, values are exact against all rows of the query; the cost is O(nodes)
    per row, plus the pairs of distinct sets of passing features per leaf. For additive models,
    values are exact, from d n_samples mixed rows. Other models need ``n_samples n_others`` pairs.
    """
    check_is_fitted(ranker)
    check_scores(ranker)
    table = convert_to_table(X)
    groups = QueryGroups.from_qid(qid, table.shape[0])
    names = names_of(ranker, table)
    with convert_to_arrays(ranker, table) as (table,):
        scores = scores_of(ranker, table)
        values, exact = _share_scores(
            ranker, table, groups, feature_perturbation, n_others, n_orders, random_state
        )
    return RankingExplanation(names, values, scores, groups, exact)


def _share_scores(
    ranker: Any,
    table: Any,
    groups: QueryGroups,
    feature_perturbation: str,
    n_others: int,
    n_orders: int,
    random_state: Any,
) -> tuple[Float64Array, bool]:
    """Contributions to each row's score minus its query's mean, and whether they are exact."""
    trees, additive = tree_games(ranker), is_additive(ranker)
    check_game(feature_perturbation, additive or trees is not None)
    if trees is not None:
        games, encode = trees
        return _explain_trees(games, encode(table), groups, feature_perturbation), True
    if additive:
        return less_query_means(additive_parts(ranker, table), groups), True
    random = check_random_state(random_state)
    values, exact = np.zeros(table.shape), True
    rows = row_values(table)
    for query in range(groups.n_queries):
        members = groups.rows([query])
        for row in members.tolist():
            others = members
            if len(members) > n_others:
                others, exact = random.choice(members, n_others, replace=False), False
            parts = [
                contributions(ranker, table, rows, row, other, n_orders, random)
                for other in others.tolist()
            ]
            values[row] = np.mean([part for part, _ in parts], axis=0)
            exact = exact and all(error is None for _, error in parts)
    return values, exact


def _explain_trees(
    games: TreeGames, rows: FloatArray, groups: QueryGroups, feature_perturbation: str
) -> Float64Array:
    if feature_perturbation == "tree_path_dependent":
        return less_query_means(games.path_dependent(rows), groups)
    starts, ends = groups.indptr[:-1], groups.indptr[1:]
    rows = groups.sort(rows)
    bounds = np.stack([starts, ends, starts, ends], axis=1)
    return groups.unsort(games.interventional(rows, rows, bounds))


def less_query_means(values: Float64Array, groups: QueryGroups) -> Float64Array:
    """Values of every row minus their mean over the rows of its query."""
    codes = groups.codes()
    sizes = np.bincount(codes, minlength=groups.n_queries)
    means = np.zeros((groups.n_queries, values.shape[1]))
    np.add.at(means, codes, values)
    return values - (means / np.maximum(sizes, 1)[:, None])[codes]
