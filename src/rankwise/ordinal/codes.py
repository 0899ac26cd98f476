"""Class numbers for meta-estimators that sort class names alphabetically."""

from __future__ import annotations

from rankwise.checks.classes import ordinal_labels
from rankwise.typing import ArrayLike, Int64Array


def ordinal_codes(y: ArrayLike, classes: ArrayLike | None = None) -> Int64Array:
    """Position of every label among its ordered classes, from 0 for the lowest.

    Some tools of scikit-learn change the classes before an ordinal estimator sees them.
    ``BaggingClassifier``, ``VotingClassifier``, ``StackingClassifier`` and ``cross_val_predict`` of
    probabilities number classes in alphabetical order; ``AdaBoostClassifier`` drops the order of a
    categorical. Pass codes to these tools.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels: text, numbers or an ordered categorical.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. None: the categories of an ordered categorical, or the sorted
        numbers.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        Class numbers. ``numpy.asarray(classes)[codes]`` recovers the labels.

    Raises
    ------
    ValueError
        If y is text without an order, or if a label is missing or is not one of the classes.

    Examples
    --------
    >>> from rankwise.ordinal import ordinal_codes
    >>> ordinal_codes(["good", "poor", "fair"], ["poor", "fair", "good"])
    array([2, 0, 1])
    """
    return ordinal_labels(y, classes=classes).codes
