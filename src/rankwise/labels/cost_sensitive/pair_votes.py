"""Votes of pairwise comparisons."""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, Int64Array


def class_votes(
    chosen: Float64Array, confidence: Float64Array, pairs: Int64Array, n_classes: int
) -> Float64Array:
    """Votes for every class, with ties broken by the sum of confidences.

    Parameters
    ----------
    chosen : ndarray of shape (n_samples, n_pairs)
        Votes for the second class of the pair: 0, 1, or 1/2.
    confidence : ndarray of shape (n_samples, n_pairs)
        Confidence in the second class of the pair.
    pairs : ndarray of shape (n_pairs, 2), int64
        Class numbers of each pair.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of shape (n_samples, n_classes), float64
        Votes plus ``s / (3 (|s| + 1))`` for the sum s of the confidences, as in scikit-learn's
        one-versus-one. The addition breaks ties and keeps the order of classes that differ by a
        vote.

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[0, 1], [0, 2], [1, 2]])
    >>> class_votes(np.array([[1.0, 0.0, 1.0]]), np.array([[1.0, -1.0, 0.5]]), pairs, 3).round(2)
    array([[1.  , 1.11, 0.89]])
    """
    votes, total = np.zeros((2, len(chosen), n_classes))
    for question, (first, second) in enumerate(pairs.tolist()):
        votes[:, first] += 1.0 - chosen[:, question]
        votes[:, second] += chosen[:, question]
        total[:, first] -= confidence[:, question]
        total[:, second] += confidence[:, question]
    return votes + total / (3.0 * (np.abs(total) + 1.0))
