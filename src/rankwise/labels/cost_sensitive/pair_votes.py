"""Votes of pairwise comparisons."""

from __future__ import annotations

import numpy as np

from rankwise.typing import Float64Array, Int64Array


def class_votes(
    chosen: Float64Array, confidence: Float64Array, pairs: Int64Array, n_classes: int
) -> Float64Array:
    """Votes (n_samples, n_classes) for every class, with ties broken by the sum of confidences.

    ``chosen`` and ``confidence`` are (n_samples, n_pairs): votes for the second class of the pair
    (0, 1, or 1/2), and the confidence in it. ``pairs`` (n_pairs, 2) holds the class numbers.

    For the sum s of the confidences of a class, ``s / (3 (|s| + 1))`` is added, as in
    scikit-learn's one-versus-one. The addition breaks ties and keeps the order of classes that
    differ by a vote.

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
