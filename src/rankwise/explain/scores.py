"""Explain the score of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import ScoreExplanation
from rankwise.explain.methods import Encode, check_game, check_scores, is_additive, tree_games
from rankwise.explain.pair import contributions
from rankwise.explain.table_rows import (
    additive_parts,
    convert_to_arrays,
    convert_to_table,
    join,
    names_of,
    row_values,
)
from rankwise.explain.tree_games import TreeGames
from rankwise.prediction import scores_of
from rankwise.typing import Float64Array


def explain_scores(
    ranker: Any,
    X: Any,
    background: Any = None,
    *,
    feature_perturbation: str = "auto",
    n_orders: int = 10,
    random_state: Any = 0,
) -> ScoreExplanation:
    """Contributions of the features to the score of every row (SHAP values).

    Parameters
    ----------
    ranker : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Rows to explain.
    background : array-like, CSR or frame of shape (n_background, n_features), optional
        Rows that supply replacement values of features, for interventional values; usually 100
        rows of the training set.
    feature_perturbation : {"auto", "interventional", "tree_path_dependent"}, default="auto"
        Game whose Shapley values are computed, see Notes. "auto": "interventional" with a
        background, else "tree_path_dependent".
    n_orders : int, default=10
        Number of random orders of the features, if contributions are sampled.
    random_state : int, RandomState or None, default=0
        Seed for drawing the orders.

    Returns
    -------
    ScoreExplanation
        The ``values`` of a row add up to its score minus ``expected``.

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If path-dependent values are requested for a model without trees, or interventional values
        without a background.

    Notes
    -----
    The value of feature j of a row x with d features is
    ``sum_S |S|! (d - |S| - 1)! / d! (worth(S + j) - worth(S))`` over the sets S of other features.

    - "tree_path_dependent": worth(S) is the mean score if nodes that split by a feature outside S
      send x to both sides, weighted by their shares of the training rows [1]_. These are the values
      of LightGBM's ``pred_contrib``, XGBoost's ``pred_contribs`` and CatBoost's ``ShapValues``. The
      shares are those of rows, of second derivatives and of row weights, respectively. XGBoost adds
      in float32, so its own values differ in the sixth digit.
    - "interventional": worth(S) is the mean score of the background rows with the features in S
      taken from x [2]_. A feature that changes no score gets 0.

    Values are exact for every sum of trees and for additive models. Other models are explained
    against each background row as in :func:`explain_pair`. Trees: O(nodes D) per row for D features
    on the longest path, by quadrature of Owen's multilinear extension [3]_. Against a background:
    O(nodes) per row, plus the pairs of distinct sets of passing features per leaf.

    References
    ----------
    .. [1] Lundberg, Erion & Lee, "Consistent individualized feature attribution for tree
       ensembles", arXiv:1802.03888 (2018).
    .. [2] Lundberg et al., "From local explanations to global understanding with explainable AI
       for trees", Nature Machine Intelligence 2 (2020).
    .. [3] Owen, "Multilinear extensions of games", Management Science 18 (1972).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingTree
    >>> from rankwise.explain import explain_scores
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0], [1.0, 1.0]])
    >>> tree = RankingTree(max_depth=2).fit(X, [0, 0, 1, 0, 0])
    >>> print(explain_scores(tree, X[2:3]))
    expected score 0.2
      row 0  score 1  x1 +0.45, x0 +0.35
    >>> explain_scores(tree, X[2:3], background=X).values
    array([[0.3, 0.5]])
    """
    check_is_fitted(ranker)
    check_scores(ranker)
    if feature_perturbation == "auto":
        is_path_dependent = background is None
        feature_perturbation = "tree_path_dependent" if is_path_dependent else "interventional"
    trees = tree_games(ranker)
    if feature_perturbation == "tree_path_dependent" and trees is None:
        raise ValueError(
            f"background must be given for {type(ranker).__name__}, which is not made of trees. "
            "Pass background=X_train[:100], or other rows to compare with."
        )
    check_game(feature_perturbation, trees is not None)
    table = convert_to_table(X)
    names = names_of(ranker, table)
    if trees is not None and feature_perturbation == "tree_path_dependent":
        games, encode = trees
        with convert_to_arrays(ranker, table) as (table,):
            scores, values = scores_of(ranker, table), games.path_dependent(encode(table))
        return ScoreExplanation(names, values, scores, games.expected_score(), True)
    if background is None:
        raise ValueError(
            "feature_perturbation='interventional' needs background rows, got None. Pass "
            "background=X_train[:100], or other rows to compare with."
        )
    others = convert_to_table(background)
    if others.shape[0] == 0:
        raise ValueError("background must have at least one row, got 0. Pass rows to compare with.")
    with convert_to_arrays(ranker, table, others) as (table, others):
        scores = scores_of(ranker, table)
        values, expected, exact = _explain_against(
            ranker, trees, table, others, n_orders, random_state
        )
    return ScoreExplanation(names, values, scores, expected, exact)


def _explain_against(
    ranker: Any,
    trees: tuple[TreeGames, Encode] | None,
    table: Any,
    others: Any,
    n_orders: int,
    random_state: Any,
) -> tuple[Float64Array, float, bool]:
    """Contributions against other rows, their mean score, and whether the values are exact."""
    n, m = table.shape[0], others.shape[0]
    expected, exact = float(scores_of(ranker, others).mean()), True
    if trees is not None:
        games, encode = trees
        bounds = np.array([[0, n, 0, m]])
        values = games.interventional(encode(table), encode(others), bounds)
    elif is_additive(ranker):
        parts = additive_parts(ranker, join(table, others))
        values = parts[:n] - parts[n:].mean(axis=0)
    else:
        random = check_random_state(random_state)
        values, joined = np.zeros(table.shape), join(table, others)
        rows = row_values(joined)
        for row in range(n):
            pairs = [
                contributions(ranker, joined, rows, row, other, n_orders, random)
                for other in range(n, n + m)
            ]
            values[row] = np.mean([part for part, _ in pairs], axis=0)
            exact = exact and all(error is None for _, error in pairs)
    return values, expected, exact
