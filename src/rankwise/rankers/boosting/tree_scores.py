"""Rankers whose score is the sum of the leaf values of trees; how a warm start continues them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.base import Ranker
from rankwise.runtime.threads import threads_asked
from rankwise.solvers.boosting.rounds import check_warm_start
from rankwise.structure.state_rules import Instance, Number, Rule, booleans, require
from rankwise.trees.column_table import CategoricalInput, ColumnTable
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


@dataclass(frozen=True, eq=False)
class EarlierTrees:
    """Trees of an earlier fit; none by default."""

    trees: TreeEnsemble = field(default_factory=lambda: TreeEnsemble.of([]))
    n_rounds: int = 0  # rounds of these trees; the draws of a round depend on its number
    # (n_features,); (1,) if there was no earlier fit.
    has_missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1, dtype=bool))
    biases: dict[int, float] = field(default_factory=dict)  # bias of each position in training
    n_features: int | None = None  # None: there was no earlier fit
    columns: ColumnTable | None = None  # categories, to whose codes the trees refer

    @classmethod
    def of(cls, ranker: TreeScores) -> EarlierTrees:
        """Trees of a ranker, none if it is not fitted."""
        fitted = vars(ranker)
        if "trees_" not in fitted:
            return cls()
        biases = {}
        if "positions_" in fitted:
            positions = fitted["positions_"].tolist()
            biases = dict(zip(positions, fitted["position_bias_"].tolist(), strict=True))
        n_rounds = fitted.get("n_rounds_", ranker.n_estimators_)  # models of 0.2.0 lack it
        return cls(
            ranker.trees_, n_rounds, ranker.has_missing_, biases, ranker.n_features_in_,
            ranker.columns_,
        )  # fmt: skip

    def continue_codes(self, columns: ColumnTable) -> ColumnTable:
        """The columns of new rows, with the codes that the trees refer to."""
        return (
            columns if self.columns is None else columns.continue_codes(self.columns, "warm_start")
        )

    def check(self, n_features: int, n_rounds: int) -> None:
        """Raise if the trees have other features or took more rounds; warn if they took as many."""
        if self.n_features is not None:
            check_warm_start(self.n_features, n_features, self.n_rounds, n_rounds)
