"""Gradient boosting: every tree follows the derivatives of a loss at the scores of those before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankwise.losses.gradient_loss import GradientLoss
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.trees.boosted.growth import TreeGrower
from rankwise.trees.boosted.nodes import GradientTree
from rankwise.trees.ensemble import TreeEnsemble
from rankwise.trees.score_tree import ScoreTree
from rankwise.typing import Float64Array, FloatArray, Int64Array


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows on which a measure is taken after every tree.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    staged : StagedMeasure
        Has measured the trees to go on from.
    """

    X: FloatArray
    staged: StagedMeasure


@dataclass(frozen=True, eq=False)
class Boosted:
    """The trees, and the gain of the splits of the new ones by feature, shape (n_features,)."""

    trees: TreeEnsemble
    gains: Float64Array


@dataclass(frozen=True, eq=False)
class Start:
    """Trees to go on from, and the scores that they give the training rows."""

    trees: tuple[ScoreTree, ...]
    scores: Float64Array


@dataclass(frozen=True)
class TreeBoosting:
    """Newton boosting of scores that start at 0.

    Attributes
    ----------
    n_estimators : int >= 1
        Those to go on from among them.
    learning_rate : float > 0
    early_stopping_rounds : int >= 1 or None
        Stop after so many trees without a better measure, and keep the trees up to the best.
    subsample : float in (0, 1]
        Share of the queries whose rows a tree follows.
    colsample : float in (0, 1]
        Share of the columns that a tree may split.
    seed : int
        Each tree draws by it and by its number.
    """

    n_estimators: int
    learning_rate: float
    early_stopping_rounds: int | None = None
    subsample: float = 1.0
    colsample: float = 1.0
    seed: int = 0

    def fit(
        self,
        loss: GradientLoss,
        grower: TreeGrower,
        n_features: int,
        start: Start,
        validation: Validation | None = None,
    ) -> Boosted:
        """Grow trees until none has a split, or the measure on the validation rows stops them."""
        scores = start.scores.copy()
        gradients, hessians = np.empty(len(scores)), np.empty(len(scores))
        grown, importances = list(start.trees), []
        for number in range(len(grown), self.n_estimators):
            loss.write(scores, gradients, hessians, number)
            rng = np.random.default_rng([self.seed, number])
            inside, others, columns = self._draw(rng, loss.indptr, n_features)
            tree = grower.grow(gradients, hessians, self.learning_rate, inside, columns, rng)
            if len(tree.leaf_values) < 2:
                chance = loss.draws or grower.draws
                if inside is None and columns is None and not chance:
                    break
                continue
            tree.add_to(scores)
            if others is not None:
                grower.add_to_others(tree, scores, others)
            grown.append(tree.tree)
            importances.append(_gains(tree, n_features))
            if validation is not None:
                validation.staged.add(TreeEnsemble.of([tree.tree]).score(validation.X))
                if self._stops(validation):
                    break
        n_new = len(importances)
        if validation is not None and self.early_stopping_rounds is not None:
            n_new = max(0, validation.staged.best - len(start.trees))
        gains = np.sum(importances[:n_new], axis=0) if n_new else np.zeros(n_features)
        return Boosted(TreeEnsemble.of(grown[: len(start.trees) + n_new]), gains)

    def _draw(
        self, rng: np.random.Generator, indptr: Int64Array, n_features: int
    ) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None, NDArray[np.bool_] | None]:
        """Rows that a tree follows, the others, and columns that it may split; None: all."""
        inside = others = columns = None
        if self.subsample < 1:
            drawn = _drawn(rng, self.subsample, len(indptr) - 1)
            follows = np.repeat(drawn, np.diff(indptr))
            inside = np.flatnonzero(follows).astype(np.int32)
            others = np.flatnonzero(~follows).astype(np.int32)
        if self.colsample < 1:
            columns = _drawn(rng, self.colsample, n_features)
        return inside, others, columns

    def _stops(self, validation: Validation) -> bool:
        rounds = self.early_stopping_rounds
        return rounds is not None and validation.staged.stages_since_best >= rounds


def _drawn(rng: np.random.Generator, share: float, n: int) -> NDArray[np.bool_]:
    """A share of n things, at least one."""
    drawn = np.zeros(n, dtype=bool)
    drawn[rng.choice(n, max(1, round(share * n)), replace=False)] = True
    return drawn


def _gains(tree: GradientTree, n_features: int) -> Float64Array:
    inner = tree.tree.feature >= 0
    return np.bincount(tree.tree.feature[inner], tree.gain[inner], minlength=n_features)
