"""Importances of features by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rankwise.explain.explanation import SHOWN, RankingExplanation, ScoreExplanation
from rankwise.explain.table_rows import names_of
from rankwise.prediction import innermost
from rankwise.runtime.shown_text import join_lines
from rankwise.typing import Float64Array


@dataclass(frozen=True, eq=False)
class FeatureImportances:
    """Importance of each feature to a model.

    Attributes
    ----------
    names : list of str
        Names of the features, in the order of the columns.
    values : ndarray of shape (n_features,), float64
        Non-negative importances.
    source : str
        Origin of the values, such as ``feature_importances_``.
    """

    names: list[str]
    values: Float64Array
    source: str

    def ranked(self) -> list[tuple[str, float]]:
        """Names and values, largest first; ties in the order of the columns."""
        order = np.argsort(-self.values, kind="stable").tolist()
        return [(self.names[j], float(self.values[j])) for j in order]

    def text(self, most: int = SHOWN) -> str:
        """Table of the ``most`` largest importances."""
        shown = self.ranked()[:most]
        width = max([len("feature"), *(len(name) for name, _ in shown)])
        lines = [f"{'feature':<{width}}   {self.source}"]
        lines += [f"{name:<{width}}   {value:.4g}" for name, value in shown]
        if len(self.names) > most:
            lines.append(f"{len(self.names) - most} others")
        return join_lines(lines)

    def __str__(self) -> str:
        return self.text()


def feature_importances(model: Any) -> FeatureImportances:
    """Importances of the features of a fitted model or of an explanation, with their names.

    Parameters
    ----------
    model : fitted estimator, RankingExplanation or ScoreExplanation
        Source of the importances. For an estimator: ``feature_importances_``, or absolute weights
        in ``coef_`` (one per feature), which depend on the scale of the columns. For a pipeline or
        a search: those of the last step, with the names from the previous steps. For an
        explanation of any model: mean absolute contributions.

    Returns
    -------
    FeatureImportances

    Raises
    ------
    TypeError
        If the model has neither importances nor one weight per feature.

    Notes
    -----
    The docstring of each estimator defines its ``feature_importances_``: for example, shares of the
    gain of all splits for trees, and shares of the weights for stumps.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import RankingTree
    >>> from rankwise.explain import explain_scores, feature_importances
    >>> X = pd.DataFrame({"age": [3.0, 1.0, 4.0, 1.0], "price": [2.0, 7.0, 1.0, 8.0]})
    >>> tree = RankingTree().fit(X, [0, 1, 0, 1])
    >>> print(feature_importances(tree))
    feature   feature_importances_
    age       1
    price     0
    >>> feature_importances(explain_scores(tree, X)).ranked()
    [('age', 0.5), ('price', 0.0)]
    """
    if isinstance(model, RankingExplanation | ScoreExplanation):
        names = [str(name) for name in model.names]
        return FeatureImportances(names, model.importances(), "mean size of contributions")
    check_is_fitted(model)
    last = innermost(model)
    values, source = getattr(last, "feature_importances_", None), "feature_importances_"
    if values is None:
        values, source = np.abs(getattr(last, "coef_", np.nan)), "size of coef_"
        if values.shape != (getattr(last, "n_features_in_", None),):
            raise TypeError(
                f"model must have feature_importances_ or one weight per feature in coef_, got "
                f"{type(last).__name__}. Pass an explanation, as of explain_scores(model, X, X_bg)."
            )
    values = np.asarray(values, dtype=np.float64)
    return FeatureImportances(_names_at_the_end(model, last, len(values)), values, source)


def _names_at_the_end(model: Any, last: Any, n_features: int) -> list[str]:
    """Names of the columns that the final estimator receives."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    names: Sequence[Any] | None = None
    if model is not last:
        try:
            names = model[:-1].get_feature_names_out()
        except (AttributeError, ValueError):  # a step that gives its columns no names
            names = None
    if names is None or len(names) != n_features:
        return names_of(last, np.empty((0, n_features)))
    return [str(name) for name in names]
