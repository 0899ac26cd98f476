"""Base of all cost-sensitive classifiers: cost formats, decisions, score and saving."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.classes import OrderedLabels, order_labels
from rankwise.checks.cost_tables import ClassCosts, CostTable, cost_table
from rankwise.checks.rows import check_fit, check_rows
from rankwise.metrics.measures.confusion_matrix import mean_cost
from rankwise.persistence import Save
from rankwise.runtime.finite import FiniteResults
from rankwise.runtime.scikit_learn import BaseEstimator, ClassifierMixin
from rankwise.structure.state_rules import TRAINED_ON, ClassLabels, Rule, Word
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

SCORE_NAME = "-cost"


class CostSensitiveClassifier(FiniteResults, Save, ClassifierMixin, BaseEstimator):
    """Base of all classifiers that are trained on class costs.

    A subclass accepts ``estimator`` and ``n_jobs``. It defines ``_fit(X, table, sample_weight)``
    for checked rows, and ``_class_scores(X)``; the class of the highest score is predicted. ``fit``
    and ``score`` request ``costs`` and ``sample_weight`` from scikit-learn's metadata routing.
    ``classes_`` holds the classes named by the costs, otherwise the sorted classes of y;
    ``score_name_`` is the name of the measure that ``score`` returns.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "classes_": ClassLabels("n_classes"),
        "score_name_": Word(),
    }

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"costs": True, "sample_weight": True}
    __metadata_request__score: ClassVar[dict[str, Any]] = {"costs": True, "sample_weight": True}

    estimator: Any
    n_jobs: int | None
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_base = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.sparse = of_base is None or of_base.sparse
        tags.input_tags.allow_nan = of_base is not None and of_base.allow_nan
        return tags

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        costs: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on rows and on the cost of each class for each row.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True classes: numbers, strings, booleans, or an ordered categorical.
        costs : array-like, ClassCosts, RowCosts or None
            Costs by row and predicted class, shape (n_samples, n_classes), or by true and predicted
            class, shape (n_classes, n_classes). Columns are the sorted classes of y, or the classes
            named by :class:`~rankwise.labels.RowCosts` or :class:`~rankwise.labels.ClassCosts`. Use
            one of these if there are as many rows as classes, because an array is then ambiguous.
            None: the default costs of the estimator, usually 1 for every wrong class.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of weight w counts as w copies of it.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        tags = self.__sklearn_tags__().input_tags
        data = check_fit(
            self,
            X,
            y,
            None,
            sample_weight,
            accept_sparse=tags.sparse,
            allow_nan=tags.allow_nan,
            read_classes=partial(self._read_classes, costs=costs),
        )
        assert data.classes is not None
        if costs is None:
            costs = self._default_costs(len(data.classes))
        table = cost_table(costs, data.y.astype(np.int64), data.classes, data.kept)
        if (table.codes < 0).any():
            unknown = data.classes[data.y[table.codes < 0].astype(np.int64)].tolist()[0]
            raise ValueError(
                f"y must contain only classes named by costs, got {unknown!r}. "
                f"Classes of costs: {table.classes.tolist()}."
            )
        self.classes_ = table.classes
        self.score_name_ = SCORE_NAME
        self._fit(data.X, table, data.sample_weight)
        return self

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Scores of the classes; higher is better.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            For two classes: score of the second class minus score of the first class.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of the highest score for every row; ties go to the first class.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    def score(
        self,
        X: FrameLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        costs: Any = None,
    ) -> float:
        """Negative mean cost of the predicted classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0.
        costs : array-like, ClassCosts, RowCosts or None
            Costs as in ``fit``; unnamed columns are in the order of ``classes_``. None: the default
            costs, even if ``fit`` received other costs.

        Returns
        -------
        float
            Larger is better.

        Raises
        ------
        ValueError
            If y holds fractions, or its length is not that of X.
        """
        predicted, classes = self.predict(X), self.classes_
        order_labels(y, len(predicted))  # raises for numbers that are not classes
        costs = self._default_costs(len(classes)) if costs is None else costs
        return -mean_cost(y, predicted, costs, classes=classes, sample_weight=sample_weight)

    def _read_classes(self, y: ArrayLike, n_samples: int, costs: Any) -> OrderedLabels:
        """Classes of y and class number of every row."""
        return order_labels(y, n_samples)

    def _default_costs(self, n_classes: int) -> ClassCosts | None:
        """Costs if none are given. None: 1 for every wrong class."""
        return None

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit.")

    def _class_scores(self, X: Matrix) -> Float64Array:
        raise TypeError(f"{type(self).__name__} must define _class_scores.")

    def _scores(self, X: FrameLike) -> Float64Array:
        """Scores of unchecked rows, shape (n_samples, n_classes)."""
        check_is_fitted(self)
        tags = self.__sklearn_tags__().input_tags
        rows = check_rows(self, X, accept_sparse=tags.sparse, allow_nan=tags.allow_nan)
        return self._class_scores(rows)
