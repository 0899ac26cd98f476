"""Ranking tree: a decision tree whose splits separate pairs of rows with different ranks.

The gain of a split is ``I(T) - I(T_L) - I(T_R)``, with the rank impurity
``I(T) = sum_{i<j} (j - i) N_i N_j`` of the numbers N of rows of each rank [1]_, equations (1) and
(2).

Composition: columns x rank impurity x grower, then pruning and a leaf rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Bunch

from rankwise.checks.parameter_constraints import NOT_NEGATIVE, Interval, StrOptions, minimum
from rankwise.checks.rows import check_validation
from rankwise.features.binning import check_category_numbers
from rankwise.groups import FitData, QueryGroups
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit
from rankwise.row_order import row_hashes
from rankwise.runtime.frames import Table
from rankwise.runtime.scikit_learn import check_is_fitted
from rankwise.structure.state_rules import (
    Instance,
    Number,
    Optional,
    Plain,
    Rule,
    Sometimes,
    booleans,
    floats,
    integers,
)
from rankwise.trees.column_table import (
    FROM_DTYPE,
    CategoricalInput,
    ColumnTable,
    dense_within_memory,
)
from rankwise.trees.growth import Limits, grow_from, prepare
from rankwise.trees.leaves import (
    LEAF_RULES,
    LeafRule,
    distance_matrix,
    leaf_classes,
    leaf_margins,
    mean_ranks,
)
from rankwise.trees.node_splits import make_criterion
from rankwise.trees.split_search import BinnedColumns, SortedColumns
from rankwise.trees.tree import Tree, cut_at_depth, prune, pruning_path
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.tuning import cv_splits
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Int64Array, densify

DEPTHS = range(1, 21)  # searched by "cv" and "val"
MOST_BINS = 255
TREE_CONSTRAINTS: dict[str, list[Any]] = {
    "criterion": [StrOptions({"rank", "gini", "entropy", "absolute_error"})],
    "leaf": [StrOptions(set(LEAF_RULES))],
    "rank_distance": [str, "array-like", callable, None],
    "method": [StrOptions({"exact", "histogram", "auto"})],
    "max_bins": [Interval(Integral, 2, MOST_BINS, closed="both")],
    "min_samples_leaf": [minimum(1)],
    "min_samples_split": [minimum(2)],
    "max_leaf_nodes": [minimum(2), None],
    "min_gain": [NOT_NEGATIVE],
    "ccp_alpha": [NOT_NEGATIVE],
    "categorical_features": [StrOptions({FROM_DTYPE}), "array-like", None],
    "classes": ["array-like", None],
}


class TreeRanker(CategoricalInput, OrdinalRanker):
    """Base of ranking trees, which map columns of any type to class weights in a leaf.

    A subclass has the parameters of ``TREE_CONSTRAINTS`` and defines ``_class_weights(X)``.
    """

    _limits: ClassVar[dict[str, Any]] = {
        "min_samples_leaf": 1, "min_samples_split": 2, "min_gain": 0.0, "ccp_alpha": 0.0,
    }  # fmt: skip

    _structure: ClassVar[dict[str, Rule]] = {
        "distance_": floats("n_classes", "n_classes"),
        "has_missing_": booleans("n_features_in_"),
    }

    _parameter_constraints: ClassVar[dict[str, Any]]
    criterion: str
    leaf: Any
    rank_distance: RankDistance
    method: Literal["exact", "histogram", "auto"]
    max_bins: int
    min_samples_leaf: int
    min_samples_split: int
    max_leaf_nodes: int | None
    min_gain: float
    categorical_features: Any
    n_features_in_: int
    distance_: Float64Array

    def _check_structure(self) -> None:
        self.columns_.check_width(self.n_features_in_)

    def _class_weights(self, X: FloatArray) -> Float64Array:
        """Class weights in the leaf of each row, shape (n_samples, n_classes)."""
        raise TypeError(f"{type(self).__name__} must define _class_weights.")

    def rank_score(self, X: FrameLike) -> Float64Array:
        """Mean class number in the leaf of every row, between 0 and n_classes - 1.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        return mean_ranks(self._class_weights(self._encoded_rows(X)))

    def predict(self, X: FrameLike) -> NDArray[Any]:
        """Class of every row under the leaf rule; only "mean" uses ``rank_score`` and thresholds.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), of the type of ``classes_``
        """
        if self.leaf == "mean":
            return super().predict(X)
        margins = self._margins(X)
        return self.classes_[margins.argmax(axis=1)]

    def predict_proba(self, X: FrameLike) -> Float64Array:
        """Class shares in the leaf of every row.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
        """
        weights = self._class_weights(self._encoded_rows(X))
        return weights / weights.sum(axis=1, keepdims=True)

    def decision_function(self, X: FrameLike) -> Float64Array:
        """Value of each class under the leaf rule, in scikit-learn's shape; higher is better.

        Parameters
        ----------
        X : array-like, CSR or frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes), float64
            "median", "probabilities": negative mean distance from each class. "mode": class shares.
            "mean": distance of the score from the thresholds. The predicted class has the largest
            value; ties go to the lower class. For two classes: value of the upper class minus that
            of the lower class.
        """
        if self.leaf == "mean":
            return super().decision_function(X)
        margins = self._margins(X)
        return margins[:, 1] - margins[:, 0] if margins.shape[1] == 2 else margins

    def _prepare(self, data: FitData) -> SortedColumns | BinnedColumns:
        """Sorted or binned columns for growing trees."""
        n_categories = self.columns_.n_categories(self.n_features_in_)
        method = self.method
        if method == "auto":
            n_rows = float(len(data.y))
            if data.sample_weight is not None and not (data.sample_weight % 1).any():
                n_rows = data.sample_weight.sum()  # number of rows after repetition
            are_few = int(n_categories.max(initial=0)) <= MOST_BINS
            is_large = n_rows * data.X.shape[1] >= BINNED_FROM and are_few
            method = "histogram" if is_large else "exact"
        if method == "histogram":
            check_category_numbers(n_categories, getattr(self, "feature_names_in_", None))
        return prepare(
            densify(data.X),
            n_categories=n_categories,
            method=method,
            max_bins=self.max_bins,
            weight=data.sample_weight,
        )

    def _criterion_or_distances(self) -> str | Float64Array:
        has_distance = self.criterion == "rank" and self.rank_distance is not None
        return self.distance_ if has_distance else self.criterion

    @property
    def _most_categories(self) -> int | None:
        return MOST_BINS if self.method == "histogram" else None

    def _grow(
        self,
        prepared: SortedColumns | BinnedColumns,
        data: FitData,
        max_depth: int | None,
        weight: Float64Array | None,
        *,
        max_features: int | None = None,
        seed: int = 0,
    ) -> Tree:
        """Grow one tree on prepared columns."""
        limits = Limits(
            max_depth=max_depth,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            min_gain=self.min_gain,
            max_leaf_nodes=self.max_leaf_nodes,
            max_features=max_features,
            seed=seed,
        )
        return grow_from(
            prepared,
            data.y.astype(np.int64),
            len(self.classes_),
            weight,
            self._criterion_or_distances(),
            limits,
        )

    def _margins(self, X: FrameLike) -> Float64Array:
        weights = self._class_weights(self._encoded_rows(X))
        return leaf_margins(weights, self.leaf, self.distance_)

    def _read(
        self,
        X: FrameLike,
        y: ArrayLike | None,
        qid: ArrayLike | QueryGroups | None,
        sample_weight: ArrayLike | None = None,
    ) -> FitData:
        """Check the training rows, and set the attributes that are needed to read later rows."""
        table = Table.of(dense_within_memory(X))
        self.columns_: ColumnTable = ColumnTable.of(table, self.categorical_features, sample_weight)
        data = check_ordinal_fit(
            self,
            self.columns_.encode(table),
            y,
            qid,
            sample_weight,
            accept_sparse=False,
            allow_nan=True,
        )
        n_classes = len(self.classes_)
        self.thresholds_: Float64Array = np.arange(n_classes - 1) + 0.5
        self.distance_ = distance_matrix(self.rank_distance, n_classes)
        self.has_missing_: Any = np.isnan(densify(data.X)).any(axis=0)
        return data

    def _encode(self, X: FrameLike | Table) -> FrameLike | Table:
        rows = X if isinstance(X, Table) else dense_within_memory(X)
        return super()._encode(rows)


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
        their categories. In frames, text whose values repeat and unordered categories are also
        nominal; ordered categories are split by their order. None: all columns are numeric.
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
    K) for each level of the tree; "histogram" costs O(n d) for each level. Memory is O(n d). A
    weight is equivalent to repeating the row. Queries are only used to form folds. Monotone
    transformations of a column do not change the predicted classes of the training rows.

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
    >>> X = pd.DataFrame({"colour": ["red", "blue", "red", "blue", None], "size": range(5)})
    >>> tree = RankingTree(classes=["poor", "fair", "good"])
    >>> tree.fit(X, ["poor", "good", "fair", "good", "good"]).predict(X).tolist()
    ['poor', 'good', 'fair', 'good', 'good']
    >>> tree.rank_score(X)
    array([0., 2., 1., 2., 2.])
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
        *,
        leaf: LeafRule = "median",
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
        self.rank_distance: RankDistance = rank_distance
        self.method: Literal["exact", "histogram", "auto"] = method
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
        rows_val = None if X_val is None else self._encode(X_val)
        validation = check_validation(
            self, data, rows_val, y_val, qid_val, accept_sparse=False, allow_nan=True
        )
        tree = self._choose_tree(data, validation)
        self.tree_: Tree = prune(tree, self.ccp_alpha)
        self.node_classes_: Any = leaf_classes(self.tree_.counts, self.leaf, self.distance_)
        return self

    @property
    def feature_importances_(self) -> Float64Array:
        """Share of each column in the gains of all splits."""
        check_is_fitted(self)
        return importances(self.tree_, self.n_features_in_)

    def apply(self, X: FrameLike) -> Int64Array:
        """Leaf of every row as a node number of ``tree_``, shape (n_samples,)."""
        rows = self._encoded_rows(X)
        return self.tree_.apply(rows)

    def decision_path(self, X: FrameLike) -> Any:
        """Nodes on the path of every row: boolean CSR matrix of shape (n_samples, n_nodes)."""
        rows = self._encoded_rows(X)
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

    def _tree_ensemble(self) -> TreeEnsemble:
        """The tree with the mean class number of each node, for rows from ``_encoded_rows``."""
        check_is_fitted(self)
        return TreeEnsemble.of_grown([(self.tree_, mean_ranks(self.tree_.counts))])

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
        weight = data.sample_weight
        if weight is not None and (weight % 1).any():
            # Sorted by content, so that sums do not depend on the order of the rows
            data = take_rows(data, np.lexsort((weight, row_hashes(data.X, data.y))))
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
        self.cv_results_: dict[str, Any] = {
            "max_depth": np.array(depths),
            "fold_test_scores": -np.array(losses),
            "mean_test_score": -mean,
        }
        chosen = int(np.flatnonzero(mean <= mean.min() * (1 + 1e-12))[0])
        self.max_depth_: Any = depths[chosen]
        return chosen


RankDistance = (
    Literal["absolute", "squared", "zero_one"] | ArrayLike | Callable[[int, int], float] | None
)

BINNED_FROM = 2_000_000  # number of values from which method="auto" uses bins


def take_rows(data: FitData, rows: Int64Array) -> FitData:
    """Some of the checked rows, in the given order."""
    weight = None if data.sample_weight is None else data.sample_weight[rows]
    return FitData(data.X[rows], data.y[rows], data.groups.take(rows), weight, classes=data.classes)


def row_weights(data: FitData) -> Float64Array:
    """Weights of the rows; 1 without ``sample_weight``."""
    return np.ones(len(data.y)) if data.sample_weight is None else data.sample_weight


def importances(tree: Tree, n_features: int) -> Float64Array:
    """Share of each column in the gains of all splits; all 0 without splits."""
    inner = ~tree.is_leaf
    gains = np.bincount(tree.feature[inner], weights=tree.gain[inner], minlength=n_features)
    return gains / (gains.sum() or 1.0)
