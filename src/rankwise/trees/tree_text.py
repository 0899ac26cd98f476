"""A fitted tree in words: the questions of its nodes, and the whole of it as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rankwise.runtime.scikit_learn import BaseEstimator
from rankwise.trees.column_table import ColumnTable
from rankwise.trees.tree import Tree
from rankwise.trees.tree_ensemble import TreeEnsemble
from rankwise.typing import Int64Array

SHOWN_CATEGORIES = 127  # half of the categories that a column split by subsets may have
SHOWN_ENCODED = 8  # of those on a side of a threshold, which may be thousands


class FittedTree(Protocol):
    """Parts of a fitted tree estimator that texts and drawings need."""

    tree_: Tree
    columns_: ColumnTable
    classes_: NDArray[Any]
    node_classes_: NDArray[Any]
    has_missing_: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TreeReader:
    """A fitted tree with names for its columns and classes."""

    estimator: FittedTree
    features: list[str]
    classes: list[str]
    digits: int  # significant digits of thresholds
    parent: Int64Array  # (n_nodes,); -1 at the root

    @classmethod
    def of(
        cls,
        estimator: FittedTree,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        digits: int,
    ) -> TreeReader:
        """With names as given, else those of the fit, else ``x0``, ``x1``, ..."""
        _check_tree(estimator)
        features = _feature_names(estimator, feature_names, len(estimator.has_missing_))
        classes = _check_names("class_names", class_names, estimator.classes_.tolist())
        return cls(estimator, features, classes, digits, estimator.tree_.parent)

    @classmethod
    def of_ensemble(
        cls, estimator: Any, number: int, feature_names: Sequence[str] | None, digits: int
    ) -> TreeReader:
        """One tree of a sum of trees, without classes.

        The ``tree_`` of its ``estimator`` has the arrays of
        :class:`rankwise.trees.tree_ensemble.ScoreTree` and those of a
        :class:`rankwise.trees.tree.Tree` that conditions are read from.
        """
        trees: TreeEnsemble = estimator._tree_ensemble()
        if trees.n_trees == 0:
            raise ValueError(f"{type(estimator).__name__} has no trees: it had nothing to learn.")
        if not 0 <= number < trees.n_trees:
            raise ValueError(f"tree must be from 0 to {trees.n_trees - 1}, got {number}.")
        nodes = slice(trees.indptr[number], trees.indptr[number + 1])
        feature, left, right = trees.feature[nodes], trees.left[nodes], trees.right[nodes]
        inner = np.flatnonzero(feature >= 0)
        parent = np.full(len(feature), -1, dtype=np.int64)
        parent[left[inner]] = parent[right[inner]] = inner
        depth = np.zeros(len(feature), dtype=np.int64)
        for node in range(1, len(feature)):
            depth[node] = depth[parent[node]] + 1
        ends = trees.category_indptr[nodes.start : nodes.stop + 1]
        tree = SimpleNamespace(
            feature=feature, threshold=trees.threshold[nodes], left=left, right=right,
            parent=parent, depth=depth, missing_left=trees.missing_left[nodes],
            values=trees.values[nodes], is_leaf=feature < 0, n_nodes=len(feature),
            cover=None if trees.cover is None else trees.cover[nodes],
            gain=None if trees.gain is None else trees.gain[nodes],
            category_indptr=ends, categories=trees.categories,
        )  # fmt: skip
        n_features = int(estimator.n_features_in_)
        view: Any = SimpleNamespace(
            tree_=tree, columns_=estimator.columns_, has_missing_=_missing(estimator, n_features)
        )
        return cls(view, _feature_names(estimator, feature_names, n_features), [], digits, parent)

    def conditions(self, node: int) -> tuple[str, str]:
        """Conditions for going left and for going right at an inner node.

        Missing values are named where the column had some in fit. Of the categories that can
        reach the node those of the shorter list are named; any that the fit has not seen count as
        missing. At a threshold of their statistics, those are named that part from unknown ones,
        which the other side takes.
        """
        tree, table = self.estimator.tree_, self.estimator.columns_
        column, threshold = int(tree.feature[node]), float(tree.threshold[node])
        name = self.features[column]
        if column in table.nominal:
            left, right = self._subsets(node, column)
        elif threshold == np.inf:
            left, right = "is present", "is missing"
        else:
            value = f"{threshold:.{self.digits}g}"
            if column in table.ordered:
                # A threshold between codes k and k + 1 has category k as the last one on the left.
                value = str(table.ordered[column][int(np.floor(threshold))])
            left, right = f"<= {value}", f"> {value}"
        if left not in ("is present", "is missing") and self._missing_reaches(node, column):
            if tree.missing_left[node]:
                left += " or missing"
            else:
                right += " or missing"
        return f"{name} {left}", f"{name} {right}"

    def _subsets(self, node: int, column: int) -> tuple[str, str]:
        """Categories of a nominal column that go left, and those that go right."""
        tree, table = self.estimator.tree_, self.estimator.columns_
        reach, inside = self._reaching(node, column), self._codes(node)
        left, right = sorted(reach & inside), sorted(reach - inside)
        is_right_named = len(right) < max(len(left), 1)
        if column in table.statistics:
            is_right_named = bool(table.prior[column] <= tree.threshold[node])
        named = right if is_right_named else left
        n_shown = SHOWN_ENCODED if column in table.statistics else SHOWN_CATEGORIES
        listed = [_word(table.nominal[column][code]) for code in named[:n_shown]]
        if len(named) > n_shown:
            listed.append(f"{len(named) - n_shown} more")
        others, these = f"not in {{{', '.join(listed)}}}", f"in {{{', '.join(listed)}}}"
        if not named and bool(tree.missing_left[node]) != is_right_named:
            others, these = "is present", "is missing"
        return (others, these) if is_right_named else (these, others)

    def _reaching(self, node: int, column: int) -> set[int]:
        """Codes of a nominal column that the splits above let through."""
        tree = self.estimator.tree_
        reach = set(range(len(self.estimator.columns_.nominal[column])))
        while node:
            above = int(self.parent[node])
            if tree.feature[above] == column:
                inside = self._codes(above)
                reach = reach & inside if tree.left[above] == node else reach - inside
            node = above
        return reach

    def _missing_reaches(self, node: int, column: int) -> bool:
        """Whether the column had missing values in fit and no split above sends them elsewhere."""
        tree = self.estimator.tree_
        reaches = bool(self.estimator.has_missing_[column])
        while node:
            above = int(self.parent[node])
            if tree.feature[above] == column:
                reaches &= bool(tree.missing_left[above]) == (tree.left[above] == node)
            node = above
        return reaches

    def _codes(self, node: int) -> set[int]:
        """Codes that go left at a nominal node."""
        tree, table = self.estimator.tree_, self.estimator.columns_
        column = int(tree.feature[node])
        if column in table.statistics:
            return set(np.flatnonzero(table.statistics[column] <= tree.threshold[node]).tolist())
        of_node = slice(tree.category_indptr[node], tree.category_indptr[node + 1])
        return set(tree.categories[of_node].astype(np.int64).tolist())


def export_text(
    estimator: Any,
    *,
    tree: int = 0,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    digits: int = 4,
    show_weights: bool = False,
) -> str:
    """The rules of a fitted tree, one line for each side of a split and for each leaf.

    Parameters
    ----------
    estimator : RankingTree, RankingForest, LambdaMART or an adapter of a boosting library
        Fitted.
    tree : int >= 0, default=0
        Number of the tree, if there are several.
    feature_names : sequence of str, optional
        None: those of the fit, else ``x0``, ``x1``, ...
    class_names : sequence of str, optional
        None: ``classes_``. Only a RankingTree has any.
    max_depth : int >= 0, optional
        Nodes below it are counted and not shown.
    digits : int >= 1, default=4
        Significant digits of thresholds and scores.
    show_weights : bool, default=False
        Add the weight of every class in the leaf; of trees with scores that of the leaf's rows.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a list does not have one name for each column or class, or the tree does not exist.
    NotFittedError, TypeError
        If the tree is not fitted, or the estimator is none.

    Notes
    -----
    O(n_nodes n_classes).

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.trees import export_text
    >>> tree = RankingTree(classes=["bad", "fair", "good"])
    >>> tree = tree.fit([[1.0], [2.0], [5.0], [6.0]], ["bad", "bad", "fair", "good"])
    >>> print(export_text(tree, feature_names=["clicks"]))
    clicks <= 3.5
    |   class bad
    clicks > 3.5
    |   clicks <= 5.5
    |   |   class fair
    |   clicks > 5.5
    |   |   class good
    """
    if has_scores(estimator):
        check_no_classes(estimator, class_names)
        reader = TreeReader.of_ensemble(estimator, tree, feature_names, digits)
        boosted: Any = reader.estimator.tree_

        def score(node: int) -> str:
            cover = boosted.cover if show_weights else None
            weight = "" if cover is None else f" ({cover[node]:g})"
            return f"score {boosted.values[node]:.{digits}g}{weight}"

        return _rules(reader, boosted, max_depth, score)
    reader = TreeReader.of(estimator, feature_names, class_names, digits)
    grown, names = estimator.tree_, reader.classes
    if tree != 0:
        raise ValueError(f"tree must be 0 for a single tree, got {tree}.")

    def leaf(node: int) -> str:
        text = f"class {names[estimator.node_classes_[node]]}"
        if show_weights:
            weights = zip(names, grown.counts[node].tolist(), strict=True)
            text += f" ({', '.join(f'{name} {weight:g}' for name, weight in weights)})"
        return text

    return _rules(reader, grown, max_depth, leaf)


def _rules(reader: TreeReader, tree: Any, max_depth: int | None, leaf: Callable[[int], str]) -> str:
    """The lines of a tree whose leaves read as ``leaf(node)``."""
    below, parent = tree.is_leaf.astype(int).tolist(), tree.parent.tolist()
    for node in range(tree.n_nodes - 1, 0, -1):  # leaves below each node
        below[parent[node]] += below[node]
    lines: list[str] = []
    todo: list[tuple[int, int, str]] = [(0, 0, "")]  # nodes to write: depth, condition
    while todo:
        node, depth, condition = todo.pop()
        if condition:
            lines.append("|   " * (depth - 1) + condition)
        if tree.feature[node] < 0:
            lines.append("|   " * depth + leaf(node))
        elif max_depth is not None and depth >= max_depth:
            lines.append("|   " * depth + f"... {below[node]} leaves")
        else:
            left, right = reader.conditions(node)
            # A stack: the left side, pushed last, is written first.
            todo.append((int(tree.right[node]), depth + 1, right))
            todo.append((int(tree.left[node]), depth + 1, left))
    return "\n".join(lines)


def has_scores(estimator: Any) -> bool:
    """Whether an estimator is a sum of trees with scores; a RankingTree has classes."""
    is_sum = isinstance(estimator, BaseEstimator) and hasattr(estimator, "_tree_ensemble")
    return is_sum and not hasattr(estimator, "get_n_leaves")


def check_no_classes(estimator: Any, class_names: Sequence[str] | None) -> None:
    """Raise ValueError for names of classes that the trees do not have."""
    if class_names is not None:
        raise ValueError(
            f"class_names must be None for {type(estimator).__name__}: its trees have scores."
        )


def _missing(estimator: Any, n_features: int) -> Any:
    """Columns whose splits mention missing values."""
    own = getattr(estimator, "has_missing_", None)
    if own is not None:
        return own
    stored = estimator._stored_trees()
    return np.full(n_features, stored.has_missing or not stored.tells_missing)


def _feature_names(estimator: Any, given: Sequence[str] | None, n_features: int) -> list[str]:
    own = getattr(estimator, "feature_names_in_", None)
    own = [f"x{column}" for column in range(n_features)] if own is None else own
    return _check_names("feature_names", given, own)


def _word(category: Any) -> str:
    return f"{category:g}" if isinstance(category, float) else str(category)


def _check_tree(estimator: Any) -> None:
    """Raise if an estimator is not a tree, or not fitted."""
    if all(hasattr(estimator, name) for name in ("tree_", "columns_", "node_classes_")):
        return
    if isinstance(estimator, BaseEstimator) and hasattr(estimator, "decision_path"):
        check_is_fitted(estimator)
    raise TypeError(
        f"estimator must be a fitted RankingTree, got {type(estimator).__name__}. Of another "
        "library's tree use that library's own function."
    )


def _check_names(argument: str, given: Sequence[str] | None, own: Sequence[Any]) -> list[str]:
    names = [str(name) for name in (own if given is None else given)]
    if len(names) != len(own):
        raise ValueError(f"{argument} must hold {len(own)} names, got {len(names)}.")
    return names
