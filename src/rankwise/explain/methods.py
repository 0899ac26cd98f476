"""Which way of sharing out scores fits an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def score_trees(estimator: Any) -> list[tuple[Any, Float64Array]] | None:
    """Trees whose node scores add up to the score, None of an estimator without."""
    trees = getattr(estimator, "score_trees", None)
    return None if trees is None else trees()
