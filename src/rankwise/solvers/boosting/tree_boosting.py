"""Gradient boosting: every tree fits the derivatives of a loss at the current scores.

Rows are sampled by query, or by gradient (GOSS). Trees may be left out while the next one is grown
(DART) [1]_.

References
----------
.. [1] Rashmi and Gilad-Bachrach, "DART: dropouts meet multiple additive regression trees", AISTATS
   2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import FitData
from rankwise.losses.gradient_loss import BoostedLoss
from rankwise.metrics.measure import Measure
from rankwise.solvers.boosting.rounds import StagedMeasure
from rankwise.trees.boosted.growing_tree import TreeGrower
from rankwise.trees.tree_ensemble import OrderedRows, ScoreTree, TreeEnsemble
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows on which a measure is computed after every tree."""

    rows: OrderedRows
    staged: StagedMeasure  # on these rows, already computed for the trees to continue from

    @classmethod
    def of(cls, data: FitData, measure: Measure, trees: TreeEnsemble) -> Validation:
        """Validation rows, measured first after each of the trees to continue from."""
        rows = OrderedRows(data.X, data.numbers)
        staged = StagedMeasure(measure, data.y, data.groups)
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
        watch: Callable[[list[ScoreTree]], int | None] | None = None,
    ) -> tuple[TreeEnsemble, int]:
        """Grow trees until one has no split, or the validation measure or ``watch`` stops training.

        ``watch`` receives all trees after each new one. It returns how many of them to keep, which
        ends the training, or None.

        Also returns the number of rounds up to the last tree that is kept, or of all rounds if none
        is dropped. It includes those of the start, and those whose draws gave no tree.
        """
        n_features, scores = grower.n_features, start.scores
        gradients, hessians = grower.derivatives()
        # Single trees, because dropout changes their values later on.
        grown = list(start.trees.score_trees())
        best, best_rounds, n_rounds = list(grown), start.n_rounds, self.n_estimators
        # Models and rounds after each new tree, which `watch` may return to.
        history: list[tuple[list[ScoreTree], int]] = [(best, best_rounds)]
        patience = self.early_stopping_rounds
        # Whether random sampling may give the next tree a split although one has none.
        draws = self.sampling.draws(self.n_estimators) or self.colsample < 1
        draws = draws or loss.draws or grower.draws or self.dropout.rate > 0
        for number in range(start.n_rounds, self.n_estimators):
            # One generator a tree: a fit that continues draws what a single fit would have drawn.
            rng = np.random.default_rng([self.seed, number])
            dropped = self.dropout.drop(rng, len(grown))
            remaining = scores
            if dropped:
                assert start.rows is not None
                # Score the fewer trees: both sums differ by rounding only.
                if 2 * len(dropped) <= len(grown):
                    remaining = scores - sum_trees(grown, dropped, start.rows)
                else:
                    kept = sorted(set(range(len(grown))) - set(dropped))
                    remaining = sum_trees(grown, kept, start.rows)
            # Into the buffers of the grower, which packs them in place.
            loss.write(remaining, gradients, hessians, number)
            followed = others = None
            if self.sampling.draws(number):
                mask = self.sampling.draw_and_rescale(rng, loss.indptr, gradients, hessians)
                followed, others = (np.flatnonzero(rows).astype(np.int32) for rows in (mask, ~mask))
            columns = draw_share(rng, self.colsample, n_features) if self.colsample < 1 else None
            shrinkage = self.learning_rate / (len(dropped) + 1)
            tree = grower.grow(gradients, hessians, shrinkage, followed, columns, rng)
            if len(tree.leaf_values) < 2:
                # Without draws, the next tree would see the same gradients and find no split
                # either.
                if draws:
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
            is_last = False
            if watch is not None:
                # A copy only where dropout may shrink these trees later.
                now = list(grown) if self.dropout.rate > 0 else grown
                history.append((now, number + 1))
                n_kept = watch(grown)
                if n_kept is not None and n_kept < len(grown):
                    kept, n_rounds = history[n_kept - start.trees.n_trees]
                    return TreeEnsemble.of(kept[:n_kept]), n_rounds
                if n_kept is not None:
                    n_rounds, is_last = number + 1, True
            if validation is not None:
                # A copy: dropout may shrink these trees later, but the best model has them as they
                # are now.
                if validation.staged.stages_since_best == 0:
                    best, best_rounds = list(grown), number + 1
                is_last |= patience is not None and validation.staged.stages_since_best >= patience
            if is_last:
                break
        # Without early stopping, validation rows only observe.
        if validation is None or patience is None:
            best, best_rounds = grown, n_rounds
        return TreeEnsemble.of(best), best_rounds


