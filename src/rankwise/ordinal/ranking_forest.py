"""Ranking forest: mean of ranking trees grown on bootstrap samples of rows or queries.

Composition: columns x rank impurity x grower on bags, with few columns for each node; then the
mean of the leaves' class shares and a leaf rule."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import FRACTION, N_JOBS, StrOptions, minimum
from rankwise.groups import FitData, QueryGroups
from rankwise.ordinal.ranking_tree import (
    TREE_CONSTRAINTS,
    RankDistance,
    TreeRanker,
    importances,
    row_weights,
    take_rows,
)
from rankwise.row_order import canonical_order
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.runtime.threads import thread_map, threads_asked
from rankwise.structure.state_rules import (
    Instance,
    Many,
    Number,
    Plain,
    Rule,
    Sometimes,
    floats,
    require,
)
from rankwise.trees.column_table import FROM_DTYPE
from rankwise.trees.leaves import LeafRule, LeafSums, leaf_classes, mean_ranks
from rankwise.trees.tree import Tree, prune
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Int64Array, Seed

LARGEST_SEED = 2**63 - 1
MOST_DRAWS = 2**24  # draws of a bag


class RankingForest(TreeRanker):
    """Mean of ranking trees that are grown on bootstrap samples of the rows or queries.

    Parameters
    ----------
    n_estimators : int >= 1, default=100
        Number of trees.
    criterion : {"rank", "gini", "entropy", "absolute_error"}, default="rank"
        Impurity that splits reduce, see :class:`~rankwise.RankingTree`.
    leaf : {"median", "mode", "mean", "probabilities"}, default="median"
        Rule that predicts a class from the mean class shares of the leaves.
    max_features : {"sqrt", "log2"}, int >= 1, float in (0, 1] or None, default="sqrt"
        Number of columns drawn for each node: square root or binary logarithm of their number, a
        number, a share, or all. If no drawn column has a useful split, the other columns are tried.
    bootstrap : bool, default=True
        Whether to grow each tree on a bootstrap sample of the same size as the data: of whole
        queries if ``fit`` receives ``qid``, otherwise of rows. False: every tree uses all rows.
    oob_score : bool, default=False
        Whether to evaluate each row with the trees whose sample does not contain it.
    max_depth : int >= 1 or None, default=None
        Largest depth of a tree. None: no limit.
    rank_distance : None, {"absolute", "squared", "zero_one"}, array or callable, default=None
        Distance between ranks, see :class:`~rankwise.RankingTree`.
    method : {"exact", "histogram", "auto"}, default="auto"
        Candidate thresholds, see :class:`~rankwise.RankingTree`.
    max_bins : int from 2 to 255, default=255
        Largest number of bins per column.
    min_samples_leaf : int >= 1, default=1
        Smallest weight of a leaf, see :class:`~rankwise.RankingTree`.
    min_samples_split : int >= 2, default=2
        Smallest weight of a node that may be split. 2: no limit.
    max_leaf_nodes : int >= 2, optional
        Largest number of leaves of a tree.
    min_gain : float >= 0, default=0.0
        Gain that a split must exceed.
    ccp_alpha : float >= 0, default=0.0
        Cost of a leaf in pruning, see :class:`~rankwise.RankingTree`.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        Nominal columns, see :class:`~rankwise.RankingTree`.
    n_jobs : int, optional
        Number of threads, each of which grows a tree. None or -1: all cores;
        -2: all but one. Results are bit-identical for any number.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the bootstrap samples and the drawn columns.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    trees_ : list of Tree
        Trees of the forest, see ``rankwise.trees.tree.Tree``.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean over the trees of each column's share of the gains. The sum is 1 (0 without splits).
    oob_score_ : float
        Negative mean absolute rank loss of the rows, predicted by the trees that were grown without
        them. Only with ``oob_score=True``.
    oob_proba_ : ndarray of shape (n_samples, n_classes)
        Mean class shares of these trees. NaN for a row that is in every sample or has weight 0.
    thresholds_ : ndarray of shape (n_classes - 1,)
        0.5, 1.5, ...: thresholds that assign ``rank_score`` to the nearest class. ``predict``
        follows the leaf rule instead.
    columns_, has_missing_, distance_
        As in :class:`~rankwise.RankingTree`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    Columns are sorted or binned once for all trees: O(n d log n) for n rows and d columns. A level
    of a tree costs O(n d) with sorted columns, each of which stays sorted within the nodes. With
    binned columns it costs O(n m) for m drawn columns. Memory is O(n d), a byte for a binned value,
    and that of the nodes. Samples are drawn from rows sorted by content, so the order of the rows
    does not matter.

    A weight is equivalent to repeating the row. With whole weights the forest is bit-identical to
    that of the repeated rows, for up to 2^24 repeated rows. With fractional weights a sample has as
    many draws as there are rows of positive weight. A row is drawn with probability proportional to
    its weight, and every draw has the mean weight. Samples of queries draw all queries with equal
    probability and keep the weights of their rows. A row of weight 2 is out of a sample if neither
    of its copies was drawn.

    ``rank_score`` is the mean class number. Missing values and sparse rows are treated as in
    :class:`~rankwise.RankingTree`.

    References
    ----------
    .. [1] Liu, Pan & Wang, "New rank learning algorithm", Journal of Southeast University (English
       Edition) 23 (2007).
    .. [2] Breiman, "Random forests", Machine Learning 45 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RankingForest
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + X[:, 1], [-1, 0, 1])
    >>> forest = RankingForest(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > -0.3
    True
    >>> forest.feature_importances_.argmin()
    np.int64(2)
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "trees_": Many(Instance((Tree,))),
        "feature_importances_": floats("n_features_in_"),
        "oob_score_": Sometimes(Number(finite=False)),
        "oob_proba_": Sometimes(Plain()),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TREE_CONSTRAINTS,
        "n_estimators": [minimum(1)],
        "max_depth": [minimum(1), None],
        "max_features": [
            StrOptions({"sqrt", "log2"}),
            minimum(1),
            FRACTION,
            None,
        ],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: Literal["rank", "gini", "entropy", "absolute_error"] = "rank",
        *,
        leaf: LeafRule = "median",
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        bootstrap: bool = True,
        oob_score: bool = False,
        max_depth: int | None = None,
        rank_distance: RankDistance = None,
        method: Literal["exact", "histogram", "auto"] = "auto",
        max_bins: int = 255,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        ccp_alpha: float = 0.0,
        categorical_features: Any = FROM_DTYPE,
        n_jobs: int | None = None,
        random_state: Seed = None,
        classes: ArrayLike | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.leaf = leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.max_depth = max_depth
        self.rank_distance: RankDistance = rank_distance
        self.method: Literal["exact", "histogram", "auto"] = method
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.ccp_alpha = ccp_alpha
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.classes = classes

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Numbers and categories; missing values allowed.
        y : array-like of shape (n_samples,)
            Ordered classes: numbers, an ordered categorical, or text with ``classes``.
        qid : array-like of shape (n_samples,), optional
            Query of each row. If there are two or more queries, bootstrap samples consist of whole
            queries.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of whole weight w counts as w copies of it.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs bootstrap=True, got bootstrap=False. Set bootstrap=True."
            )
        data = self._read(X, y, qid, sample_weight)
        n_samples, kept = len(data.y), data.kept
        order, sizes = canonical_order(data.X, data.y, data.groups, data.sample_weight)
        data = take_rows(data, order)
        rng = check_random_state(self.random_state)
        bags = self._bags(rng, sizes, data.sample_weight)
        seeds = rng.randint(LARGEST_SEED, size=self.n_estimators, dtype=np.int64)
        prepared, max_features = self._prepare(data), self._draw_features()

        def grow(number: int) -> Tree:
            weight = bags[number].astype(np.float64) if self.bootstrap else data.sample_weight
            tree = self._grow(
                prepared, data, self.max_depth, weight,
                max_features=max_features, seed=int(seeds[number]),
            )  # fmt: skip
            return prune(tree, self.ccp_alpha)

        self.trees_: list[Tree] = thread_map(
            grow, range(self.n_estimators), threads_asked(self.n_jobs)
        )
        shares = np.mean([importances(tree, self.n_features_in_) for tree in self.trees_], axis=0)
        self.feature_importances_: Float64Array = shares / (shares.sum() or 1.0)
        for state in ("oob_score_", "oob_proba_"):
            vars(self).pop(state, None)
        if self.oob_score:
            places = order if kept is None else np.flatnonzero(kept)[order]
            self._set_out_of_bag(data, bags, places, n_samples if kept is None else len(kept))
        return self

    def _tree_ensemble(self) -> TreeEnsemble:
        """Trees with the mean class number of each node divided by the number of trees."""
        check_is_fitted(self)
        n = len(self.trees_)
        return TreeEnsemble.of_grown([(tree, mean_ranks(tree.counts) / n) for tree in self.trees_])

    def _check_structure(self) -> None:
        super()._check_structure()
        require(self.trees_, "trees_", "have an item", "none")

    def _class_weights(self, X: FloatArray) -> Float64Array:
        sums = _SUMS.get(self)
        if sums is None or list(sums.trees) != self.trees_:
            sums = _SUMS[self] = LeafSums.of(self.trees_, _node_shares)
        shares = np.zeros((len(X), len(self.classes_)))
        sums.add(X, shares)
        return shares / len(self.trees_)

    def _bags(
        self, rng: np.random.RandomState, sizes: Int64Array, weight: Float64Array | None
    ) -> NDArray[Any]:
        """Weight of each row in each tree, (n_estimators, n_samples); rows are sorted by query."""
        if not self.bootstrap:
            return np.ones((self.n_estimators, 0), dtype=np.int64)
        n = int(sizes.sum())
        if len(sizes) > 1:  # whole queries
            of_row = np.repeat(np.arange(len(sizes)), sizes)
            drawn = rng.randint(len(sizes), size=(self.n_estimators, len(sizes)))
            bags = [np.bincount(units, minlength=len(sizes))[of_row] for units in drawn]
            return np.stack(bags if weight is None else [bag * weight for bag in bags])
        if weight is not None and ((weight % 1).any() or weight.sum() > MOST_DRAWS):
            ends = np.cumsum(weight)
            drawn = rng.random_sample((self.n_estimators, n)) * ends[-1]
            rows = np.minimum(np.searchsorted(ends, drawn, side="right"), n - 1)
            return np.stack([np.bincount(row, minlength=n) for row in rows]) * (ends[-1] / n)
        rows = np.arange(n) if weight is None else np.repeat(np.arange(n), weight.astype(np.int64))
        drawn = rng.randint(len(rows), size=(self.n_estimators, len(rows)))
        return np.stack([np.bincount(rows[units], minlength=n) for units in drawn])

    def _draw_features(self) -> int:
        n = self.n_features_in_
        if self.max_features is None:
            return n
        if self.max_features == "sqrt":
            return max(1, round(math.sqrt(n)))
        if self.max_features == "log2":
            return max(1, round(math.log2(n)))
        if isinstance(self.max_features, float):
            return max(1, round(self.max_features * n))
        return int(self.max_features)

    def _set_out_of_bag(
        self, data: FitData, bags: NDArray[Any], places: Int64Array, n_samples: int
    ) -> None:
        """Compute class shares and score of each row from the trees that were grown without it."""
        shares, n_trees = np.zeros((len(data.y), len(self.classes_))), np.zeros(len(data.y))
        for tree, bag in zip(self.trees_, bags, strict=True):
            out = np.flatnonzero(bag == 0)
            shares[out] += _node_shares(tree)[tree.apply(data.X[out])]
            n_trees[out] += 1
        known = n_trees > 0
        predicted = leaf_classes(shares[known], self.leaf, self.distance_)
        loss = np.abs(predicted - data.y[known])
        weight = row_weights(data)[known]
        self.oob_score_: float = (
            -float(np.average(loss, weights=weight)) if known.any() else math.nan
        )
        self.oob_proba_: Float64Array = np.full((n_samples, shares.shape[1]), np.nan)
        self.oob_proba_[places[known]] = shares[known] / n_trees[known, None]


def _node_shares(tree: Tree) -> Float64Array:
    return tree.counts / tree.counts.sum(axis=1, keepdims=True)


# No attribute of the forest, whose attributes are what a model file holds.
_SUMS: WeakKeyDictionary[RankingForest, LeafSums] = WeakKeyDictionary()
