"""What every cost-sensitive classifier shares: forms of the costs, decisions, score, saving."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.classes import OrderedLabels, order_labels
from rankwise.checks.costs import ClassCosts, CostTable, cost_table
from rankwise.checks.rows import check_fit, check_rows
from rankwise.metrics.ordinal.cost import mean_cost
from rankwise.persistence import Save
from rankwise.runtime.finite import FiniteResults
from rankwise.structure.rules import TRAINED_ON, Labels, Rule, Word
from rankwise.typing import ArrayLike, Float64Array, FrameLike, Matrix

SCORE_NAME = "-cost"


class CostSensitiveClassifier(FiniteResults, Save, ClassifierMixin, BaseEstimator):
    """Base of all classifiers that learn from costs of classes.

    A subclass takes ``estimator`` and ``n_jobs``, defines ``_fit(X, table, sample_weight)`` on
    checked rows and ``_class_scores(X)``, whose arg max is the prediction. ``fit`` and ``score``
    request ``costs`` and ``sample_weight`` from scikit-learn's metadata routing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Those that the costs name, else those of y as they sort.
    score_name_ : str
    """

    _structure: ClassVar[dict[str, Rule]] = {
        **TRAINED_ON,
        "classes_": Labels("n_classes"),
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
        """Train on rows and what each class would cost them.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True classes: numbers, strings, booleans, or an ordered categorical.
        costs : array-like, ClassCosts, RowCosts or None
            Shape (n_samples, n_classes): costs of every row; (n_classes, n_classes): by true and
            predicted class. Columns are the classes of y as they sort, or those that
            :class:`~rankwise.labels.RowCosts` and :class:`~rankwise.labels.ClassCosts` name. An
            array of as many rows as classes may be both: use these. None: every wrong class
            costs 1, or as the class says.
        sample_weight : array-like of shape (n_samples,), optional
            A weight means repetition of the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For wrong input, naming it.
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
                f"y must hold classes that the costs name, got {unknown!r}. "
                f"Classes: {table.classes.tolist()}."
            )
        self.classes_ = table.classes
        self.score_name_ = SCORE_NAME
        self._fit(data.X, table, data.sample_weight)
        return self

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Scores of the classes, higher is better.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            Two classes: the second one's score less the first one's.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row: that of the highest score, the first of equal ones.

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
        """Minus the mean cost of the predicted classes.

        Parameters
        ----------
        X : array-like or CSR of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        costs : array-like, ClassCosts, RowCosts or None
            As for ``fit``, columns in the order of ``classes_`` where they are not named; with
            None too, whatever ``fit`` got.

        Returns
        -------
        float
            Larger is better.
        """
        predicted, classes = self.predict(X), self.classes_
        costs = self._default_costs(len(classes)) if costs is None else costs
        return -mean_cost(y, predicted, costs, classes=classes, sample_weight=sample_weight)

    def _read_classes(self, y: ArrayLike, n_samples: int, costs: Any) -> OrderedLabels:
        """Classes of y, and the class number of every row."""
        return order_labels(y, n_samples)

    def _default_costs(self, n_classes: int) -> ClassCosts | None:
        """Costs where none are given; None: 1 for every wrong class."""
        return None

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit.")

    def _class_scores(self, X: Matrix) -> Float64Array:
        raise TypeError(f"{type(self).__name__} must define _class_scores.")

    def _scores(self, X: FrameLike) -> Float64Array:
        """Scores of unchecked rows, (n_samples, n_classes)."""
        check_is_fitted(self)
        tags = self.__sklearn_tags__().input_tags
        rows = check_rows(self, X, accept_sparse=tags.sparse, allow_nan=tags.allow_nan)
        return self._class_scores(rows)
