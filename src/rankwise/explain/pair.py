"""Why is row A above row B."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import PairExplanation
from rankwise.explain.games import MOST_ENUMERATED, enumerated, sampled, single
from rankwise.explain.methods import check_scores, is_additive, score_trees
from rankwise.explain.rows import as_table, join, names_of, score_mixed, values_of
from rankwise.explain.tree_games import tree_values
from rankwise.metrics.predicting import scores_of
from rankwise.typing import Float64Array


def explain_pair(
    ranker: Any, xa: Any, xb: Any, *, n_orders: int = 100, random_state: Any = 0
) -> PairExplanation:
    """Share out the difference of two scores among the features.

    Parameters
    ----------
    ranker : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    xa, xb : array-like of shape (n_features,), or table of one row
        The two rows; as frames where the estimator was fitted on frames.
    n_orders : int, default=100
        Random orders of the features where contributions are sampled, each also backwards.
    random_state : int, RandomState or None, default=0
        Draws the orders.

    Returns
    -------
    PairExplanation
        ``values`` are Shapley values of replacing B's features by A's: they add up to the
        difference of the scores.

    Raises
    ------
    TypeError
        When the estimator is a classifier and not an ordinal one: it has no scores to rank by.
    ValueError
        When a table does not hold one row of as many features as the fit.

    Notes
    -----
    Exact for linear models, powers of features, sums of stumps and our trees, and where at most 10
    features differ; sampled for the rest, with standard errors. Where a pipeline ends in an
    additive model and its steps take features one by one, every order gives the same, and the
    errors are 0.
    Additive: d + 1 mixed rows; sampled: ``2 n_orders (d + 1)``.
    """
    check_is_fitted(ranker)
    check_scores(ranker)
    a, b = as_table(xa), as_table(xb)
    _check_one_row("xa", a, getattr(ranker, "n_features_in_", a.shape[1]))
    _check_one_row("xb", b, a.shape[1])
    both = join(a, b)
    scores = scores_of(ranker, both)
    values, error = _contributions(ranker, both, n_orders, check_random_state(random_state))
    return PairExplanation(
        names_of(ranker, both),
        values,
        float(scores[0]),
        float(scores[1]),
        values_of(both, 0),
        values_of(both, 1),
        error,
    )


def _check_one_row(name: str, table: Any, n_features: int) -> None:
    if table.shape != (1, n_features):
        raise ValueError(
            f"{name} must be one row of n_features={n_features} values, got shape {table.shape}. "
            "Pass X[i], or X[i:i + 1]."
        )


def _contributions(
    ranker: Any, both: Any, n_orders: int, random_state: np.random.RandomState
) -> tuple[Float64Array, Float64Array | None]:
    d = both.shape[1]
    trees = score_trees(ranker)
    if trees is not None:
        return tree_values(trees, ranker.encoded_rows(both), [(0, 1)])[0], None
    a, b = values_of(both, 0), values_of(both, 1)
    differing = np.flatnonzero([not _equal(x, y) for x, y in zip(a, b, strict=True)])

    def score(sets: Any) -> Float64Array:
        sources = np.ones((len(sets), d), dtype=np.int64)
        sources[:, differing] = np.where(sets, 0, 1)
        return score_mixed(ranker, both, sources)

    values, error = np.zeros(d), None
    players = len(differing)
    if is_additive(ranker):
        values[differing] = single(score, players)
    elif players <= MOST_ENUMERATED:
        values[differing] = enumerated(score, players)
    else:
        error = np.zeros(d)
        values[differing], error[differing] = sampled(score, players, n_orders, random_state)
    return values, error


def _equal(x: Any, y: Any) -> bool:
    """Whether two values are the same; two missing ones are."""
    return x is y or bool(x == y) or (x != x and y != y)
