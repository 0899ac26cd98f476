"""The best split of a node by brute force, and trees grown with it: loops over every candidate.

Candidates come in the order that decides between equal gains: by column; missing values left
before right; by ascending threshold, the split of present from missing values last. Of a nominal
column all subsets are candidates, and the category of the lowest mean class is on the left.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

TIE = 1e-11  # of the node's impurity: more than rounding, less than what differs


def impurity(criterion, y, w, n_classes):
    """Impurity of rows; distances by a loop over all pairs of rows."""
    counts = np.bincount(y, w, n_classes)
    n = counts.sum()
    if not isinstance(criterion, str):
        return 0.5 * float(w @ np.asarray(criterion)[np.ix_(y, y)] @ w)
    if criterion == "rank":
        return 0.5 * float(w @ np.abs(np.subtract.outer(y, y)) @ w)
    if criterion == "gini":
        return sum(c * (n - c) / n for c in counts)
    if criterion == "entropy":
        return -sum(c * np.log2(c / n) for c in counts if c > 0)
    assert criterion == "absolute_error"
    return min(float(w @ np.abs(y - k)) for k in range(n_classes))


@dataclass(frozen=True)
class Candidate:
    """A split: which rows go left, and how that is said."""

    feature: int
    left: np.ndarray
    threshold: float
    missing_left: bool | None
    categories: frozenset[int] | None


def candidates(X, y, w, n_categories):
    """Every split of the rows of a node."""
    for j, column in enumerate(X.T):
        missing = np.isnan(column)
        values = np.unique(column[~missing])
        if len(values) == 0:
            continue
        if n_categories[j]:
            yield from subsets(j, column, y, w)
            continue
        sides = (True, False) if missing.any() else (None,)
        for side in sides:
            for low, high in itertools.pairwise(values):
                left = (column <= low) | (missing & bool(side))
                yield Candidate(j, left, (low + high) / 2, side, None)
        if missing.any():
            yield Candidate(j, ~missing, np.inf, False, None)


def subsets(j, column, y, w):
    """Every split of a nominal column, missing values as a category of their own."""
    present = np.unique(column[~np.isnan(column)])
    mean = [np.average(y[column == c], weights=w[column == c]).round(9) for c in present]
    items = [present[i] for i in np.lexsort((present, mean))]
    if np.isnan(column).any():
        items.append(np.nan)
    for chosen in range(2 ** (len(items) - 1) - 1):
        left = [items[0]] + [c for b, c in enumerate(items[1:]) if chosen >> b & 1]
        goes = np.isin(column, left) | (np.isnan(column) & any(np.isnan(left)))
        side = any(np.isnan(left)) if np.isnan(items[-1]) else None
        codes = frozenset(int(c) for c in left if not np.isnan(c))
        yield Candidate(j, goes, np.nan, side, codes)


def best_split(X, y, w, n_classes, criterion, n_categories, least=0.0):
    """The first of the candidates that gain most, and its gain; None where none gains anything."""
    whole = impurity(criterion, y, w, n_classes)
    best, best_gain = None, 0.0
    for split in candidates(X, y, w, n_categories):
        left = split.left
        if min(w[left].sum(), w[~left].sum()) < least:
            continue
        gain = whole - sum(impurity(criterion, y[s], w[s], n_classes) for s in (left, ~left))
        if gain > best_gain + TIE * whole:
            best, best_gain = split, gain
    return best, best_gain
