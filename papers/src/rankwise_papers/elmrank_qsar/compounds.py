"""Compounds with descriptors in [0, 1], and the paper's measures of scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from rankwise.datasets import load_qsar
from rankwise.metrics import evaluate
from rankwise.typing import Float64Array

# Table 4's measures, and the mean squared difference of Figure 2. Kendall's is tau-b; nDCG has the
# gain 2^y - 1 and the discount 1 / log2(1 + rank) over the whole list; compounds with equal scores
# rank in the order of the file.
MEASURES = {name: name for name in ("RankingError", "Pearson", "Tau", "Rho")}
MEASURES |= {"nDCG": "nDCG(ties=stable)", "MSD": "MSD"}


@dataclass(frozen=True, eq=False)
class Compounds:
    """The published split of one set, scaled.

    Attributes
    ----------
    X_train, y_train, X_test, y_test : ndarray
    """

    X_train: Float64Array
    y_train: Float64Array
    X_test: Float64Array
    y_test: Float64Array

    def measure(self, scores: Float64Array) -> dict[str, float]:
        """Every measure of scores of the test compounds."""
        found = evaluate(self.y_test, scores, None, list(MEASURES.values()))
        return {name: found[spec] for name, spec in MEASURES.items()}


@cache
def compounds(name: Any, *, by_train_alone: bool = False) -> Compounds:
    """A set with every descriptor scaled to [0, 1] over all compounds, or the training ones."""
    data = load_qsar(name)
    used = data.X[data.train] if by_train_alone else data.X
    low, high = used.min(axis=0), used.max(axis=0)
    X = (data.X - low) / np.where(high > low, high - low, 1.0)
    return Compounds(X[data.train], data.y[data.train], X[data.test], data.y[data.test])