@dataclass(frozen=True)
class QuerySampling:
    """A random share (in (0, 1]) of the queries, drawn anew for every tree."""

    share: float = 1.0

    def draws(self, number: int) -> bool:
        """Whether the tree of a number leaves rows out."""
        return self.share < 1

    def draw_and_rescale(
        self,
        rng: np.random.Generator,
        indptr: Int64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> NDArray[np.bool_]:
        """Rows that a tree follows, as a mask; the derivatives are not changed."""
        # Whole queries: the gradients of a query are computed from all of its rows.
        return np.repeat(draw_share(rng, self.share, len(indptr) - 1), np.diff(indptr))


@dataclass(frozen=True)
class GradientSampling:
    """The rows with the largest gradients, and a random sample of the others (GOSS) [1]_.

    The derivatives of the sampled rows are scaled up to represent the omitted rows. If gradients
    are equal, the first rows are taken.

    References
    ----------
    .. [1] Ke et al., "LightGBM: a highly efficient gradient boosting decision tree", NeurIPS 2017.
    """

    top: float  # share of rows taken because of their large gradients
    other: float  # share of all rows, drawn from the rest; top + other <= 1
    first: int = 0  # number of the first tree that leaves rows out

    def __post_init__(self) -> None:
        if self.top + self.other > 1:
            raise ValueError(
                f"top_rate + other_rate must be at most 1, got {self.top} + {self.other}. Lower "
                "one of them."
            )

    def draws(self, number: int) -> bool:
        """Whether the tree of a number leaves rows out."""
        return number >= self.first

    def draw_and_rescale(
        self,
        rng: np.random.Generator,
        indptr: Int64Array,
        gradients: Float64Array,
        hessians: Float64Array,
    ) -> NDArray[np.bool_]:
        """Rows that a tree follows, as a mask; scales the derivatives of those drawn."""
        n = len(gradients)
        # At least one row of either kind, so that a tree of few rows can be grown.
        follows = _largest(np.abs(gradients), max(1, round(self.top * n)))
        rest = np.flatnonzero(~follows)
        taken = min(len(rest), max(1, round(self.other * n)))
        if taken:
            rest_drawn = rest[rng.choice(len(rest), taken, replace=False)]
            # The sums over the drawn rows then estimate those over all of the rest without bias.
            gradients[rest_drawn] *= len(rest) / taken
            hessians[rest_drawn] *= len(rest) / taken
            follows[rest_drawn] = True
        return follows


def draw_share(rng: np.random.Generator, share: float, n: int) -> NDArray[np.bool_]:
    """A random share of n items, at least one."""
    mask = np.zeros(n, dtype=bool)
    mask[rng.choice(n, max(1, round(share * n)), replace=False)] = True
    return mask


def _largest(values: Float64Array, n: int) -> NDArray[np.bool_]:
    """The n largest values; ties go to the first. O(len(values))."""
    if n >= len(values):
        return np.ones(len(values), dtype=bool)
    least = np.partition(values, len(values) - n)[len(values) - n]
    # Rows equal to the least value fill the places that are left, the first rows first.
    mask = values > least
    mask[np.flatnonzero(values == least)[: n - int(mask.sum())]] = True
    return mask


# LightGBM's default for max_drop: scoring the dropped trees is what a round of dropout costs.
MOST_DROPPED = 50


@dataclass(frozen=True)
class Dropout:
    """Drop earlier trees, and share their part of the scores with the new tree.

    When k trees are dropped, the new tree is scaled by ``learning_rate / (k + 1)``. Each dropped
    tree is permanently multiplied by ``k / (k + 1)``.
    """

    rate: float = 0.0  # probability that a tree is dropped; at most 50 are dropped at once
    skip: float = 0.5  # probability that no tree is dropped

    def drop(self, rng: np.random.Generator, n_trees: int) -> list[int]:
        """Numbers of the trees that are left out, ascending."""
        # Without dropout nothing is drawn, so the draws of rows and columns stay the same.
        if self.rate == 0 or rng.random() < self.skip:
            return []
        dropped = np.flatnonzero(rng.random(n_trees) < self.rate)
        if len(dropped) > MOST_DROPPED:
            dropped = np.sort(rng.choice(dropped, MOST_DROPPED, replace=False))
        return dropped.tolist()


def sum_trees(trees: list[ScoreTree], numbers: list[int], rows: OrderedRows) -> Float64Array:
    """Contribution of some trees to the scores of rows, shape (n_rows,)."""
    return rows.scores(TreeEnsemble.of([trees[number] for number in numbers]))


def shrink(trees: list[ScoreTree], dropped: list[int]) -> None:
    """Multiply the dropped trees by k / (k + 1)."""
    factor = len(dropped) / (len(dropped) + 1)
    for number in dropped:
        trees[number] = replace(trees[number], values=trees[number].values * factor)
