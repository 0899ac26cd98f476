"""Shapley values of games whose players are features, and which of them fits an estimator.

In a game of A and B, a set S of features takes its values from A, the others from B.

Shapley values are the only contributions that add up to ``f(A) - f(B)``, give 0 to a feature
without effect, treat equal features alike and are additive over sums of models [1]_. For a sum of
functions of single features, they are the differences of these functions. For sums of trees, they
are exact in two games whose players are the features of a row x; the worth of a set S is

- tree_path_dependent: the score if nodes that split by a feature outside S send x to both sides,
  weighted by their shares of the training rows [3]_;
- interventional: the mean score of background rows that have the features in S from x [4]_.

References
----------
.. [1] Shapley, "A value for n-person games", Contributions to the Theory of Games 2 (1953).
.. [2] Castro, Gómez & Tejada, "Polynomial calculation of the Shapley value based on sampling",
   Computers & Operations Research 36 (2009).
.. [3] Lundberg, Erion & Lee, "Consistent individualized feature attribution for tree ensembles",
   arXiv:1802.03888 (2018).
.. [4] Lundberg et al., "From local explanations to global understanding with explainable AI for
   trees", Nature Machine Intelligence 2 (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from scipy.special import comb
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.rows import check_columns_read
from rankwise.explain.table_rows import BATCH, Score
from rankwise.kernels.tree_shapley import (
    MOST_BITS,
    add_long_path,
    background_values,
    describe_paths,
    path_values,
)
from rankwise.prediction import innermost
from rankwise.runtime.messages import check_choice
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Float64Array, FloatArray, Int64Array

Encode = Callable[[Any], FloatArray]
_Nodes = tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any, Any, Any]
_ROWS_AT_ONCE = 256
_LANES = 128  # rows processed side by side
GAMES = ("interventional", "tree_path_dependent")
MOST_ENUMERATED = 10  # features, which give 1,024 mixed rows
# Steps of scikit-learn whose column j is a function of column j alone.
_BY_COLUMN = {
    "Binarizer", "MaxAbsScaler", "MinMaxScaler", "OrdinalEncoder", "PowerTransformer",
    "QuantileTransformer", "RobustScaler", "StandardScaler",
}  # fmt: skip


def enumerate_sets(score: Score, players: int) -> Float64Array:
    """Exact Shapley values of a game with few players, from all 2^players sets.

    ``score`` maps a boolean array (n_sets, players) of sets to their values.
    """
    sets = (np.arange(2**players)[:, None] >> np.arange(players)) & 1 == 1
    worth = score(sets)
    size = sets.sum(axis=1)
    values = np.empty(players)
    for j in range(players):
        without = np.flatnonzero(~sets[:, j])
        share = [
            factorial(s) * factorial(players - s - 1) / factorial(players) for s in range(players)
        ]
        gains = worth[without + (1 << j)] - worth[without]
        values[j] = np.array(share)[size[without]] @ gains
    return values


def sample_orders(
    score: Score, players: int, n_orders: int, random_state: np.random.RandomState
) -> tuple[Float64Array, Float64Array]:
    """Shapley values from ``n_orders`` random orders of the players, each also reversed.

    Returns values and their standard errors, both (players,). The values add up exactly to the
    worth of all players minus that of none.
    """
    orders = np.array([random_state.permutation(players) for _ in range(n_orders)])
    ways = np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * n_orders, players)
    gains = np.empty((2 * n_orders, players))
    at_once = max(1, BATCH // (players + 1))
    for first in range(0, len(ways), at_once):
        part = ways[first : first + at_once]
        place = np.argsort(part, axis=1)
        sets = np.arange(players + 1)[:, None] > place[:, None, :]
        worth = score(sets.reshape(-1, players)).reshape(len(part), players + 1)
        np.put_along_axis(gains[first : first + at_once], part, np.diff(worth, axis=1), axis=1)
    gains = gains.reshape(n_orders, 2, players).mean(axis=1)
    spread = gains.std(axis=0, ddof=1) if n_orders > 1 else np.full(players, np.nan)
    return gains.mean(axis=0), spread / np.sqrt(n_orders)


def single(score: Score, players: int) -> Float64Array:
    """Shapley values of a sum of functions of single players, from one set per player."""
    sets = np.vstack([np.zeros((1, players), dtype=bool), np.eye(players, dtype=bool)])
    worth = score(sets)
    return worth[1:] - worth[0]


@dataclass(frozen=True, eq=False)
class TreeGames:
    """Ensemble with the paths to its nodes, in the form of the kernels.

    For the arrays, all (n_nodes,), see :func:`rankwise.kernels.tree_shapley.describe_paths`.
    """

    trees: TreeEnsemble
    parent: Any
    above: Any
    bit: Any
    n_path: Any
    share: Float64Array
    reach: Float64Array

    @classmethod
    def of(cls, trees: TreeEnsemble) -> TreeGames:
        """Describe the paths to the nodes."""
        n_nodes = len(trees.feature)
        parent, above, bit, n_path = np.empty((4, n_nodes), dtype=np.int32)
        share, reach = np.empty(n_nodes), np.empty(n_nodes)
        cover = np.ones(n_nodes) if trees.cover is None else trees.cover
        describe_paths(
            trees.indptr, trees.feature, trees.left, trees.right, cover, parent, above, bit,
            n_path, share, reach,
        )  # fmt: skip
        return cls(trees, parent, above, bit, n_path, share, reach)

    def expected_score(self) -> float:
        """Mean score weighted by the shares of the training rows: the worth of the empty set."""
        trees = self._require_cover()
        leaves = trees.feature < 0
        return trees.constant + float(self.reach[leaves] @ trees.values[leaves])

    def path_dependent(self, rows: FloatArray) -> Float64Array:
        """Shapley values of every row, which add up to its score minus :meth:`expected_score`.

        ``rows`` are in the form that the trees read. Rows and values are (n_samples, n_features).
        O(n_samples n_nodes D) for D distinct features on the longest path of a tree. A
        model that does not store the weights of its nodes raises ValueError.
        """
        trees = self._require_cover()
        n, d = rows.shape
        check_columns_read(trees.feature, d)
        lanes = max(1, min(_LANES, n))
        n_blocks = -(-n // lanes)
        padded = np.zeros((n_blocks * lanes, d))
        padded[:n] = self._round_rows(rows)
        blocks = np.ascontiguousarray(padded.reshape(n_blocks, lanes, d).transpose(0, 2, 1))
        out = np.zeros_like(blocks)
        if trees.n_trees:
            longest = np.maximum.reduceat(self.n_path, trees.indptr[:-1]).astype(np.int64)
            n_points = (longest + 1) // 2
            sizes, rule = np.unique(n_points, return_inverse=True)
            points = np.zeros((len(sizes), max(int(sizes.max()), 1)))
            weights = np.zeros_like(points)
            for line, size in enumerate(sizes.tolist()):
                if size:
                    points[line, :size], weights[line, :size] = _gauss_legendre(size)
            step = max(1, min(16, -(-n_blocks // available_threads())))

            def work(first: int) -> None:
                part = slice(first, first + step)
                path_values(
                    blocks[part], *self._nodes(), self.above, self.share, rule, n_points, points,
                    weights, out[part],
                )  # fmt: skip

            thread_map(work, range(0, n_blocks, step))
        return out.transpose(0, 2, 1).reshape(n_blocks * lanes, d)[:n]

    def interventional(
        self, rows: FloatArray, background: FloatArray, groups: Int64Array
    ) -> Float64Array:
        """Shapley values of every row against background rows.

        They add up to a row's score minus the mean score of its background. ``groups``
        (n_groups, 4) holds the first and last row, and the first and last background row, which
        these rows are explained against. Every row belongs to one group.

        O(n_nodes (n + m)) for a group of n rows and m background rows, plus, for every leaf, the
        pairs of distinct sets of passing features.
        """
        check_columns_read(self.trees.feature, rows.shape[1])
        out = np.zeros((rows.shape[1], len(rows)))
        columns = np.ascontiguousarray(self._round_rows(rows).T)
        others = columns
        if background is not rows:
            others = np.ascontiguousarray(self._round_rows(background).T)
        places = np.arange(int(self.n_path.max(initial=0)) + 1)
        u, w = places[:, None], places[None, :]
        worth = np.where(u > 0, 1.0 / (np.maximum(u, 1) * comb(u + w, w)), 0.0)
        chunks = _split_groups(groups)

        def work(chunk: Int64Array) -> None:
            background_values(
                columns, others, chunk, *self._nodes(), self.parent, self.above, self.bit,
                self.n_path, worth, out,
            )  # fmt: skip

        if self.trees.n_trees:
            thread_map(work, chunks)
            self._add_long_paths(columns, others, groups, worth, out)
        return out.T

    def _add_long_paths(
        self,
        columns: Float64Array,
        others: Float64Array,
        groups: Int64Array,
        worth: Float64Array,
        out: Float64Array,
    ) -> None:
        """Add what the leaves give whose path has more features than a word has bits."""
        nodes = self._nodes()
        leaves = np.flatnonzero((self.trees.feature < 0) & (self.n_path > MOST_BITS))
        starts = self.trees.indptr[np.searchsorted(self.trees.indptr, leaves, side="right") - 1]

        def work(group: Int64Array) -> None:
            rows, background = slice(*group[:2]), slice(*group[2:])
            for leaf, start in zip(leaves.tolist(), starts.tolist(), strict=True):
                add_long_path(
                    columns[:, rows], others[:, background], leaf - start, start, *nodes[1:4],
                    *nodes[5:], self.parent, self.bit, int(self.n_path[leaf]), worth, out[:, rows],
                )  # fmt: skip

        if len(leaves):
            thread_map(work, [group for group in groups if group[3] > group[2]])

    def _nodes(self) -> _Nodes:
        trees = self.trees
        return (
            trees.indptr, trees.feature, trees.threshold, trees.left, trees.right,
            trees.missing_left, trees.values, trees.nominal if trees.nominal.any() else None,
            trees.category_indptr, trees.categories,
            trees.zero_missing if trees.zero_missing.any() else None,
        )  # fmt: skip

    def _round_rows(self, rows: FloatArray) -> Float64Array:
        if self.trees.in_float32:
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32)
        return rows.astype(np.float64)

    def _require_cover(self) -> TreeEnsemble:
        if self.trees.cover is None:
            raise ValueError(
                "feature_perturbation='tree_path_dependent' needs the weights of the nodes, which "
                "this model does not store. Pass feature_perturbation='interventional'."
            )
        return self.trees


@lru_cache(maxsize=64)
def _gauss_legendre(n: int) -> tuple[Float64Array, Float64Array]:
    """Quadrature points and weights for integrals from 0 to 1, exact up to degree 2 n - 1."""
    points, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 * (points + 1.0), 0.5 * weights


def _split_groups(groups: Int64Array) -> list[Int64Array]:
    """Chunks of work: large groups are split, small groups are combined."""
    n_rows = int((groups[:, 1] - groups[:, 0]).sum())
    most = max(_ROWS_AT_ONCE, -(-n_rows // (4 * available_threads())))
    chunks: list[list[list[int]]] = [[]]
    filled = 0
    for first, last, *other in groups.tolist():
        for start in range(first, last, most):
            end = min(start + most, last)
            if filled and filled + end - start > most:
                chunks.append([])
                filled = 0
            chunks[-1].append([start, end, *other])
            filled += end - start
    return [np.array(chunk, dtype=np.int64) for chunk in chunks if chunk]


def is_additive(estimator: Any) -> bool:
    """Whether scores are sums of functions of single features, as in linear models and stumps.

    Such estimators set ``_additive_scores``. An estimator with one ``coef_`` per feature is linear.
    """
    if estimator is not innermost(estimator):
        return False
    stated = getattr(estimator, "_additive_scores", None)
    if stated is not None:
        return bool(stated)
    coef = getattr(estimator, "coef_", None)
    return coef is not None and np.shape(coef) == (estimator.n_features_in_,)


def check_scores(estimator: Any) -> None:
    """Raise unless the estimator is fitted and has scores: classes may have no order to rank by."""
    check_is_fitted(estimator)
    last = innermost(estimator)
    if hasattr(last, "rank_score") or not hasattr(last, "__sklearn_tags__"):
        return
    if is_classifier(last):
        raise TypeError(
            f"ranker must have scores to rank by, got the classifier {type(last).__name__}, whose "
            "classes have no order to explain. Pass a ranker, an ordinal estimator, a regressor, "
            "or a pipeline or search that ends in one."
        )


def tree_games(estimator: Any) -> tuple[TreeGames, Encode] | None:
    """Trees that compute the scores, and a function that encodes tables; None for other models.

    A pipeline qualifies if the steps before the last map each column separately. The contribution
    of a column is then that of its original feature.
    """
    steps = []
    while estimator is not innermost(estimator):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
            continue
        *before, (_, estimator) = estimator.steps
        steps += [step for _, step in before if step not in (None, "passthrough")]
    are_by_column = [
        type(step).__module__.startswith("sklearn.preprocessing.")
        and type(step).__name__ in _BY_COLUMN
        for step in steps
    ]
    if not hasattr(estimator, "_tree_ensemble") or not all(are_by_column):
        return None

    def encode(X: Any) -> FloatArray:
        for step in steps:
            X = step.transform(X)
        return np.asarray(estimator._encoded_rows(X))

    return TreeGames.of(estimator._tree_ensemble()), encode


def check_game(feature_perturbation: str, is_known: bool) -> None:
    """Raise ValueError if the game is unknown or does not apply to the model (not ``is_known``)."""
    check_choice("feature_perturbation", feature_perturbation, GAMES)
    if feature_perturbation == "tree_path_dependent" and not is_known:
        raise ValueError(
            "feature_perturbation='tree_path_dependent' needs a model of trees, got another model. "
            "Pass feature_perturbation='interventional'."
        )
