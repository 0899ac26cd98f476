"""Gradient boosting: every tree fits the derivatives of a loss at the current scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwise.losses.gradient_loss import BoostedLoss
from rankwise.metrics.measure import Measure
from rankwise.rows.fit_data import FitData
from rankwise.solvers.boosting.dropout import Dropout, score_without, shrink, sum_trees
from rankwise.solvers.boosting.row_sampling import GradientSampling, QuerySampling, Rows, draw_share
from rankwise.solvers.boosting.staged_measure import StagedMeasure
from rankwise.trees.boosted.tree_grower import TreeGrower
from rankwise.trees.ordered_rows import OrderedRows
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows on which a measure is computed after every tree."""

    rows: OrderedRows
    staged: StagedMeasure  # on these rows, already computed for the trees to continue from

    @classmethod
    def of(cls, data: FitData, measure: Measure, trees: TreeEnsemble) -> Validation:
        """Validation rows, measured first after each of the trees to continue from."""
        rows, staged = OrderedRows(data.X), StagedMeasure(measure, data.y, data.groups)
        for tree in trees.score_trees():
            staged.add(rows.scores(TreeEnsemble.of([tree])))
        return cls(rows, staged)


@dataclass(frozen=True, eq=False)
class Start:
    """Trees to continue from."""

    trees: TreeEnsemble
    # (n_samples,): of the training rows under these trees; updated in place as trees are added
    scores: Float64Array
    rows: OrderedRows | None  # the training rows, which dropout scores
    n_rounds: int  # number of rounds, which may have given fewer trees

    @classmethod
    def of(
        cls,
        trees: TreeEnsemble,
        rows: OrderedRows,
        n_threads: int,
        dropout: Dropout,
        n_rounds: int = 0,
    ) -> Start:
        """Start of boosting on rows; the rows are kept if trees may be dropped."""
        scores = rows.scores(trees, n_threads) if trees.n_trees else np.zeros(rows.n_rows)
        return cls(trees, scores, rows if dropout.rate > 0 else None, n_rounds)


@dataclass(frozen=True)
class TreeBoosting:
    """Newton boosting of scores that start at 0.

    The draws of a tree depend on the seed and the number of the round.
    """

    n_estimators: int  # total number of rounds, including those to continue from
    learning_rate: float
    # Number of trees without a better measure after which training stops; the best model is kept
    early_stopping_rounds: int | None
    sampling: QuerySampling | GradientSampling  # rows that a tree follows
    colsample: float  # share of the columns that a tree may split, in (0, 1]
    dropout: Dropout  # which trees are left out while the next one is grown
    seed: int

    def fit(
        self,
        loss: BoostedLoss,
        grower: TreeGrower,
        start: Start,
        validation: Validation | None = None,
    ) -> tuple[TreeEnsemble, int]:
        """Grow trees until one has no split or the validation measure stops training.

        Also returns the number of rounds up to the last tree that is kept, or of all rounds if none
        is dropped. It includes those of the start, and those whose draws gave no tree.
        """
        n_features, scores = grower.n_features, start.scores
        gradients, hessians = grower.derivatives()
        # Single trees, because dropout changes their values later on.
        grown = list(start.trees.score_trees())
        best, best_rounds, n_rounds = list(grown), start.n_rounds, self.n_estimators
        for number in range(start.n_rounds, self.n_estimators):
            # One generator a tree: a fit that continues draws what a single fit would have drawn.
            rng = np.random.default_rng([self.seed, number])
            dropped = self.dropout.drop(rng, len(grown))
            remaining = scores
            if dropped:
                assert start.rows is not None
                remaining = score_without(grown, dropped, start.rows, scores)
            # Into the buffers of the grower, which packs them in place.
            loss.write(remaining, gradients, hessians, number)
            followed, others = self._draw_rows(rng, number, loss.indptr, gradients, hessians)
            columns = draw_share(rng, self.colsample, n_features) if self.colsample < 1 else None
            shrinkage = self.learning_rate / (len(dropped) + 1)
            tree = grower.grow(gradients, hessians, shrinkage, followed, columns, rng)
            if len(tree.leaf_values) < 2:
                # Without draws, the next tree would see the same gradients and find no split
                # either.
                if self._may_find_split(loss, grower):
                    continue
                n_rounds = number
                break
            if dropped:
                # The difference is the part of the dropped trees, which keep k / (k + 1) of it.
                scores -= (scores - remaining) / (len(dropped) + 1)
            tree.add_to(scores)
            if others is not None:
                # Rows that the tree was not grown on find their leaf by their codes.
                grower.add_to_others(tree, scores, others)
            if validation is not None:
                change = validation.rows.scores(TreeEnsemble.of([tree.tree]))
                if dropped:
                    # Before shrink, while the trees still have their old values.
                    change -= sum_trees(grown, dropped, validation.rows) / (len(dropped) + 1)
                validation.staged.add(change)
            shrink(grown, dropped)
            grown.append(tree.tree)
            if validation is None:
                continue
            # A copy: dropout may shrink these trees later, but the best model has them as they are
            # now.
            if validation.staged.stages_since_best == 0:
                best, best_rounds = list(grown), number + 1
            elif self._stops(validation):
                break
        # Without early stopping, validation rows only observe.
        if validation is None or self.early_stopping_rounds is None:
            best, best_rounds = grown, n_rounds
        return TreeEnsemble.of(best), best_rounds

    def _draw_rows(
        self,
        rng: np.random.Generator,
        number: int,
        indptr: Int64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> tuple[Rows | None, Rows | None]:
        """Rows that a tree follows, and the others; None: all, and none."""
        if not self.sampling.draws(number):
            return None, None
        follows = self.sampling.draw_and_rescale(rng, indptr, gradients, hessians)
        return np.flatnonzero(follows).astype(np.int32), np.flatnonzero(~follows).astype(np.int32)

    def _may_find_split(self, loss: BoostedLoss, grower: TreeGrower) -> bool:
        """Whether random sampling may give the next tree a split although this one has none."""
        draws = self.sampling.draws(self.n_estimators) or self.colsample < 1
        return draws or loss.draws or grower.draws or self.dropout.rate > 0

    def _stops(self, validation: Validation) -> bool:
        rounds = self.early_stopping_rounds
        return rounds is not None and validation.staged.stages_since_best >= rounds
