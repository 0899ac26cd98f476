"""Class numbers for meta-estimators that would sort class names alphabetically."""

from __future__ import annotations

from rankwise.checks.classes import ordinal_labels
from rankwise.typing import ArrayLike, Int64Array


def ordinal_codes(y: ArrayLike, classes: ArrayLike | None = None) -> Int64Array:
    """Position of every label among its ordered classes, from 0 for the lowest.

    scikit-learn's ``BaggingClassifier``, ``VotingClassifier``, ``StackingClassifier`` and
    ``cross_val_predict`` of probabilities number classes in alphabetical order, and
    ``AdaBoostClassifier`` drops the order of a categorical, before an ordinal estimator sees them.
    Pass codes to these.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Text, numbers or an ordered categorical.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. None: those of an ordered categorical, or numbers as they sort.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        ``numpy.asarray(classes)[codes]`` gives the labels back.

    Raises
    ------
    ValueError
        If y is text without an order, or a label is missing or none of the classes.

    Examples
    --------
    >>> from rankwise.ordinal import ordinal_codes
    >>> ordinal_codes(["good", "poor", "fair"], ["poor", "fair", "good"])
    array([2, 0, 1])
    """
    return ordinal_labels(y, classes=classes).codes
