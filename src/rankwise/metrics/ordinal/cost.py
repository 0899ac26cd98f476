"""Mean cost of predicted classes, and a scorer that requests the costs."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import column_or_1d

from rankwise.checks.cost_tables import class_numbers, cost_table
from rankwise.checks.rows import check_weight
from rankwise.typing import ArrayLike


def mean_cost(
    y: ArrayLike,
    predicted: ArrayLike,
    costs: Any = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost of the predicted classes over the rows; smaller is better.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        True classes.
    predicted : array-like of shape (n_samples,)
        Predicted classes.
    costs : array-like, ClassCosts, RowCosts or None
        Costs by row, of shape (n_samples, n_classes), or by true and predicted class, of shape
        (n_classes, n_classes). If there are as many rows as classes, pass
        :class:`rankwise.labels.RowCosts` or :class:`rankwise.labels.ClassCosts`. None: 1 for every
        wrong class.
    classes : array-like of shape (n_classes,), optional
        Classes of the columns, such as an estimator's ``classes_``; classes named by the costs take
        precedence. None: the sorted labels and predicted classes.
    sample_weight : array-like of shape (n_samples,), optional
        Weight >= 0 of every row; a row of weight w counts as w rows.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If shapes do not match, a predicted class is not one of the classes, or costs are by class
        and a true class is not one of them.

    Examples
    --------
    >>> from rankwise.metrics import mean_cost
    >>> mean_cost(["a", "b", "b"], ["a", "a", "b"], [[0, 1], [5, 0]])
    1.6666666666666667
    """
    labels, guesses = column_or_1d(np.asarray(y)), column_or_1d(np.asarray(predicted))
    if len(labels) != len(guesses):
        raise ValueError(
            f"y must have n_samples={len(guesses)} entries, got {len(labels)} (inconsistent "
            "numbers of samples). Pass one label per row."
        )
    weight = None if sample_weight is None else check_weight(sample_weight, len(labels))
    if costs is None:
        return float(np.average(labels != guesses, weights=weight))
    named = getattr(costs, "classes", None)
    given = named if named is not None else classes
    known = np.unique(np.concatenate([labels, guesses])) if given is None else np.asarray(given)
    table = cost_table(costs, class_numbers(labels, known), known)
    place = class_numbers(guesses, known)
    if (place < 0).any():
        raise ValueError(
            f"predicted must hold classes of the costs, got {guesses[place < 0].tolist()[0]!r}. "
            f"Classes: {known.tolist()}."
        )
    return float(np.average(table.by_row[np.arange(len(place)), place], weights=weight))


class CostScorer(BaseEstimator):
    """Scorer of the negated mean cost; it requests the ``costs``."""

    # scikit-learn derives the requests from the signature of a method called score.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"costs": True, "estimator": UNUSED}

    def score(self, estimator: Any, X: Any, y: ArrayLike, *, costs: Any = None) -> float:
        """Negated mean cost of the estimator's predictions."""
        classes = getattr(estimator, "classes_", None)
        return -mean_cost(y, estimator.predict(X), costs, classes=classes)

    __call__ = score


def make_cost_scorer() -> CostScorer:
    """Make a scorer for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Returns
    -------
    scorer
        ``scorer(estimator, X, y, costs=costs)`` returns the negated :func:`mean_cost` of any
        classifier. The scorer requests ``costs``: with scikit-learn's metadata routing enabled, it
        receives the ``costs`` passed to ``fit`` of a search; costs by row are sliced like X.
        Without costs, every wrong class costs 1.

    Examples
    --------
    >>> make_cost_scorer()
    CostScorer()
    """
    return CostScorer()
