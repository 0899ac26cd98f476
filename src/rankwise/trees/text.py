"""A fitted tree in words: the questions of its nodes, and the whole of it as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankwise.trees.columns import ColumnTable
from rankwise.trees.tree import Tree


class FittedTree(Protocol):
    """What a fitted tree estimator has, as far as texts and drawings need it."""

    tree_: Tree
    columns_: ColumnTable
    classes_: NDArray[Any]
    node_classes_: NDArray[Any]
    has_missing_: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TreeNames:
    """Names of the columns and classes of a tree, and how its numbers are printed.

    Attributes
    ----------
    features, classes : list of str
    digits : int
        Significant digits of thresholds.
    """

    features: list[str]
    classes: list[str]
    digits: int

    @classmethod
    def of(
        cls,
        estimator: FittedTree,
        feature_names: Sequence[str] | None,
        class_names: Sequence[str] | None,
        digits: int,
    ) -> TreeNames:
        """Names as given, else those of the fit, else ``x0``, ``x1``, ...

        Raises
        ------
        ValueError
            Where a list has not one name for each column or class.
        """
        n_features = len(estimator.has_missing_)
        features = getattr(estimator, "feature_names_in_", None)
        if features is None:
            features = [f"x{column}" for column in range(n_features)]
        features = _checked("feature_names", feature_names, features)
        classes = _checked("class_names", class_names, estimator.classes_.tolist())
        return cls(features, classes, digits)


def conditions(estimator: FittedTree, node: int, names: TreeNames) -> tuple[str, str]:
    """What holds for the rows that go left and right at an inner node.

    Missing values are named where the column had some in fit. Categories that go left are listed;
    those that the fit has not seen count as missing.
    """
    tree, table = estimator.tree_, estimator.columns_
    column, threshold = int(tree.feature[node]), float(tree.threshold[node])
    name = names.features[column]
    if threshold == np.inf:
        return f"{name} is present", f"{name} is missing"
    if column in table.nominal:
        codes = tree.categories[tree.category_indptr[node] : tree.category_indptr[node + 1]]
        inside = ", ".join(str(table.nominal[column][code]) for code in codes)
        left, right = f"{name} in {{{inside}}}", f"{name} not in {{{inside}}}"
    else:
        value = f"{threshold:.{names.digits}g}"
        if column in table.ordered:
            value = str(table.ordered[column][int(np.floor(threshold))])
        left, right = f"{name} <= {value}", f"{name} > {value}"
    if estimator.has_missing_[column]:
        if tree.missing_left[node]:
            left += " or missing"
        else:
            right += " or missing"
    return left, right


def export_text(
    estimator: FittedTree,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    digits: int = 4,
    show_weights: bool = False,
) -> str:
    """The rules of a fitted tree, one line for each side of a split and for each leaf.

    Parameters
    ----------
    estimator : RankingTree
        Fitted.
    feature_names : sequence of str, optional
        None: those of the fit, else ``x0``, ``x1``, ...
    class_names : sequence of str, optional
        None: ``classes_``.
    max_depth : int >= 0, optional
        Nodes below it are counted and not shown.
    digits : int >= 1, default=4
        Significant digits of thresholds.
    show_weights : bool, default=False
        Add the weight of every class in the leaf.

    Returns
    -------
    str

    Notes
    -----
    O(n_nodes n_classes).

    Examples
    --------
    >>> from rankwise import RankingTree
    >>> from rankwise.trees import export_text
    >>> tree = RankingTree().fit([[1.0], [2.0], [5.0], [6.0]], ["bad", "bad", "fair", "good"])
    >>> print(export_text(tree, feature_names=["clicks"]))
    clicks <= 3.5
    |   class bad
    clicks > 3.5
    |   clicks <= 5.5
    |   |   class fair
    |   clicks > 5.5
    |   |   class good
    """
    names = TreeNames.of(estimator, feature_names, class_names, digits)
    tree = estimator.tree_
    below = _leaves_below(tree)
    lines: list[str] = []
    todo: list[tuple[int, str]] = [(0, "")]  # nodes to write, each with its condition
    while todo:
        node, condition = todo.pop()
        depth = int(tree.depth[node])
        if condition:
            lines.append("|   " * (depth - 1) + condition)
        if tree.feature[node] < 0:
            leaf = f"class {names.classes[estimator.node_classes_[node]]}"
            if show_weights:
                weights = zip(names.classes, tree.counts[node].tolist(), strict=True)
                leaf += f" ({', '.join(f'{name} {weight:g}' for name, weight in weights)})"
            lines.append("|   " * depth + leaf)
        elif max_depth is not None and depth >= max_depth:
            lines.append("|   " * depth + f"... {below[node]} leaves")
        else:
            left, right = conditions(estimator, node, names)
            todo += [(int(tree.right[node]), right), (int(tree.left[node]), left)]
    return "\n".join(lines)


def _leaves_below(tree: Tree) -> list[int]:
    leaves, parent = tree.is_leaf.astype(int).tolist(), tree.parent.tolist()
    for node in range(tree.n_nodes - 1, 0, -1):
        leaves[parent[node]] += leaves[node]
    return leaves


def _checked(argument: str, given: Sequence[str] | None, own: Sequence[Any]) -> list[str]:
    names = [str(name) for name in (own if given is None else given)]
    if len(names) != len(own):
        raise ValueError(f"{argument} must hold {len(own)} names, got {len(names)}.")
    return names
