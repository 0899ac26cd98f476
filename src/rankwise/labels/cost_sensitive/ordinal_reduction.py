"""Cost-sensitive classification of ordered classes by thresholds [1]_.

Every threshold k asks each row whether a class above it would be cheaper, with the weight
``|c_k - c_{k+1}|`` from the row's costs; a weighted binary classifier per threshold answers, and
the predicted class has as many below it as there are positive answers.

Composition: costs of neighbouring classes x weighted binary classifier per threshold x count.

References
----------
.. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rankwise.checks.classes import (
    OrderedLabels,
    checked_classes,
    order_labels,
    ordinal_labels,
)
from rankwise.checks.costs import ClassCosts, CostTable
from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions
from rankwise.labels.cost_sensitive.contrasts import threshold_contrasts
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.losses.ordinal_costs import cost_matrix
from rankwise.typing import ArrayLike, Float64Array, Matrix


class OrdinalReduction(BinaryQuestions, CostSensitiveClassifier):
    """Thresholds between ordered classes weighted by ordinal costs, any weighted classifier.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each threshold without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Cloned for every threshold and fitted on the rows whose costs of the two neighbouring
        classes differ, labels 0 (the lower class is cheaper) and 1, with ``sample_weight``. None:
        least squares on -1 and 1 with a ridge, in closed form.
    alpha : float > 0, default=1.0
        Of the ridge where ``estimator`` is None: multiplies the squared norm against the weighted
        sum over rows.
    n_jobs : int, optional
        Thresholds at a time, in threads; None: one for each CPU, -2: one less, and so on.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Needed if y holds text and the costs do not name the classes;
        numbers, booleans and ordered categoricals have an order of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        In ascending order: numbers as they sort, others as ``classes``, an ordered categorical or
        the costs declare.
    estimators_ : list of n_classes - 1 classifiers
        None where all rows answer alike, or none asks; not without an ``estimator``.
    constants_ : ndarray of shape (n_classes - 1,), float64
        That answer: 0, 1, or 1/2 where no row asks; NaN where there is a classifier.
    coef_, intercept_ : ndarrays of shape (n_classes - 1, n_features) and (n_classes - 1,)
        Of the least squares where ``estimator`` is None; positive for classes above.
    score_name_ : str

    Notes
    -----
    Without costs the absolute ones are taken, the number of classes between the true and the
    predicted one: weights are then 1, and the answers those of separate questions "above k?". For
    costs that are V-shaped in each row (they do not fall with the distance from the true class) a
    row's cost is at most the weight of the questions answered wrongly, if its answers fall with the
    threshold or its costs are convex [1]_; other costs are taken as they are, without that bound.

    Differs from :class:`OrdinalSVM` and :class:`ORBoost`, which have the same weights: one score
    with thresholds answers all questions there, a classifier of its own each of them here, and the
    answers of a row need not fall with the threshold.

    References
    ----------
    .. [1] Li & Lin, "Ordinal regression by extended binary classification", NIPS 19 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import OrdinalReduction
    >>> X, y = np.arange(9.0).reshape(-1, 1), [0, 0, 0, 1, 1, 1, 2, 2, 2]
    >>> costs = [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    >>> OrdinalReduction().fit(X, y, costs=costs).predict([[0.0], [4.0], [8.0]])
    array([0, 1, 2])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BinaryQuestions._parameter_constraints,
        "classes": ["array-like", None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float = 1.0,
        n_jobs: int | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.classes = classes

    def _read_classes(self, y: ArrayLike, n_samples: int, costs: Any) -> OrderedLabels:
        named = getattr(costs, "classes", None)
        if named is None:
            return ordinal_labels(y, n_samples, self.classes)
        if self.classes is not None and checked_classes(self.classes).tolist() != named.tolist():
            raise ValueError(
                f"classes must be those that the costs name, {named.tolist()}, got "
                f"{np.asarray(self.classes).tolist()}. Drop classes."
            )
        return order_labels(y, n_samples)

    def _default_costs(self, n_classes: int) -> ClassCosts:
        return ClassCosts(cost_matrix("absolute", n_classes))

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        self._ask(X, threshold_contrasts(table, sample_weight))

    def _class_scores(self, X: Matrix) -> Float64Array:
        """Minus the squared distance from the number of positive answers, moved by their sum."""
        chosen, confidence = self._answers(X)
        total = confidence.sum(axis=1)
        position = chosen.sum(axis=1) + total / (3.0 * (np.abs(total) + 1.0))
        return -((position[:, None] - np.arange(len(self.classes_))) ** 2)
