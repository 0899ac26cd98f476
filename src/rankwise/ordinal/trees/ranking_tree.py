"""Ranking tree: a decision tree whose splits separate the pairs of rows of different ranks.

A split gains ``I(T) - I(T_L) - I(T_R)`` of the rank impurity ``I(T) = sum_{i<j} (j - i) N_i N_j``
over the numbers of rows of each rank [1]_, equations (1) and (2).

Composition: columns x rank impurity x grower, then pruning and a leaf rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.rows import FitData, check_validation
from rankwise.groups import QueryGroups
from rankwise.ordinal.trees.tree_ranker import (
    AT_LEAST_ONE,
    TREE_CONSTRAINTS,
    RankDistance,
    TreeRanker,
    importances,
    in_any_order,
    row_weights,
    take_rows,
)
from rankwise.structure.rules import Number, Optional, Part, Plain, Rule, Sometimes, integers
from rankwise.trees.columns import FROM_DTYPE, dense_within_memory
from rankwise.trees.criterion import make_criterion
from rankwise.trees.leaves import LeafRule, leaf_classes, mean_ranks
from rankwise.trees.pruning import cut_at_depth, prune, pruning_path
from rankwise.trees.tree import Tree
from rankwise.tuning.folds import cv_splits
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Int64Array, as_dense

DEPTHS = range(1, 21)  # what "cv" and "val" search


class RankingTree(TreeRanker):
    """Decision tree over ordered classes, grown by rank impurity.

    Parameters
    ----------
    max_depth : int >= 1, None, list of int, "cv" or "val", default=None
        Splits from the root to a leaf. None: until no split gains. A list is searched on ``X_val``
        where it is given and else by ``cv`` folds, for the least mean absolute rank loss and, of
        equal ones, the least depth; "cv" and "val" search 1, 2, ..., 20.
    criterion : {"rank", "gini", "entropy", "absolute_error"}, default="rank"
        Impurity whose fall a split maximises, each a sum over the rows of a node and not divided
        by their weight: ``sum_{i<j} d(i, j) N_i N_j``, N times Gini's, N times the entropy,
        ``sum_i |y_i - median|``.
    leaf : {"median", "mode", "mean", "probabilities"}, default="median"
        Class that a leaf predicts: of least absolute loss, the most frequent, the one nearest the
        mean class number, or of least mean ``rank_distance``. Ties go to the lower class, but for
        the mean.
    rank_distance : None, {"absolute", "squared", "zero_one"}, array or callable, default=None
        Distance d of ranks 0, 1, ... that does not fall as they move apart, for criterion "rank"
        and leaf "probabilities": ``|i - j|`` for None; an array of shape (n_classes, n_classes);
        or ``d(i, j)``.
    method : {"exact", "histogram", "auto"}, default="auto"
        Thresholds half-way between any two values, or between at most ``max_bins`` bins. "auto":
        bins from 2,000,000 values on.
    max_bins : int from 2 to 255, default=255
        Most bins of a column.
    min_samples_leaf : int >= 1, default=1
        Least weight of a leaf: rows, where they have none. 1: no rule, also for lower weights.
    min_samples_split : int >= 2, default=2
        Least weight of a node to split. 2: no rule.
    max_leaf_nodes : int >= 2, optional
        Most leaves; the splits that gain most come first.
    min_gain : float >= 0, default=0.0
        A split must gain more, in units of the impurity above.
    ccp_alpha : float >= 0, default=0.0
        Price of a leaf in the same units: the tree is pruned to the subtree of least impurity plus
        ``ccp_alpha`` times its leaves.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        Nominal columns, split by subsets of their categories, whatever their dtype: a mask,
        numbers or names. In frames text and unordered categories are nominal besides, ordered
        categories are split by their order. None: all columns are numbers.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        A number of folds of queries (over rows where there are fewer queries); a scikit-learn
        splitter gets the queries as ``groups``.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Needed if y holds text; numbers, booleans and ordered
        categoricals have an order of their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    tree_ : Tree
        Arrays over the nodes, see ``rankwise.trees.tree.Tree``.
    node_classes_ : ndarray of shape (n_nodes,), int64
        Class number that the leaf rule gives each node.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Sum of the gains of the splits of each column, summing to 1 (0 without splits).
    thresholds_ : ndarray of shape (n_classes - 1,)
        0.5, 1.5, ...: the classes nearest to ``rank_score``. ``predict`` follows the leaf rule,
        which is that for "mean" alone.
    max_depth_ : int or None
        The one that was given or chosen.
    cv_results_ : dict with "max_depth", "fold_test_scores" and "mean_test_score" (after a search)
        Minus the mean absolute rank loss, (n_folds, n_depths) and (n_depths,), the mean over rows.
    columns_ : ColumnTable
        Categories of the columns.
    has_missing_ : ndarray of shape (n_features_in_,), bool
        Columns with missing values in fit.
    distance_ : ndarray of shape (n_classes, n_classes)
        ``rank_distance`` as numbers.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Where X has column names.
    score_name_ : str

    Notes
    -----
    ``rank_score`` is the mean class number in the leaf. Missing values (NaN, None, NA) go to the
    side where the split gains more, or with the heavier child where a node has none; so do
    categories that it has not seen. Of up to 8 categories in a node all subsets are tried, of more
    those that the order of their mean class allows; a column of many categories has many splits,
    and gains by chance. Sparse rows are made dense: a split looks at whole columns.

    Exact: O(n d log n) to sort and O(n d K) a level of the tree, n rows, d columns, K classes;
    histogram: O(n d) a level. Weights are repetition. The queries only make the folds. Monotone
    changes of a column do not change the classes of the training rows.

    ``ccp_alpha`` of scikit-learn's trees, whose impurities are divided by the weight of all rows,
    is that of "gini" here divided by this weight.

    Differs from [1]: any rank distance, weights, missing values, depth by cross-validation of the
    rank loss; depth 9 and no other rule is the paper's.

    References
    ----------
    .. [1] Liu, Pan & Wang, "New rank learning algorithm", Journal of Southeast University (English
       Edition) 23 (2007).
    .. [2] Breiman, Friedman, Olshen & Stone, "Classification and Regression Trees" (1984).

    Examples
    --------
    >>> import pandas as pd
    >>> from rankwise import RankingTree
    >>> X = pd.DataFrame({"colour": ["red", "blue", "red", None], "size": [1.0, 2.0, 3.0, 4.0]})
    >>> tree = RankingTree(classes=["poor", "fair", "good"])
    >>> tree.fit(X, ["poor", "good", "fair", "good"]).predict(X).tolist()
    ['poor', 'good', 'fair', 'good']
    >>> tree.rank_score(X)
    array([0., 2., 1., 2.])
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "node_classes_": integers("n_nodes", low=0, below="n_classes"),
        "tree_": Part((Tree,)),
        "max_depth_": Optional(Number("i", low=1)),
        "cv_results_": Sometimes(Plain()),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TREE_CONSTRAINTS,
        "max_depth": [AT_LEAST_ONE, None, "array-like", StrOptions({"cv", "val"})],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        max_depth: int | Sequence[int] | Literal["cv", "val"] | None = None,
        criterion: Literal["rank", "gini", "entropy", "absolute_error"] = "rank",
        leaf: LeafRule = "median",
        *,
        rank_distance: RankDistance = None,
        method: Literal["exact", "histogram", "auto"] = "auto",
        max_bins: int = 255,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        max_leaf_nodes: int | None = None,
        min_gain: float = 0.0,
        ccp_alpha: float = 0.0,
        categorical_features: Any = FROM_DTYPE,
        cv: Any = 5,
        classes: ArrayLike | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.criterion = criterion
        self.leaf = leaf
        self.rank_distance = rank_distance
        self.method = method
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.max_leaf_nodes = max_leaf_nodes
        self.min_gain = min_gain
        self.ccp_alpha = ccp_alpha
        self.categorical_features = categorical_features
        self.cv = cv
        self.classes = classes

    def fit(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: FrameLike | None = None,
        y_val: ArrayLike | None = None,
        qid_val: ArrayLike | QueryGroups | None = None,
    ) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)
            Numbers and categories; missing values allowed.
        y : array-like of shape (n_samples,)
            Ordered classes: numbers, an ordered categorical, or text with ``classes``.
        qid : array-like of shape (n_samples,), optional
            Query of every row, for the folds of ``max_depth="cv"``.
        sample_weight : array-like of shape (n_samples,), optional
            >= 0; a whole number is a repetition of the row.
        X_val, y_val, qid_val : optional
            Rows to choose ``max_depth`` on.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For wrong input, naming it.
        """
        self._validate_params()
        vars(self).pop("cv_results_", None)
        data = self._read(X, y, qid, sample_weight)
        X_val = None if X_val is None else self.columns_.encode(dense_within_memory(X_val))
        validation = check_validation(
            self, data, X_val, y_val, qid_val, accept_sparse=False, allow_nan=True
        )
        tree = self._chosen_tree(data, validation)
        self.tree_ = prune(tree, self.ccp_alpha)
        self.node_classes_ = leaf_classes(self.tree_.counts, self.leaf, self.distance_)
        return self

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each column in the gains of all splits."""
        check_is_fitted(self)
        return importances(self.tree_, self.n_features_in_)

    def apply(self, X: FrameLike) -> Int64Array:
        """Leaf that every row reaches, a node number of ``tree_``, shape (n_samples,)."""
        rows = self._check_rows(X)
        return self.tree_.apply(rows)

    def decision_path(self, X: FrameLike) -> Any:
        """Nodes on the way of every row: CSR of shape (n_samples, n_nodes), bool."""
        rows = self._check_rows(X)
        return self.tree_.decision_path(rows)

    def get_depth(self) -> int:
        """Splits on the longest way from the root to a leaf."""
        check_is_fitted(self)
        return int(self.tree_.depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return int(self.tree_.is_leaf.sum())

    def cost_complexity_pruning_path(
        self,
        X: FrameLike,
        y: ArrayLike,
        *,
        qid: ArrayLike | QueryGroups | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Bunch:
        """Values of ``ccp_alpha`` at which the tree grown on these rows is pruned further.

        Returns
        -------
        Bunch
            ``ccp_alphas`` of shape (n_steps,), ascending from 0, and ``impurities``, the sum of
            the impurities of the leaves from each alpha on.
        """
        grown: Any = clone(self)
        grown.set_params(ccp_alpha=0.0)
        tree = grown.fit(X, y, qid=qid, sample_weight=sample_weight).tree_
        criterion = make_criterion(grown._criterion_or_distances(), len(grown.classes_))
        alphas, lost = pruning_path(tree)
        left = criterion.impurity(tree.counts)[tree.is_leaf].sum()
        return Bunch(ccp_alphas=alphas, impurities=left + lost)

    def score_trees(self) -> list[tuple[Tree, Float64Array]]:
        """The tree and the mean class number of each of its nodes."""
        check_is_fitted(self)
        return [(self.tree_, mean_ranks(self.tree_.counts))]

    def _class_weights(self, X: FloatArray) -> Float64Array:
        return self.tree_.counts[self.tree_.apply(X)]

    def _chosen_tree(self, data: FitData, validation: FitData | None) -> Tree:
        """The tree of the given depth, or of the one that is best on held-out rows."""
        way, depths = self._depths(validation is not None)
        if way == "fixed":
            self.max_depth_ = depths[0]
            return self._grown(data, depths[0])
        if way == "val":
            assert validation is not None
            trees = self._trees(data, depths)
            return trees[self._choose(depths, [self._losses(trees, validation)], np.ones(1))]
        losses, weights = [], []
        for train, test in cv_splits(self.cv, data):
            held_out = take_rows(data, test)
            losses.append(self._losses(self._trees(take_rows(data, train), depths), held_out))
            weights.append(row_weights(held_out).sum())
        return self._grown(data, depths[self._choose(depths, losses, np.array(weights))])

    def _depths(self, has_validation: bool) -> tuple[str, list[Any]]:
        """How the depth is chosen ("fixed", "cv" or "val"), and among which ones, ascending."""
        if self.max_depth is None or isinstance(self.max_depth, Integral):
            return "fixed", [self.max_depth]
        if isinstance(self.max_depth, str):
            if self.max_depth == "val" and not has_validation:
                raise ValueError(
                    'max_depth="val" needs validation data, got X_val=None. Pass X_val and y_val '
                    'to fit, or use max_depth="cv".'
                )
            return self.max_depth, list(DEPTHS)
        grid = np.asarray(self.max_depth)
        if grid.ndim != 1 or not grid.size or grid.dtype.kind not in "iu" or grid.min() < 1:
            raise ValueError(
                f"max_depth must be None, a whole number >= 1, a list of them, 'cv' or 'val', got "
                f"{self.max_depth!r}."
            )
        return "val" if has_validation else "cv", np.unique(grid).tolist()

    def _grown(self, data: FitData, max_depth: int | None) -> Tree:
        data = in_any_order(data)
        return self._grow(self._prepare(data), data, max_depth, data.sample_weight)

    def _trees(self, data: FitData, depths: list[int]) -> list[Tree]:
        """One tree for each depth, the upper parts of the deepest one.

        Growing does not look ahead, so cutting is what growing to the depth gives; but leaves that
        are grown by gain until there are enough of them are others where the depth is another.
        """
        if self.max_leaf_nodes is not None:
            return [self._grown(data, depth) for depth in depths]
        deepest = self._grown(data, depths[-1])
        return [cut_at_depth(deepest, depth) for depth in depths]

    def _losses(self, trees: list[Tree], held_out: FitData) -> list[float]:
        """Mean absolute rank loss of each tree, once pruned."""
        losses = []
        for tree in trees:
            tree = prune(tree, self.ccp_alpha)
            leaves = tree.apply(as_dense(held_out.X))
            predicted = leaf_classes(tree.counts, self.leaf, self.distance_)[leaves]
            loss = np.abs(predicted - held_out.y)
            losses.append(float(np.average(loss, weights=row_weights(held_out))))
        return losses

    def _choose(self, depths: list[int], losses: list[list[float]], weights: Float64Array) -> int:
        """Place of the least depth of least mean loss; keeps the results of the search."""
        mean = np.average(losses, axis=0, weights=weights)
        self.cv_results_ = {
            "max_depth": np.array(depths),
            "fold_test_scores": -np.array(losses),
            "mean_test_score": -mean,
        }
        chosen = int(np.flatnonzero(mean <= mean.min() * (1 + 1e-12))[0])
        self.max_depth_ = depths[chosen]
        return chosen
