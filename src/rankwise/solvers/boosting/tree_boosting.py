"""Gradient boosting: every tree follows the derivatives of a loss at the scores of those before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.losses.lambda_gradients import LambdaGradients
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.trees.boosted.growth import TreeGrower
from rankwise.trees.ensemble import TreeEnsemble
from rankwise.typing import Float64Array, FloatArray


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows on which a measure is taken after every tree.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    staged : StagedMeasure
    """

    X: FloatArray
    staged: StagedMeasure


@dataclass(frozen=True, eq=False)
class Boosted:
    """The trees, and the gain of their splits by feature, shape (n_features,)."""

    trees: TreeEnsemble
    gains: Float64Array


@dataclass(frozen=True)
class TreeBoosting:
    """Newton boosting of scores that start at 0.

    Attributes
    ----------
    n_estimators : int >= 1
    learning_rate : float > 0
    early_stopping_rounds : int >= 1 or None
        Stop after so many trees without a better measure, and keep the trees up to the best.
    """

    n_estimators: int
    learning_rate: float
    early_stopping_rounds: int | None = None

    def fit(
        self,
        loss: LambdaGradients,
        grower: TreeGrower,
        n_samples: int,
        n_features: int,
        validation: Validation | None = None,
    ) -> Boosted:
        """Grow trees until none has a split, or the measure on the validation rows stops them."""
        scores = np.zeros(n_samples)
        gradients, hessians = np.empty(n_samples), np.empty(n_samples)
        grown, importances = [], []
        for _ in range(self.n_estimators):
            loss.write(scores, gradients, hessians)
            tree = grower.grow(gradients, hessians, self.learning_rate)
            if len(tree.leaf_values) < 2:
                break
            tree.add_to(scores)
            grown.append(tree.tree)
            inner = tree.tree.feature >= 0
            importances.append(
                np.bincount(tree.tree.feature[inner], tree.gain[inner], minlength=n_features)
            )
            if validation is not None:
                validation.staged.add(TreeEnsemble.of([tree.tree]).score(validation.X))
                if self.early_stopping_rounds is not None and (
                    validation.staged.stages_since_best >= self.early_stopping_rounds
                ):
                    break
        n_kept = len(grown)
        if validation is not None and self.early_stopping_rounds is not None:
            n_kept = validation.staged.best
        gains = np.sum(importances[:n_kept], axis=0) if n_kept else np.zeros(n_features)
        return Boosted(TreeEnsemble.of(grown[:n_kept]), gains)
