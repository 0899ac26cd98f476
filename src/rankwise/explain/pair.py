"""Explain why row A ranks above row B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import PairExplanation
from rankwise.explain.games import MOST_ENUMERATED, enumerate_sets, sample_orders, single
from rankwise.explain.methods import check_game, check_scores, is_additive, tree_games
from rankwise.explain.table_rows import (
    convert_to_arrays,
    convert_to_table,
    join,
    names_of,
    row_values,
    score_mixed,
)
from rankwise.prediction import scores_of
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
    """Contributions of the features to the difference of two scores.

    Parameters
    ----------
    ranker : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    xa, xb : array-like of shape (n_features,), or table of one row
        The two rows; rows of frames (``frame[i : i + 1]``, in pandas also ``frame.iloc[i]``) if
        the estimator was fitted on frames.
    feature_perturbation : {"interventional", "tree_path_dependent"}, default="interventional"
        "interventional": Shapley values of replacing B's features by A's; equal features get 0.
        "tree_path_dependent", for trees: difference of the values of A and B from
        :func:`explain_scores`; equal features may get a contribution.
    n_orders : int, default=100
        Number of random orders of the features, each also reversed, if contributions are sampled.
    random_state : int, RandomState or None, default=0
        Seed for drawing the orders.

    Returns
    -------
    PairExplanation
        ``values`` add up to the difference of the scores.

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If a table does not hold one row with the number of features of the fit, or path-dependent
        values are requested for a model without trees.

    Notes
    -----
    Contributions are exact for every sum of trees (ours, and those of LightGBM, XGBoost and
    CatBoost), linear models, powers of features, sums of stumps, and if at most 10 features differ.
    Others are sampled, with standard errors. A pipeline that ends in trees is treated like its last
    step if the steps before it are scikit-learn's scalers, PowerTransformer, QuantileTransformer,
    Binarizer or OrdinalEncoder. If a pipeline ends in an additive model and its steps transform
    features one by one, all orders give the same result, so the errors are 0.
    Trees: O(nodes), or O(nodes D) path-dependent for D features on the longest path.
    Additive models: d + 1 mixed rows; sampled contributions: ``2 n_orders (d + 1)``.
    """
    check_is_fitted(ranker)
    check_scores(ranker)
    a, b = convert_to_table(xa), convert_to_table(xb)
    _check_one_row("xa", a, getattr(ranker, "n_features_in_", a.shape[1]))
    _check_one_row("xb", b, a.shape[1])
    with convert_to_arrays(ranker, a, b) as tables:
        row_a, row_b = (*row_values(a, tables[0]), *row_values(b, tables[1]))
        both = join(*tables)
        scores = scores_of(ranker, both)
        values, error = _share_difference(
            ranker, both, feature_perturbation, n_orders, random_state
        )
    names = names_of(ranker, a)
    return PairExplanation(names, values, float(scores[0]), float(scores[1]), row_a, row_b, error)


def _share_difference(
    ranker: Any, both: Any, feature_perturbation: str, n_orders: int, random_state: Any
) -> tuple[Float64Array, Float64Array | None]:
    """Contributions to the difference of the two rows of a table, and their standard errors."""
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
    """Contributions when row ``a`` of a table replaces row ``b``, and their standard errors.

    ``rows`` are the :func:`row_values` of the table; errors are None if the values are exact.
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
        values[differing] = enumerate_sets(score, players)
    else:
        error = np.zeros(d)
        values[differing], error[differing] = sample_orders(score, players, n_orders, random_state)
    return values, error


def _check_one_row(name: str, table: Any, n_features: int) -> None:
    if table.shape != (1, n_features):
        raise ValueError(
            f"{name} must be one row of n_features={n_features} values, got shape {table.shape}. "
            "Pass X[i], or X[i:i + 1]."
        )


def _equal(x: Any, y: Any) -> bool:
    """Whether two values are equal; missing values are equal to each other."""
    return x is y or bool(x == y) or (x != x and y != y)
