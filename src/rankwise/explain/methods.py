"""Which way of sharing out scores fits an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from rankwise.metrics.predicting import innermost
from rankwise.typing import Float64Array


def is_additive(estimator: Any) -> bool:
    """Whether scores are sums of functions of single features: linear models and stumps.

    Estimators say so by ``additive_scores``; one with ``coef_`` of the length of its features is
    linear.
    """
    if estimator is not innermost(estimator):
        return False
    stated = getattr(estimator, "additive_scores", None)
    if stated is not None:
        return bool(stated)
    coef = getattr(estimator, "coef_", None)
    return coef is not None and np.shape(coef) == (estimator.n_features_in_,)


def check_scores(estimator: Any) -> None:
    """Raise where the estimator has no scores to rank by: a classifier that is not ordinal."""
    last = innermost(estimator)
    if hasattr(last, "rank_score") or not hasattr(last, "__sklearn_tags__"):
        return
    if is_classifier(last):
        raise TypeError(
            f"ranker must have scores to rank by, got the classifier {type(last).__name__}, whose "
            "classes have no order to explain. Pass a ranker, an ordinal estimator, a regressor, "
            "or a pipeline or search that ends in one."
        )


def score_trees(estimator: Any) -> list[tuple[Any, Float64Array]] | None:
    """Trees whose node scores add up to the score, None of an estimator without."""
    trees = getattr(estimator, "score_trees", None)
    return None if trees is None else trees()
