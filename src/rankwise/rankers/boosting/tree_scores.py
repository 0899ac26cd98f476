"""Rankers whose score is the sum of the leaf values of trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.runtime.threads import threads_asked
from rankwise.structure.rules import Instance, Number, Rule, booleans, require
from rankwise.trees.column_table import CategoricalInput
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Float64Array, FrameLike


class TreeScores(CategoricalInput, Ranker):
    """Base of rankers that sum trees; ``fit`` sets the attributes below and ``columns_``."""

    _structure: ClassVar[dict[str, Rule]] = {
        "trees_": Instance((TreeEnsemble,)),
        "has_missing_": booleans("n_features_in_"),
        "n_estimators_": Number("i", low=0),
    }

    trees_: TreeEnsemble
    has_missing_: NDArray[np.bool_]
    n_estimators_: int
    n_features_in_: int

    importance_type: Literal["gain", "split"]
    n_jobs: int | None

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each feature in the total gain or the number of splits."""
        check_is_fitted(self)
        trees = self.trees_
        inner = trees.feature >= 0
        gains = None if self.importance_type == "split" or trees.gain is None else trees.gain[inner]
        amounts = np.bincount(trees.feature[inner], gains, self.n_features_in_).astype(np.float64)
        return amounts / (amounts.sum() or 1.0)

    def predict(self, X: FrameLike) -> Float64Array:
        """Score of every row, shape (n_samples,), float64; higher ranks higher.

        If there was nothing to learn (no pair to order, no leaf to split), all scores are 0.
        """
        return self.tree_ensemble().score(self._check_rows(X), threads_asked(self.n_jobs))

    def staged_predict(self, X: FrameLike) -> Iterator[Float64Array]:
        """Scores of every row after each tree, with the final values of the trees.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,), float64
        """
        yield from self.tree_ensemble().staged_scores(self._check_rows(X))

    def tree_ensemble(self) -> TreeEnsemble:
        """The trees as flat arrays."""
        check_is_fitted(self)
        return self.trees_

    def _check_structure(self) -> None:
        n_trees = self.trees_.n_trees
        require(self.n_estimators_ == n_trees, "n_estimators_", f"be {n_trees}",
                self.n_estimators_)  # fmt: skip
        require(self.trees_.gain is not None, "trees_.gain", "be an array", self.trees_.gain)
        require(not self.trees_.zero_missing.any(), "trees_.zero_missing", "be False", "True")
        self.columns_.check_width(self.n_features_in_)
        self.trees_.check_categories(self.columns_.n_categories(self.n_features_in_))
