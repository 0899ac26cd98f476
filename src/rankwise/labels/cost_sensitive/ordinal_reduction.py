"""Cost-sensitive classification of ordered classes by thresholds [1]_.

For every threshold k, a binary classifier learns whether the class above it is cheaper for a row
than the class below. The weight is ``|c_k - c_{k+1}|`` with the row's costs c. The predicted class
number is the number of positive answers.

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
    check_classes,
    order_labels,
    ordinal_labels,
)
from rankwise.checks.cost_tables import ClassCosts, CostTable
from rankwise.labels.cost_sensitive.binary_questions import BinaryQuestions
from rankwise.labels.cost_sensitive.contrasts import threshold_contrasts
from rankwise.labels.cost_sensitive.cost_sensitive_classifier import CostSensitiveClassifier
from rankwise.losses.ordinal_costs import cost_matrix
from rankwise.typing import ArrayLike, Float64Array, Matrix


class OrdinalReduction(BinaryQuestions, CostSensitiveClassifier):
    """Cost-sensitive classifier for ordered classes: one weighted binary classifier per threshold.

    Minimises ``sum_n w_n (t_n - x_n'beta - b)^2 + alpha |beta|^2`` for each threshold without an
    ``estimator``: a sum over its rows, with t of -1 or 1 and an unpenalised intercept b.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Classifier that is cloned for every threshold and fitted with ``sample_weight`` on the rows
        whose costs of the two adjacent classes differ. Label 0 means that the lower class is
        cheaper, 1 that the upper class is. None: ridge regression on -1 and 1, in closed form.
    alpha : float > 0, default=1.0
        L2 penalty if ``estimator`` is None: factor of the squared norm.
    n_jobs : int, optional
        Number of thresholds fitted in parallel threads. None: one for each CPU; -2: one fewer, and
        so on.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text and the costs do not name the classes;
        numbers, booleans and ordered categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes in ascending order: sorted numbers, or the order that ``classes``, an ordered
        categorical or the costs declare.
    estimators_ : list of n_classes - 1 classifiers
        Only if ``estimator`` is given. None for a threshold without rows, or whose rows all have
        the same label.
    constants_ : ndarray of shape (n_classes - 1,), float64
        Constant answer of a threshold without a classifier: 0, 1, or 1/2 if the threshold has no
        rows. NaN for a threshold with a classifier.
    coef_, intercept_ : ndarrays of shape (n_classes - 1, n_features) and (n_classes - 1,)
        Ridge regression of every threshold, only if ``estimator`` is None. Positive values favour
        the classes above.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Without ``costs``, absolute costs are used: the distance in ranks between the true and the
    predicted class. All weights are then 1, and each classifier learns "is the class above k?".
    Costs are V-shaped if they do not decrease with the distance from the true class. With V-shaped
    costs, the cost of a row is at most the total weight of the wrong answers, if the answers
    decrease with the threshold or the costs are convex [1]_. Other costs are accepted, but the
    bound does not hold for them.

    :class:`OrdinalSVM` and :class:`ORBoost` use the same weights but a single score with
    thresholds. Here every threshold has its own classifier, so the answers of a row need not
    decrease with the threshold.

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
        if self.classes is not None and check_classes(self.classes).tolist() != named.tolist():
            raise ValueError(
                f"classes must equal the classes named by costs, {named.tolist()}, got "
                f"{np.asarray(self.classes).tolist()}. Remove classes."
            )
        return order_labels(y, n_samples)

    def _default_costs(self, n_classes: int) -> ClassCosts:
        return ClassCosts(cost_matrix("absolute", n_classes))

    def _fit(self, X: Matrix, table: CostTable, sample_weight: Float64Array | None) -> None:
        self._ask(X, threshold_contrasts(table, sample_weight))

    def _class_scores(self, X: Matrix) -> Float64Array:
        """Negative squared distance to the number of positive answers, adjusted by confidences."""
        chosen, confidence = self._answers(X)
        total = confidence.sum(axis=1)
        position = chosen.sum(axis=1) + total / (3.0 * (np.abs(total) + 1.0))
        return -((position[:, None] - np.arange(len(self.classes_))) ** 2)
