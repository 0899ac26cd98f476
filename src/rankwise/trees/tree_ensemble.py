"""Sum of trees as flat arrays, for the trees of this library and of boosting libraries.

Code that works on trees of any model (:mod:`rankwise.explain`) uses this format. A tree-based
estimator provides it with the method ``tree_ensemble()``, and encodes rows for its trees with the
method ``encoded_rows(X)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.runtime.threads import available_threads
from rankwise.structure.rules import (
    Array,
    Number,
    Optional,
    Rule,
    booleans,
    check_children,
    floats,
    integers,
    require,
)
from rankwise.trees.ensemble_scores import add_scores
from rankwise.trees.score_tree import ScoreTree
from rankwise.trees.tree import Tree
from rankwise.typing import Float64Array, Int64Array, Matrix


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Score function: ``constant`` plus the value of the leaf that a row reaches in every tree.

    Tree t has the nodes ``indptr[t]:indptr[t + 1]`` of every array below. Nodes are numbered
    within their tree: node 0 is the root, children come after their parent.

    A row goes left at a node if its value is at most the threshold or, at a node of ``nominal``, if
    it is one of the node's categories. NaN goes to the side of ``missing_left``.

    Attributes
    ----------
    indptr : ndarray of shape (n_trees + 1,), int64
    feature : ndarray of shape (n_nodes,), int32
        Column that the node tests; -1 at leaves.
    threshold : ndarray of shape (n_nodes,), float64
        Not read at leaves and nominal nodes.
    left, right : ndarray of shape (n_nodes,), int32
        Children within the tree; not read at leaves.
    missing_left : ndarray of shape (n_nodes,), bool
    values : ndarray of shape (n_nodes,), float64
        Scores of the leaves; not read at other nodes.
    cover : ndarray of shape (n_nodes,), float64, or None
        Total weight >= 0 of the training rows in each node; a parent's weight is the sum of its
        children's. None: the model does not store it, so path-dependent values are not available.
    nominal : ndarray of shape (n_nodes,), bool
    category_indptr : ndarray of shape (n_nodes + 1,), int64
    categories : ndarray of shape (category_indptr[-1],), float64
        Values that go left at node i of all nodes, ascending:
        ``categories[category_indptr[i]:category_indptr[i + 1]]``.
    zero_missing : ndarray of shape (n_nodes,), bool
        Whether a node treats 0 as a missing value.
    gain : ndarray of shape (n_nodes,), float64, or None
        Decrease of the training loss by each split, in the units of its library; 0 at leaves. A
        split that all nodes of a level share may increase the loss in one of them. None: the model
        does not store it.
    constant : float
        Added to the sum of the trees.
    in_float32 : bool
        Whether the model rounds rows to float32 before it compares them.
    """

    _structure: ClassVar[dict[str, Rule]] = {
        "indptr": integers("n_trees + 1", dtype="i8", low=0, ascending=True),
        "feature": integers("n_nodes", dtype="i4", low=-1, below="n_features_in_"),
        "threshold": Array(("n_nodes",), dtype="f8", numbers="any"),
        "left": integers("n_nodes", dtype="i4", low=-1),
        "right": integers("n_nodes", dtype="i4", low=-1),
        "missing_left": booleans("n_nodes"),
        "values": floats("n_nodes", dtype="f8"),
        "cover": Optional(floats("n_nodes", dtype="f8", low=0)),
        "nominal": booleans("n_nodes"),
        "category_indptr": integers("n_nodes + 1", dtype="i8", low=0, ascending=True),
        "categories": floats("n_categories", dtype="f8"),
        "zero_missing": booleans("n_nodes"),
        "gain": Optional(floats("n_nodes", dtype="f8")),
        "constant": Number("f"),
        "in_float32": Number("b"),
    }

    indptr: Int64Array
    feature: NDArray[np.int32]
    threshold: Float64Array
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    values: Float64Array
    cover: Float64Array | None
    nominal: NDArray[np.bool_]
    category_indptr: Int64Array
    categories: Float64Array
    zero_missing: NDArray[np.bool_]
    constant: float = 0.0
    in_float32: bool = False
    gain: Float64Array | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.indptr) - 1

    @classmethod
    def of(
        cls, trees: Sequence[ScoreTree], constant: float = 0.0, *, in_float32: bool = False
    ) -> TreeEnsemble:
        """Join trees, in their order.

        Parameters
        ----------
        trees : sequence of ScoreTree
            Values that neither go left nor are missing go right.
        constant : float, default=0.0
        in_float32 : bool, default=False
        """
        trees = [parents_first(tree) for tree in trees]
        sizes = [len(tree.feature) for tree in trees]
        indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

        def joined(name: str, dtype: Any) -> Any:
            parts = [getattr(tree, name) for tree in trees]
            # The empty array lets no trees at all be joined too.
            return np.concatenate([np.zeros(0), *parts]).astype(dtype)

        n_nodes = int(indptr[-1])
        has_cover = all(tree.cover is not None for tree in trees)
        has_gain = all(tree.gain is not None for tree in trees)
        nominal, zero_missing = np.zeros(n_nodes, dtype=bool), np.zeros(n_nodes, dtype=bool)
        lengths, categories = np.zeros(n_nodes, dtype=np.int64), [np.zeros(0)]
        for start, tree in zip(indptr.tolist(), trees, strict=False):
            if tree.zero_missing is not None:
                zero_missing[start : start + len(tree.feature)] = tree.zero_missing
            for node in sorted(tree.members):
                to_left = np.sort(tree.members[node][0])
                nominal[start + node], lengths[start + node] = True, len(to_left)
                categories.append(to_left)
        return cls(
            indptr,
            joined("feature", np.int32),
            joined("threshold", np.float64),
            joined("left", np.int32),
            joined("right", np.int32),
            joined("missing_left", bool),
            joined("values", np.float64),
            joined("cover", np.float64) if has_cover else None,
            nominal,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate(categories).astype(np.float64),
            zero_missing,
            constant,
            in_float32,
            joined("gain", np.float64) if has_gain else None,
        )

    @classmethod
    def of_grown(cls, trees: Sequence[tuple[Tree, Float64Array]]) -> TreeEnsemble:
        """Join trees of this library, with the scores of their nodes; categories are codes."""
        none = np.zeros(0)
        joined = []
        for tree, values in trees:
            ends = tree.category_indptr
            members = {
                node: (tree.categories[ends[node] : ends[node + 1]].astype(np.float64), none)
                for node in np.flatnonzero(np.diff(ends)).tolist()
            }
            joined.append(
                ScoreTree(
                    tree.feature.astype(np.int64),
                    tree.threshold,
                    tree.left.astype(np.int64),
                    tree.right.astype(np.int64),
                    tree.missing_left,
                    values,
                    members,
                    tree.counts.sum(axis=1),
                )
            )
        return cls.of(joined)

    def score_trees(self, n_categories: NDArray[Any] | None = None) -> tuple[ScoreTree, ...]:
        """The trees one by one.

        Parameters
        ----------
        n_categories : ndarray of shape (n_features,), int, optional
            Number of categories of each column. None: categories that go right at nominal nodes are
            not listed.
        """
        return tuple(
            ScoreTree(
                self.feature[tree].astype(np.int64),
                self.threshold[tree],
                self.left[tree].astype(np.int64),
                self.right[tree].astype(np.int64),
                self.missing_left[tree],
                self.values[tree],
                self._members(tree, n_categories),
                cover=None if self.cover is None else self.cover[tree],
                zero_missing=self.zero_missing[tree] if self.zero_missing[tree].any() else None,
                gain=None if self.gain is None else self.gain[tree],
            )
            for tree in (slice(*ends) for ends in pairwise(self.indptr.tolist()))
        )

    def _members(
        self, tree: slice, n_categories: NDArray[Any] | None
    ) -> dict[int, tuple[Float64Array, Float64Array]]:
        """Categories that go left and right at the nominal nodes of a tree."""
        members = {}
        for node in np.flatnonzero(self.nominal[tree]).tolist():
            ends = self.category_indptr[tree.start + node : tree.start + node + 2]
            left = self.categories[slice(*ends)]
            n = 0 if n_categories is None else n_categories[self.feature[tree.start + node]]
            every = np.arange(float(n))
            members[node] = (left, np.setdiff1d(every, left))
        return members

    def score(self, X: Matrix, n_threads: int | None = None) -> Float64Array:
        """Score of every row.

        Parameters
        ----------
        X : ndarray or CSR of shape (n_samples, n_features), float32 or float64
            NaN marks missing values. No node may treat 0 as missing.
        n_threads : int, optional
            None: all. The result does not depend on it.

        Returns
        -------
        ndarray of shape (n_samples,), float64

        Notes
        -----
        See :func:`rankwise.trees.ensemble_scores.add_scores`.
        """
        out = np.full(X.shape[0], self.constant)
        if self.n_trees and X.shape[0]:
            add_scores(self, X, available_threads() if n_threads is None else n_threads, out)
        return out

    def staged_scores(self, X: Matrix) -> Iterator[Float64Array]:
        """Scores of rows after every tree; see :meth:`score`."""
        assert not self.zero_missing.any()
        out = np.full(X.shape[0], self.constant)
        for tree in self.score_trees():
            out += TreeEnsemble.of([tree]).score(X)
            yield out.copy()

    def check_categories(self, n_categories: NDArray[Any]) -> None:
        """Raise ValueError unless the nominal nodes are those that test columns with categories.

        Parameters
        ----------
        n_categories : ndarray of shape (n_features,), int
            Number of categories of each column, whose codes lie below it; 0 for columns of numbers.
        """
        inner = self.feature >= 0
        fits = (n_categories[self.feature] > 0) & inner == self.nominal
        require(bool(fits.all()), "trees_.nominal", "be True if a column of categories is split",
                "other nodes")  # fmt: skip
        most = np.repeat(n_categories[self.feature], np.diff(self.category_indptr))
        known = (self.categories >= 0) & (self.categories < most)
        known &= self.categories == np.floor(self.categories)
        require(bool(known.all()), "trees_.categories", "be codes of the column's categories",
                self.categories[~known][:1])  # fmt: skip
        within = np.ones(len(self.categories), dtype=bool)
        # The first category of a node has no predecessor in it.
        within[self.category_indptr[:-1][np.diff(self.category_indptr) > 0]] = False
        rising = np.diff(self.categories, prepend=-np.inf) > 0
        require(bool(rising[within].all()), "trees_.categories", "ascend at a node", "others")

    def _check_structure(self) -> None:
        ends, nodes = self.indptr, len(self.feature)
        require(ends[0] == 0 and ends[-1] == nodes, "indptr", f"go from 0 to {nodes}", ends)
        for start, end in pairwise(ends.tolist()):
            tree = slice(start, end)
            check_children(self.feature[tree], self.left[tree], self.right[tree])
        ends, n_categories = self.category_indptr, len(self.categories)
        require(ends[0] == 0 and ends[-1] == n_categories, "category_indptr",
                f"go from 0 to {n_categories}", ends)  # fmt: skip
        numeric = (self.feature >= 0) & ~self.nominal
        require(not np.isnan(self.threshold[numeric]).any(), "threshold",
                "be a number at splits of numbers", np.nan)  # fmt: skip


def parents_first(tree: ScoreTree) -> ScoreTree:
    """Reorder the tree so that parents precede children, which stored trees may violate."""
    inner = np.flatnonzero(tree.feature >= 0)
    if (tree.left[inner] > inner).all() and (tree.right[inner] > inner).all():
        return tree
    levels = [np.zeros(1, dtype=np.int64)]
    while True:
        asking = levels[-1][tree.feature[levels[-1]] >= 0]
        if len(asking) == 0:
            break
        levels.append(np.concatenate([tree.left[asking], tree.right[asking]]))
    order = np.concatenate(levels)
    place = np.full(len(tree.feature), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    is_inner = tree.feature[order] >= 0
    return replace(
        tree,
        feature=tree.feature[order],
        threshold=tree.threshold[order],
        left=np.where(is_inner, place[tree.left[order]], -1),
        right=np.where(is_inner, place[tree.right[order]], -1),
        missing_left=tree.missing_left[order],
        values=tree.values[order],
        members={int(place[node]): sides for node, sides in tree.members.items()},
        cover=None if tree.cover is None else tree.cover[order],
        gain=None if tree.gain is None else tree.gain[order],
        zero_missing=None if tree.zero_missing is None else tree.zero_missing[order],
    )
