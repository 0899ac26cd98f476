"""Choice of the method that computes contributions for an estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from rankwise.explain.tree_games import TreeGames
from rankwise.prediction import innermost
from rankwise.typing import FloatArray

Game = Literal["interventional", "tree_path_dependent"]
Encode = Callable[[Any], FloatArray]
GAMES = ("interventional", "tree_path_dependent")

# Steps of scikit-learn whose column j is a function of column j alone.
_BY_COLUMN = {
    "Binarizer", "MaxAbsScaler", "MinMaxScaler", "OrdinalEncoder", "PowerTransformer",
    "QuantileTransformer", "RobustScaler", "StandardScaler",
}  # fmt: skip


def is_additive(estimator: Any) -> bool:
    """Whether scores are sums of functions of single features, as in linear models and stumps.

    Such estimators set ``additive_scores``. An estimator with one ``coef_`` per feature is linear.
    """
    if estimator is not innermost(estimator):
        return False
    stated = getattr(estimator, "additive_scores", None)
    if stated is not None:
        return bool(stated)
    coef = getattr(estimator, "coef_", None)
    return coef is not None and np.shape(coef) == (estimator.n_features_in_,)


def check_scores(estimator: Any) -> None:
    """Raise TypeError if the estimator is a classifier without ordered classes, hence no scores."""
    last = innermost(estimator)
    if hasattr(last, "rank_score") or not hasattr(last, "__sklearn_tags__"):
        return
    if is_classifier(last):
        raise TypeError(
            f"ranker must have scores to rank by, got the classifier {type(last).__name__}, whose "
            "classes have no order to explain. Pass a ranker, an ordinal estimator, a regressor, "
            "or a pipeline or search that ends in one."
        )


def tree_games(estimator: Any) -> tuple[TreeGames, Encode] | None:
    """Trees that compute the scores, and a function that encodes tables; None for other models.

    A pipeline qualifies if the steps before the last map each column separately. The contribution
    of a column is then that of its original feature.
    """
    steps = []
    while estimator is not innermost(estimator):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
            continue
        *before, (_, estimator) = estimator.steps
        steps += [step for _, step in before if step not in (None, "passthrough")]
    if not hasattr(estimator, "tree_ensemble") or not all(map(_keeps_columns_apart, steps)):
        return None

    def encode(X: Any) -> FloatArray:
        for step in steps:
            X = step.transform(X)
        return np.asarray(estimator.encoded_rows(X))

    return TreeGames.of(estimator.tree_ensemble()), encode


def check_game(feature_perturbation: str, is_known: bool) -> None:
    """Raise ValueError if the game is unknown or does not apply to the model (not ``is_known``)."""
    if feature_perturbation not in GAMES:
        raise ValueError(
            f"feature_perturbation must be one of {', '.join(GAMES)}, got {feature_perturbation!r}."
        )
    if feature_perturbation == "tree_path_dependent" and not is_known:
        raise ValueError(
            "feature_perturbation='tree_path_dependent' needs a model of trees, got another model. "
            "Pass feature_perturbation='interventional'."
        )


def _keeps_columns_apart(step: Any) -> bool:
    kind = type(step)
    return kind.__module__.startswith("sklearn.preprocessing.") and kind.__name__ in _BY_COLUMN
