"""Scores of many reviewers measured in one call: MSD, M1D and pairwise misranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankwise import QueryGroups
from rankwise.metrics import evaluate
from rankwise.typing import Float64Array

MEASURES = ("MSD", "M1D", "Misranking")
# Items with equal features must have equal scores, whatever the rounding of a matrix product.
DECIMALS = 9


def measure(y: Sequence[Float64Array], scores: Sequence[Float64Array]) -> dict[str, Float64Array]:
    """Each measure for every reviewer, from one array of ratings and one of scores per reviewer.

    Returns
    -------
    dict of str to ndarray of shape (n_reviewers,)
        Ties of scores count in full against a pair of different ratings; misranking is NaN for
        a reviewer whose ratings are all equal.

    Examples
    --------
    >>> values = measure([np.array([1.0, 3.0])], [np.array([0.0, 0.0])])
    >>> {name: value.tolist() for name, value in values.items()}
    {'MSD': [2.0], 'M1D': [1.0], 'Misranking': [1.0]}
    """
    groups = QueryGroups.from_sizes([len(values) for values in y])
    rounded = np.round(np.concatenate(list(scores)), DECIMALS)
    return dict(evaluate(np.concatenate(list(y)), rounded, groups, MEASURES).per_query)
