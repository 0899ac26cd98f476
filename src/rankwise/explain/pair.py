"""Why is row A above row B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import PairExplanation
from rankwise.explain.games import MOST_ENUMERATED, enumerated, sampled, single
from rankwise.explain.methods import check_game, check_scores, is_additive, tree_games
from rankwise.explain.rows import as_arrays, as_table, join, names_of, row_values, score_mixed
from rankwise.metrics.predicting import scores_of
from rankwise.typing import Float64Array


def explain_pair(
    ranker: Any,
    xa: Any,
    xb: Any,
    *,
    feature_perturbation: str = "interventional",
    n_orders: int = 100,
    random_state: Any = 0,
) -> PairExplanation:
    """Share out the difference of two scores among the features.

    Parameters
    ----------
    ranker : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    xa, xb : array-like of shape (n_features,), or table of one row
        The two rows; rows of frames (``frame[i : i + 1]``, of pandas also ``frame.iloc[i]``)
        where the estimator was fitted on frames.
    feature_perturbation : {"interventional", "tree_path_dependent"}, default="interventional"
        "interventional": Shapley values of replacing B's features by A's; equal features get 0.
        "tree_path_dependent", for trees: difference of the values of A and of B as
        :func:`explain_scores` gives them; equal features may get some.
    n_orders : int, default=100
        Random orders of the features where contributions are sampled, each also backwards.
    random_state : int, RandomState or None, default=0
        Draws the orders.

    Returns
    -------
    PairExplanation
        ``values`` add up to the difference of the scores.

    Raises
    ------
    TypeError
        When the estimator is a classifier and not an ordinal one: it has no scores to rank by.
    ValueError
        When a table does not hold one row of as many features as the fit; where path-dependent
        values are asked of a model without trees.

    Notes
    -----
    Exact for every sum of trees (ours, and those of LightGBM, XGBoost and CatBoost), for linear
    models, powers of features and sums of stumps, and where at most 10 features differ; sampled
    for the rest, with standard errors. A pipeline counts as its last step where the steps before
    it are scikit-learn's scalers, PowerTransformer, QuantileTransformer, Binarizer or
    OrdinalEncoder and the model is made of trees. Where it ends in an additive model and its steps
    take features one by one, every order gives the same, and the errors are 0.
    Trees: O(nodes), path-dependent O(nodes D) for D features on the longest path.
    Additive: d + 1 mixed rows; sampled: ``2 n_orders (d + 1)``.
    """
    check_is_fitted(ranker)
    check_scores(ranker)
    a, b = as_table(xa), as_table(xb)
    _check_one_row("xa", a, getattr(ranker, "n_features_in_", a.shape[1]))
    _check_one_row("xb", b, a.shape[1])
    with as_arrays(ranker, a, b) as tables:
        row_a, row_b = (*row_values(a, tables[0]), *row_values(b, tables[1]))
        both = join(*tables)
        scores = scores_of(ranker, both)
        values, error = _shared_out(ranker, both, feature_perturbation, n_orders, random_state)
    names = names_of(ranker, a)
    return PairExplanation(names, values, float(scores[0]), float(scores[1]), row_a, row_b, error)


def _shared_out(
    ranker: Any, both: Any, feature_perturbation: str, n_orders: int, random_state: Any
) -> tuple[Float64Array, Float64Array | None]:
    """Contributions to the difference of a table's two rows, and their standard errors."""
    trees, additive = tree_games(ranker), is_additive(ranker)
    check_game(feature_perturbation, additive or trees is not None)
    if trees is None:
        random = check_random_state(random_state)
        return contributions(ranker, both, row_values(both), 0, 1, n_orders, random)
    games, encode = trees
    encoded = encode(both)
    if feature_perturbation == "tree_path_dependent":
        of_a, of_b = games.path_dependent(encoded)
        return of_a - of_b, None
    bounds = np.array([[0, 1, 0, 1]])
    return games.interventional(encoded[:1], encoded[1:], bounds)[0], None


def contributions(
    ranker: Any,
    table: Any,
    rows: list[Sequence[Any]],
    a: int,
    b: int,
    n_orders: int,
    random_state: np.random.RandomState,
) -> tuple[Float64Array, Float64Array | None]:
    """Values of replacing row ``b`` of a table by row ``a``, and their standard errors.

    ``rows`` are the :func:`row_values` of the table; errors are None where the values are exact.
    """
    d = table.shape[1]
    differing = np.flatnonzero([not _equal(x, y) for x, y in zip(rows[a], rows[b], strict=True)])

    def score(sets: Any) -> Float64Array:
        sources = np.full((len(sets), d), b, dtype=np.int64)
        sources[:, differing] = np.where(sets, a, b)
        return score_mixed(ranker, table, sources)

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


def _check_one_row(name: str, table: Any, n_features: int) -> None:
    if table.shape != (1, n_features):
        raise ValueError(
            f"{name} must be one row of n_features={n_features} values, got shape {table.shape}. "
            "Pass X[i], or X[i:i + 1]."
        )


def _equal(x: Any, y: Any) -> bool:
    """Whether two values are the same; two missing ones are."""
    return x is y or bool(x == y) or (x != x and y != y)
