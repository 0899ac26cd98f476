"""Base of the ranking tree and the ranking forest: columns, growth limits and leaf rules."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.parameter_constraints import NOT_NEGATIVE, Interval, StrOptions, minimum
from rankwise.features.binning import check_category_numbers
from rankwise.groups import FitData, QueryGroups
from rankwise.ordinal.ordinal_ranker import OrdinalRanker, check_ordinal_fit
from rankwise.row_order import row_hashes
from rankwise.runtime.frames import Table
from rankwise.structure.state_rules import Rule, booleans, floats
from rankwise.trees.column_table import (
    FROM_DTYPE,
    CategoricalInput,
    ColumnTable,
    dense_within_memory,
)
from rankwise.trees.growth import Limits, grow_from, prepare
from rankwise.trees.leaves import LEAF_RULES, distance_matrix, leaf_margins, mean_ranks
from rankwise.trees.split_search import BinnedColumns, SortedColumns
from rankwise.trees.tree import Tree
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import ArrayLike, Float64Array, FloatArray, FrameLike, Int64Array, densify

RankDistance = str | ArrayLike | Callable[[int, int], float] | None

BINNED_FROM = 2_000_000  # number of values from which method="auto" uses bins
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
        return mean_ranks(self._class_weights(self.encoded_rows(X)))

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
        weights = self._class_weights(self.encoded_rows(X))
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

    def score_trees(self) -> list[tuple[Tree, Float64Array]]:
        """Trees with a score for each node; the sum over the leaves of a row is its ``rank_score``.

        Returns
        -------
        list of (Tree, ndarray of shape (n_nodes,))
        """
        raise TypeError(f"{type(self).__name__} must define score_trees.")

    def tree_ensemble(self) -> TreeEnsemble:
        """Trees of :meth:`score_trees` as flat arrays, for rows from :meth:`encoded_rows`."""
        return TreeEnsemble.of_grown(self.score_trees())

    def _prepare(self, data: FitData) -> SortedColumns | BinnedColumns:
        """Sorted or binned columns for growing trees."""
        n_categories = self.columns_.n_categories(self.n_features_in_)
        method = self._method(data, int(n_categories.max(initial=0)))
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

    def _method(self, data: FitData, most_categories: int) -> Literal["exact", "histogram"]:
        if self.method != "auto":
            return self.method
        n_rows = float(len(data.y))
        if data.sample_weight is not None and not (data.sample_weight % 1).any():
            n_rows = data.sample_weight.sum()  # number of rows after repetition
        is_large = n_rows * data.X.shape[1] >= BINNED_FROM and most_categories <= MOST_BINS
        return "histogram" if is_large else "exact"

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
        weights = self._class_weights(self.encoded_rows(X))
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
        self.columns_ = ColumnTable.of(table, self.categorical_features, sample_weight)
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
        self.thresholds_ = np.arange(n_classes - 1) + 0.5
        self.distance_ = distance_matrix(self.rank_distance, n_classes)
        self.has_missing_ = np.isnan(densify(data.X)).any(axis=0)
        return data

    def _encode(self, X: FrameLike | Table) -> Table:
        rows = X if isinstance(X, Table) else dense_within_memory(X)
        return super()._encode(rows)


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


def sort_fractional_rows(data: FitData) -> FitData:
    """Rows sorted by content if weights are fractional, so sums do not depend on their order."""
    weight = data.sample_weight
    if weight is None or not (weight % 1).any():
        return data
    return take_rows(data, np.lexsort((weight, row_hashes(data.X, data.y))))
