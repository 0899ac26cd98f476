"""Ranking tree: a decision tree whose splits separate pairs of rows with different ranks.

The gain of a split is ``I(T) - I(T_L) - I(T_R)``, with the rank impurity
``I(T) = sum_{i<j} (j - i) N_i N_j`` of the numbers N of rows of each rank [1]_, equations (1) and
(2).

Composition: columns x rank impurity x grower, then pruning and a leaf rule."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from rankwise.checks.parameter_constraints import StrOptions, minimum
from rankwise.checks.rows import check_validation
from rankwise.groups import FitData, QueryGroups
from rankwise.ordinal.tree_ranker import (
    TREE_CONSTRAINTS,
    RankDistance,
    TreeRanker,
    importances,
    row_weights,
    sort_fractional_rows,
    take_rows,
)
from rankwise.structure.state_rules import (
    Instance,
    Number,
    Optional,
    Plain,
    Rule,
    Sometimes,
    integers,
)
from rankwise.trees.column_table import FROM_DTYPE
from rankwise.trees.leaves import LeafRule, leaf_classes, mean_ranks
from rankwise.trees.node_splits import make_criterion
from rankwise.trees.tree import Tree, cut_at_depth, prune, pruning_path
from rankwise.tuning import cv_splits
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Int64Array, densify

DEPTHS = range(1, 21)  # searched by "cv" and "val"


class RankingTree(TreeRanker):
    """Decision tree for ordered classes, grown by rank impurity.

    Parameters
    ----------
    max_depth : int >= 1, None, list of int, "cv" or "val", default=None
        Largest number of splits from the root to a leaf. None: grow until no split has a gain. A
        list is searched on ``X_val`` if it is given, otherwise with ``cv`` folds. The search
        minimises the mean absolute rank loss; ties go to the smallest depth. "cv" and "val" search
        1, 2, ..., 20.
    criterion : {"rank", "gini", "entropy", "absolute_error"}, default="rank"
        Impurity that splits reduce, summed over the rows of a node and not divided by their weight.
        "rank": ``sum_{i<j} d(i, j) N_i N_j``. "gini": N times the Gini impurity. "entropy": N times
        the entropy. "absolute_error": ``sum_i |y_i - median|``.
    leaf : {"median", "mode", "mean", "probabilities"}, default="median"
        Class that a leaf predicts. "median": the class of least absolute loss. "mode": the most
        frequent class. "mean": the class nearest to the mean class number. "probabilities": the
        class of least mean ``rank_distance``. Ties go to the lower class, except for "mean".
    rank_distance : None, {"absolute", "squared", "zero_one"}, array or callable, default=None
        Distance d between ranks 0, 1, ..., used by ``criterion="rank"`` and
        ``leaf="probabilities"``. It must not decrease as ranks move apart. None: ``|i - j|``. An
        array has shape (n_classes, n_classes); a function is called as ``d(i, j)``.
    method : {"exact", "histogram", "auto"}, default="auto"
        Candidate thresholds. "exact": midpoints between all adjacent values. "histogram": limits of
        at most ``max_bins`` bins. "auto": "histogram" from 2,000,000 values on.
    max_bins : int from 2 to 255, default=255
        Largest number of bins per column.
    min_samples_leaf : int >= 1, default=1
        Smallest weight of a leaf, or number of rows without weights. 1: no limit, even for weights
        below 1.
    min_samples_split : int >= 2, default=2
        Smallest weight of a node that may be split. 2: no limit.
    max_leaf_nodes : int >= 2, optional
        Largest number of leaves; splits with the largest gain come first.
    min_gain : float >= 0, default=0.0
        Gain that a split must exceed, in units of the impurity of ``criterion``.
    ccp_alpha : float >= 0, default=0.0
        Cost of a leaf in the same units. The tree is pruned to the subtree that minimises impurity
        plus ``ccp_alpha`` times the number of leaves.
    categorical_features : {"from_dtype"}, array-like of bool, int or str, or None
        Nominal columns of any dtype, as a mask, numbers or names. They are split by subsets of
        their categories. In frames, text and unordered categories are also nominal; ordered
        categories are split by their order. None: all columns are numeric.
    cv : int, splitter or iterable of (train rows, test rows), default=5
        Number of cross-validation folds, made of whole queries (of rows if there are fewer queries
        than folds). A scikit-learn splitter receives the queries as ``groups``.
    classes : array-like of shape (n_classes,), optional
        All classes, lowest first. Required if y holds text; numbers, booleans and ordered
        categoricals already have an order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Ordered classes, lowest first.
    tree_ : Tree
        Fitted tree as arrays over the nodes, see ``rankwise.trees.tree.Tree``.
    node_classes_ : ndarray of shape (n_nodes,), int64
        Class number of each node under the leaf rule.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column in the gains of all splits. The sum is 1 (0 without splits).
    thresholds_ : ndarray of shape (n_classes - 1,)
        0.5, 1.5, ...: thresholds that assign ``rank_score`` to the nearest class. ``predict``
        follows the leaf rule, which agrees with them only for "mean".
    max_depth_ : int or None
        Given or chosen depth.
    cv_results_ : dict with "max_depth", "fold_test_scores" and "mean_test_score" (after a search)
        Negative mean absolute rank loss of each fold, shape (n_folds, n_depths), and its mean over
        all rows, shape (n_depths,).
    columns_ : ColumnTable
        Types and categories of the columns.
    has_missing_ : ndarray of shape (n_features_in_,), bool
        Whether each column has missing values in the training rows.
    distance_ : ndarray of shape (n_classes, n_classes)
        ``rank_distance`` as a matrix.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X has column names.
    score_name_ : str
        Name of the measure that ``score`` returns.

    Notes
    -----
    ``rank_score`` is the mean class number in the leaf. Missing values (NaN, None, NA) go to the
    side that gives the larger gain, or to the heavier child if the node had no missing values in
    training. Unseen categories are treated like missing values. With up to 8 categories in a node
    all subsets are tried; with more, categories are sorted by their mean class and split in this
    order. A column with many categories has many splits, so it can gain by chance. Sparse rows are
    made dense, because a split needs whole columns.

    For n rows, d columns and K classes, ``method="exact"`` costs O(n d log n) for sorting and O(n d
    K) for each level of the tree; "histogram" costs O(n d) for each level. A weight is equivalent
    to repeating the row. Queries are only used to form folds. Monotone transformations of a column
    do not change the predicted classes of the training rows.

    ``ccp_alpha`` of scikit-learn's trees equals ``ccp_alpha`` of ``criterion="gini"`` divided by
    the weight of all rows, because scikit-learn divides impurities by this weight.

    Differs from [1]: supports any rank distance, weights and missing values, and chooses the depth
    by cross-validation of the rank loss. The paper uses depth 9 and no other stopping rule.

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
        "tree_": Instance((Tree,)),
        "max_depth_": Optional(Number("i", low=1)),
        "cv_results_": Sometimes(Plain()),
    }

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TREE_CONSTRAINTS,
        "max_depth": [minimum(1), None, "array-like", StrOptions({"cv", "val"})],
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
            Query of each row, used to form the folds of ``max_depth="cv"``.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, >= 0. A row of whole weight w counts as w copies of it.
        X_val, y_val, qid_val : optional
            Validation rows for choosing ``max_depth``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an input is invalid; the message names it.
        """
        self._validate_params()
        vars(self).pop("cv_results_", None)
        data = self._read(X, y, qid, sample_weight)
        X_val = None if X_val is None else self._encode(X_val)
        validation = check_validation(
            self, data, X_val, y_val, qid_val, accept_sparse=False, allow_nan=True
        )
        tree = self._choose_tree(data, validation)
        self.tree_ = prune(tree, self.ccp_alpha)
        self.node_classes_ = leaf_classes(self.tree_.counts, self.leaf, self.distance_)
        return self

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each column in the gains of all splits."""
        check_is_fitted(self)
        return importances(self.tree_, self.n_features_in_)

    def apply(self, X: FrameLike) -> Int64Array:
        """Leaf of every row as a node number of ``tree_``, shape (n_samples,)."""
        rows = self.encoded_rows(X)
        return self.tree_.apply(rows)

    def decision_path(self, X: FrameLike) -> Any:
        """Nodes on the path of every row: boolean CSR matrix of shape (n_samples, n_nodes)."""
        rows = self.encoded_rows(X)
        return self.tree_.decision_path(rows)

    def get_depth(self) -> int:
        """Number of splits on the longest path from the root to a leaf."""
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
            ``ccp_alphas`` of shape (n_steps,), ascending from 0, and ``impurities``: the total
            impurity of the leaves of the subtree from each alpha on.
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

    def _choose_tree(self, data: FitData, validation: FitData | None) -> Tree:
        """Tree of the given depth, or of the depth that is best on held-out rows."""
        way, depths = self._depths(validation is not None)
        if way == "fixed":
            self.max_depth_ = depths[0]
            return self._grow_to_depth(data, depths[0])
        if way == "val":
            assert validation is not None
            trees = self._trees(data, depths)
            return trees[self._choose(depths, [self._losses(trees, validation)], np.ones(1))]
        losses, weights = [], []
        for train, test in cv_splits(self.cv, data):
            held_out = take_rows(data, test)
            losses.append(self._losses(self._trees(take_rows(data, train), depths), held_out))
            weights.append(row_weights(held_out).sum())
        return self._grow_to_depth(data, depths[self._choose(depths, losses, np.array(weights))])

    def _depths(self, has_validation: bool) -> tuple[str, list[Any]]:
        """How the depth is chosen ("fixed", "cv" or "val"), and the candidate depths, ascending."""
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

    def _grow_to_depth(self, data: FitData, max_depth: int | None) -> Tree:
        data = sort_fractional_rows(data)
        return self._grow(self._prepare(data), data, max_depth, data.sample_weight)

    def _trees(self, data: FitData, depths: list[int]) -> list[Tree]:
        """One tree for each depth, cut from the deepest tree if possible.

        Growing does not look ahead, so cutting the deepest tree is equivalent to growing to a
        smaller depth. With ``max_leaf_nodes`` it is not, because a depth limit changes the splits
        that are made first.
        """
        if self.max_leaf_nodes is not None:
            return [self._grow_to_depth(data, depth) for depth in depths]
        deepest = self._grow_to_depth(data, depths[-1])
        return [cut_at_depth(deepest, depth) for depth in depths]

    def _losses(self, trees: list[Tree], held_out: FitData) -> list[float]:
        """Mean absolute rank loss of each tree after pruning."""
        losses = []
        for tree in trees:
            tree = prune(tree, self.ccp_alpha)
            leaves = tree.apply(densify(held_out.X))
            predicted = leaf_classes(tree.counts, self.leaf, self.distance_)[leaves]
            loss = np.abs(predicted - held_out.y)
            losses.append(float(np.average(loss, weights=row_weights(held_out))))
        return losses

    def _choose(self, depths: list[int], losses: list[list[float]], weights: Float64Array) -> int:
        """Position of the smallest depth of least mean loss; stores the results of the search."""
        mean = np.average(losses, axis=0, weights=weights)
        self.cv_results_ = {
            "max_depth": np.array(depths),
            "fold_test_scores": -np.array(losses),
            "mean_test_score": -mean,
        }
        chosen = int(np.flatnonzero(mean <= mean.min() * (1 + 1e-12))[0])
        self.max_depth_ = depths[chosen]
        return chosen
