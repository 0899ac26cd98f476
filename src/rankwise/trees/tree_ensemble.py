"""Sum of trees as flat arrays, for the trees of this library and of boosting libraries.

Code that works on trees of any model (:mod:`rankwise.explain`) uses this format. A tree-based
estimator provides it with the method ``tree_ensemble()``, and encodes rows for its trees with the
method ``encoded_rows(X)``.

Rows are scored in the fastest of three ways: a walk from the root to a leaf of each tree, masks of
open leaves, or NumPy for few rows. All add the leaves of a row in the order of the trees, so they
return the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.rows import check_columns_read
from rankwise.kernels.ensemble_scores import (
    add_nominal_trees,
    add_open_leaves,
    add_trees,
    number_leaves,
    read_columns,
)
from rankwise.runtime.jit import are_few, convert_layout
from rankwise.runtime.threads import available_threads, thread_map
from rankwise.structure.state_rules import (
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
from rankwise.trees.tree import Tree
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, densify, is_sparse


@dataclass(frozen=True, eq=False)
class ScoreTree:
    """A tree whose nodes have values; a row gets that of its leaf. Arrays are (n_nodes,)."""

    feature: Int64Array  # -1 at leaves
    # Rows with at most that value go left; inf separates missing values from all others.
    threshold: Float64Array
    left: Int64Array  # children; node 0 is the root
    right: Int64Array
    missing_left: NDArray[np.bool_]
    values: Float64Array
    # By node that splits a column without order: values that go left, and that go right. Any other
    # one goes the way of missing values.
    members: dict[int, tuple[Float64Array, Float64Array]] = field(default_factory=dict)
    # weight of the training rows; None if the model does not keep it
    cover: Float64Array | None = None
    # nodes that take 0 for a missing value; None: no node does
    zero_missing: NDArray[np.bool_] | None = None
    # Decrease of the training loss by each split, in the units of its library; 0 at leaves. None if
    # the model does not keep it.
    gain: Float64Array | None = None


# Time of scoring in NumPy, in steps of plain Python: of a call, and rows times trees in a step.
STEPS_PER_CALL, CELLS_PER_STEP = 150, 8

# Trees from which masks repay the copy of a row's columns, and mean number of nodes up to which
# applying all splits of a tree takes less time than walking from its root to a leaf.
MANY_TREES, MOST_NODES = 8, 640
# Rows up to which walking is faster, as masks take sixteen in the time of one; and number of nodes
# beyond which it is not, because a walk reads them at random places of memory. Walks that look for
# categories take longer.
WALK_ROWS, NOMINAL_WALK_ROWS, MOST_WALKED = 8, 1, 100_000
MOST_SIDES = 2**25  # bytes for the sides of categories

CHUNK_CELLS = 2**20  # values of dense rows at a time
LANES = 16  # rows are padded to a multiple, so that no loop has a remainder


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Score function: ``constant`` plus the value of the leaf that a row reaches in every tree.

    Tree t has the nodes ``indptr[t]:indptr[t + 1]`` of every array over nodes. Nodes are numbered
    within their tree: node 0 is the root, children come after their parent.

    A row goes left at a node if its value is at most the threshold or, at a node of ``nominal``, if
    it is one of the node's categories. NaN goes to the side of ``missing_left``.
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

    indptr: Int64Array  # (n_trees + 1,)
    feature: NDArray[np.int32]  # column that the node tests; -1 at leaves
    threshold: Float64Array  # not read at leaves and nominal nodes
    left: NDArray[np.int32]  # children within the tree; not read at leaves
    right: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    values: Float64Array  # scores of the leaves; not read at other nodes
    # Total weight >= 0 of the training rows in each node; a parent's weight is the sum of its
    # children's. None: the model does not store it, so path-dependent values are not available.
    cover: Float64Array | None
    nominal: NDArray[np.bool_]
    category_indptr: Int64Array
    # Values that go left at node i of all nodes, ascending:
    # ``categories[category_indptr[i]:category_indptr[i + 1]]``.
    categories: Float64Array
    zero_missing: NDArray[np.bool_]  # whether a node treats 0 as a missing value
    constant: float = 0.0
    in_float32: bool = False  # whether the model rounds rows to float32 before it compares them
    # Decrease of the training loss by each split, in the units of its library; 0 at leaves. A split
    # that all nodes of a level share may increase the loss in one of them. None: the model does not
    # store it.
    gain: Float64Array | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.indptr) - 1

    @classmethod
    def of(
        cls, trees: Sequence[ScoreTree], constant: float = 0.0, *, in_float32: bool = False
    ) -> TreeEnsemble:
        """Join trees, in their order; values that neither go left nor are missing go right."""
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

        ``n_categories`` (n_features,) is the number of categories of each column. None: categories
        that go right at nominal nodes are not listed.
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
        """Score (n_samples,) of every row of a matrix or CSR, in which NaN marks missing values.

        No node may treat 0 as missing. The result does not depend on ``n_threads``; None: all. See
        :func:`add_scores`.
        """
        out = np.full(X.shape[0], self.constant)
        if self.n_trees and X.shape[0]:
            add_scores(self, X, n_threads, out)
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

        ``n_categories`` (n_features,) is the number of categories of each column, whose codes lie
        below it; 0 for columns of numbers.
        """
        inner = self.feature >= 0
        sizes = n_categories[self.feature]
        # A node that parts missing values from all categories is no set of them.
        parts_missing = inner & ~self.nominal & (self.threshold >= sizes - 1.0)
        fits = ((sizes > 0) & inner == self.nominal) | parts_missing
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
    return take_nodes(tree, np.concatenate(levels))


def take_nodes(tree: ScoreTree, order: Int64Array) -> ScoreTree:
    """The tree of some nodes alone, in this order; the children of a node are among them."""
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
        members={int(place[n]): sides for n, sides in tree.members.items() if place[n] >= 0},
        cover=None if tree.cover is None else tree.cover[order],
        gain=None if tree.gain is None else tree.gain[order],
        zero_missing=None if tree.zero_missing is None else tree.zero_missing[order],
    )


def add_scores(trees: TreeEnsemble, X: Matrix, n_threads: int | None, out: Float64Array) -> None:
    """Add the scores of the rows of X, a matrix or CSR, to ``out`` (n_samples,), in place.

    There is at least one tree. The result does not depend on ``n_threads``; None: all.

    O(depth) per row and tree; a nominal node takes the logarithm of its number of categories. Many
    small trees take O(number of nodes) per row, at a tenth of the time, see :class:`LeafMasks`. For
    sparse rows, only the columns that the nodes test become dense, block by block.
    """
    n_rows, scorers = X.shape[0], _scorers_of(trees)
    n_cells = n_rows * trees.n_trees
    if are_few(scorers.kernel(trees, n_rows), STEPS_PER_CALL + n_cells // CELLS_PER_STEP):
        _add_to_few(trees, X, out)
        return
    scorer = scorers.of(trees, n_rows)
    features = scorer.features
    if len(features) and features[-1] >= X.shape[1]:  # ascending, so that no pass is needed
        check_columns_read(features, X.shape[1])
    if n_cells <= scorer.small and n_rows <= scorer.chunk_rows and not is_sparse(X):
        scorer.add(X, features, out)
        return
    columns = np.arange(len(features)) if is_sparse(X) else features
    if n_cells <= scorer.small:
        n_threads = 1
    elif n_threads is None:
        n_threads = available_threads()
    most = max(1, CHUNK_CELLS // max(1, len(features)))
    chunk = min(scorer.chunk_rows, -(-n_rows // n_threads), most)

    def add(start: int) -> None:
        rows = slice(start, start + chunk)
        block = X[rows]
        block = block[:, features].toarray() if is_sparse(block) else block
        scorer.add(block, columns, out[rows])

    thread_map(add, range(0, n_rows, chunk), n_threads)


@dataclass(frozen=True, eq=False)
class _TreeWalk:
    """Rows go from the root to a leaf of each tree, none of which has a nominal node."""

    small: ClassVar[int] = 30_000
    chunk_rows: ClassVar[int] = 1024

    n_trees: int
    nodes: Float64Array  # (n_nodes, 2): see the kernel
    values: Float64Array  # (n_nodes,): of leaves
    features: Int64Array  # columns that the nodes test, ascending

    @classmethod
    def of(cls, trees: TreeEnsemble, features: Int64Array) -> _TreeWalk:
        """Nodes of the trees: first all roots, then the children of each inner node, in pairs."""
        n_trees = trees.n_trees
        inner = np.flatnonzero(trees.feature >= 0)
        root = np.repeat(trees.indptr[:-1], np.diff(trees.indptr))[inner]
        children = np.stack([root + trees.left[inner], root + trees.right[inner]], axis=1)
        node = np.concatenate([trees.indptr[:-1], children.ravel()])
        child = np.empty(len(trees.feature), dtype=np.int64)
        child[inner] = n_trees + 2 * np.arange(len(inner))
        is_inner = trees.feature[node] >= 0
        sides = 2 * trees.feature[node].astype(np.int64) + ~trees.missing_left[node]
        nodes = np.empty((len(node), 2))
        nodes[:, 0] = np.where(is_inner, trees.threshold[node], np.inf)
        links = np.where(is_inner, (child[node] << 32) + sides, np.arange(len(node)) << 32)
        nodes.view(np.int64)[:, 1] = links
        return cls(n_trees, nodes, trees.values[node], features)

    def add(self, X: FloatArray, columns: Int64Array, out: Float64Array) -> None:
        """Add the scores of a block of rows, which holds the features in the given columns."""
        nodes = self.nodes
        if columns is not self.features:
            numbers = np.zeros(int(self.features.max(initial=0)) + 1, dtype=np.int64)
            numbers[self.features] = columns
            nodes = nodes.copy()
            links = nodes.view(np.int64)[:, 1]
            tested = (links >> 1) & 0x7FFFFFFF  # 0 at leaves, for which any column will do
            links += 2 * (numbers[tested] - tested)
        if not X.shape[1]:  # leaves, too, look at the first column
            X = np.zeros((len(X), 1))
        add_trees(convert_layout(X), self.n_trees, nodes, nodes.view(np.int64), self.values, out)


@dataclass(frozen=True, eq=False)
class _NominalWalk:
    """Like :class:`_TreeWalk`, for trees of which some have nominal nodes."""

    small: ClassVar[int] = 30_000
    chunk_rows: ClassVar[int] = 1024

    arrays: tuple[NDArray[Any], ...]  # of the ensemble, in the order of the kernel
    features: Int64Array  # columns that the nodes test, ascending

    @classmethod
    def of(cls, trees: TreeEnsemble, features: Int64Array) -> _NominalWalk:
        """The trees, without a reference to the ensemble itself."""
        arrays = (
            trees.indptr, trees.feature, trees.threshold, trees.left, trees.right,
            trees.missing_left, trees.values, trees.nominal, trees.category_indptr,
            trees.categories,
        )  # fmt: skip
        return cls(arrays, features)

    def add(self, X: FloatArray, columns: Int64Array, out: Float64Array) -> None:
        """Add the scores of a block of rows, which holds the features in the given columns."""
        indptr, feature, *rest = self.arrays
        feature = _renumber(feature, self.features, columns)
        kernel: Any = add_nominal_trees  # whose arguments a checker cannot count here
        kernel(convert_layout(X), indptr, feature, *rest, out)


@dataclass(eq=False)
class _Scorers:
    """Ways to score an ensemble with compiled code."""

    features: Int64Array  # columns that the nodes test, ascending
    is_nominal: bool  # whether some nodes are
    suits_masks: bool  # whether masks are faster for many rows
    # None until they are needed
    walk: _TreeWalk | _NominalWalk | None = None
    masks: LeafMasks | None = None

    def of(self, trees: TreeEnsemble, n_rows: int) -> LeafMasks | _TreeWalk | _NominalWalk:
        """The faster way for a number of rows."""
        if self._takes_masks(trees, n_rows):
            if self.masks is None:
                self.masks = LeafMasks.of(trees)
            return self.masks
        if self.walk is None:
            kind = _NominalWalk if self.is_nominal else _TreeWalk
            self.walk = kind.of(trees, self.features)
        return self.walk

    def kernel(self, trees: TreeEnsemble, n_rows: int) -> Any:
        """The compiled code for a number of rows."""
        if self._takes_masks(trees, n_rows):
            return add_open_leaves
        return add_nominal_trees if self.is_nominal else add_trees

    def _takes_masks(self, trees: TreeEnsemble, n_rows: int) -> bool:
        few = NOMINAL_WALK_ROWS if self.is_nominal else WALK_ROWS
        is_walked = n_rows <= few and len(trees.feature) <= MOST_WALKED
        return self.suits_masks and not is_walked


# No attribute of the ensemble, whose attributes are what a model file holds.
_SCORERS: WeakKeyDictionary[TreeEnsemble, _Scorers] = WeakKeyDictionary()


def _scorers_of(trees: TreeEnsemble) -> _Scorers:
    """Ways to score an ensemble, made at the first call."""
    found = _SCORERS.get(trees)
    if found is None:
        assert not trees.zero_missing.any()
        is_nominal = bool(trees.nominal.any())
        found = _Scorers(_features_of(trees), is_nominal, _suits_masks(trees))
        _SCORERS[trees] = found
    return found


def _suits_masks(trees: TreeEnsemble) -> bool:
    if trees.n_trees < MANY_TREES or len(trees.feature) > MOST_NODES * trees.n_trees:
        return False
    # Every nominal node needs a side for every category that a node of its column names.
    n_nominal = int(np.count_nonzero(trees.nominal))
    n_listed = len(np.unique(trees.categories)) if n_nominal else 0
    return n_nominal * (n_listed + 2) <= MOST_SIDES


def _features_of(trees: TreeEnsemble) -> Int64Array:
    """Columns that the nodes test, ascending."""
    # Faster than a sort of as many numbers as there are nodes.
    tested = np.zeros(int(trees.feature.max(initial=-1)) + 1, dtype=bool)
    tested[trees.feature[trees.feature >= 0]] = True
    return np.flatnonzero(tested)


def _renumber(
    feature: NDArray[np.int32], features: Int64Array, columns: Int64Array
) -> NDArray[np.int32]:
    """Column that each node tests if the columns with the numbers ``features`` are ``columns``."""
    if columns is features:
        return feature
    # Leaves, of feature -1, find the last place.
    numbers = np.full(int(features.max(initial=-1)) + 2, -1, dtype=np.int32)
    numbers[features] = columns
    return numbers[feature]


def _add_to_few(trees: TreeEnsemble, X: Matrix, out: Float64Array) -> None:
    """Add the scores of few rows without compiled code, which takes longer to load."""
    features = columns = _scorers_of(trees).features
    check_columns_read(features, X.shape[1])
    if is_sparse(X):
        X, columns = X[:, features].toarray(), np.arange(len(features))
    feature = _renumber(trees.feature, features, columns)
    roots = np.repeat(trees.indptr[:-1], np.diff(trees.indptr))
    left, right = roots + trees.left, roots + trees.right
    node = np.repeat(trees.indptr[:-1, None], len(out), axis=1).ravel()
    row = np.tile(np.arange(len(out)), trees.n_trees)
    moving = np.arange(len(node))
    while len(moving := moving[feature[node[moving]] >= 0]):
        at = node[moving]
        values = X[row[moving], feature[at]].astype(np.float64)
        goes_left = np.where(trees.nominal[at], _is_listed(trees, at, values),
                             values <= trees.threshold[at])  # fmt: skip
        goes_left = np.where(np.isnan(values), trees.missing_left[at], goes_left)
        node[moving] = np.where(goes_left, left[at], right[at])
    terms = np.vstack([out, trees.values[node].reshape(trees.n_trees, len(out))])
    # Unlike a sum, which NumPy may take in pairs, this adds in the order of the trees.
    out[:] = np.add.accumulate(terms)[-1]


def _is_listed(trees: TreeEnsemble, nodes: Int64Array, values: Float64Array) -> NDArray[np.bool_]:
    """Whether each value is among the categories that go left at its node; numeric: False."""
    low, end = trees.category_indptr[nodes], trees.category_indptr[nodes + 1]
    high, last = end, len(trees.categories) - 1
    if last < 0:
        return np.zeros(len(nodes), dtype=bool)
    while (searched := low < high).any():
        middle = (low + high) // 2
        below = trees.categories[np.minimum(middle, last)] < values
        low = np.where(searched & below, middle + 1, low)
        high = np.where(searched & ~below, middle, high)
    return (low < end) & (trees.categories[np.minimum(low, last)] == values)


@dataclass(frozen=True, eq=False)
class LeafMasks:
    """Splits of an ensemble with the leaves that each leaves open to rows that go right.

    A row costs O(number of splits), but a few machine instructions per split and 16 rows.
    """

    # Rows times trees up to which one thread is faster; a thread takes some time to wake up.
    small: ClassVar[int] = 500_000
    chunk_rows: ClassVar[int] = 512

    # (n_columns,): columns of X that the splits read; one with numeric and nominal splits counts
    # twice.
    features: Int64Array
    listed_indptr: Int64Array  # (n_columns + 1,)
    listed: Float64Array  # categories that a nominal split of the column names, ascending
    column: NDArray[np.int32]  # (n_masks,): position in ``features``
    # (n_masks,): at nominal splits, the position of the split's first entry in ``goes_left``.
    threshold: Float64Array
    # (n_masks,): words of 32 leaves (uint32) if no tree has more, else of 64 (uint64). A split
    # whose left leaves lie in several words has several masks.
    mask: NDArray[Any]
    word: NDArray[np.int32]  # (n_masks,)
    # (n_trees, 4): ends of the masks of each tree by kind, see ``add_open_leaves``
    bounds: Int64Array
    # By nominal split: side of every listed category, of other values (right) and of missing ones.
    goes_left: NDArray[np.bool_]
    leaf_indptr: Int64Array  # (n_trees + 1,)
    leaf_values: Float64Array

    @classmethod
    def of(cls, trees: TreeEnsemble) -> LeafMasks:
        """Masks of the trees; O(number of nodes and categories)."""
        first, count = np.empty((2, len(trees.feature)), dtype=np.int64)
        number_leaves(trees.indptr, trees.feature, trees.left, trees.right, first, count)
        leaf_indptr = np.concatenate([[0], np.cumsum(count[trees.indptr[:-1]])])
        tree = np.repeat(np.arange(trees.n_trees), np.diff(trees.indptr))
        leaves = np.flatnonzero(trees.feature < 0)
        leaf_values = np.empty(len(leaves))
        leaf_values[leaf_indptr[tree[leaves]] + first[leaves]] = trees.values[leaves]

        kind = np.where(trees.nominal, 2, trees.missing_left)
        inner = np.flatnonzero(trees.feature >= 0)
        inner = inner[np.argsort(3 * tree[inner] + kind[inner], kind="stable")]
        columns = 2 * trees.feature[inner].astype(np.int64) + (kind[inner] == 2)
        named, place = np.unique(columns, return_inverse=True)
        threshold = trees.threshold[inner].copy()
        nominal = kind[inner] == 2
        listed_indptr, listed, threshold[nominal], goes_left = _category_sides(
            trees, inner[nominal], place[nominal], len(named)
        )

        dtype = np.uint32 if count[trees.indptr[:-1]].max() <= 32 else np.uint64
        left = trees.indptr[tree[inner]] + trees.left[inner]
        split, word, mask = _masks(first[left], first[left] + count[left], dtype)
        group = 3 * tree[inner[split]] + kind[inner[split]]
        ends = np.searchsorted(group, np.arange(3 * trees.n_trees + 1))
        bounds = ends[3 * np.arange(trees.n_trees)[:, None] + np.arange(4)]
        return cls(
            named // 2, listed_indptr, listed, place[split].astype(np.int32), threshold[split],
            mask, word.astype(np.int32), bounds, goes_left, leaf_indptr, leaf_values,
        )  # fmt: skip

    def add(self, X: FloatArray, features: Int64Array, out: Float64Array) -> None:
        """Add the scores of a block of rows to ``out`` (n_rows,), in place.

        ``features`` (n_columns,) says where X (n_rows, n_features) holds the columns
        ``self.features``.
        """
        width = -(-len(X) // LANES) * LANES
        table = np.empty((len(features), width))
        read_columns(convert_layout(X), features, self.listed_indptr, self.listed, table)
        n_words = -(-np.diff(self.leaf_indptr).max() // (8 * self.mask.itemsize))
        bits = np.empty((n_words, width), dtype=self.mask.dtype)
        add_open_leaves(
            table, self.column, self.threshold, self.mask, self.word, self.bounds, self.goes_left,
            self.leaf_indptr, self.leaf_values, bits, out,
        )  # fmt: skip


def _category_sides(
    trees: TreeEnsemble, nodes: Int64Array, columns: Int64Array, n_columns: int
) -> tuple[Int64Array, Float64Array, Int64Array, NDArray[np.bool_]]:
    """Categories that the nominal splits of each column name, and their side at each split.

    The nominal ``nodes`` read the columns with the given numbers. Returns the ends of the lists of
    the columns, the lists, the first entry of each node among the sides, and the sides.
    """
    lengths = np.diff(trees.category_indptr)[nodes]
    entry = np.repeat(trees.category_indptr[nodes], lengths) + _counts(lengths)
    owner, values = np.repeat(np.arange(len(nodes)), lengths), trees.categories[entry]
    listed, place = [np.zeros(0)], np.zeros(len(values), dtype=np.int64)
    n_listed = np.zeros(n_columns, dtype=np.int64)
    for column in np.unique(columns).tolist():
        chosen = columns[owner] == column
        found, place[chosen] = np.unique(values[chosen], return_inverse=True)
        # A column whose splits name no category still needs a list, or it would be numeric.
        listed.append(found if len(found) else np.zeros(1))
        n_listed[column] = len(listed[-1])
    sizes = n_listed[columns] + 2
    starts = np.cumsum(sizes) - sizes
    goes_left = np.zeros(int(sizes.sum()), dtype=bool)
    goes_left[starts[owner] + place] = True
    goes_left[starts + sizes - 1] = trees.missing_left[nodes]
    indptr = np.concatenate([[0], np.cumsum(n_listed)])
    return indptr, np.concatenate(listed), starts, goes_left


def _masks(
    start: Int64Array, end: Int64Array, dtype: type[np.unsignedinteger[Any]]
) -> tuple[Int64Array, Int64Array, NDArray[Any]]:
    """Split, word and mask that closes the split's leaves from ``start`` to before ``end``."""
    size = 8 * np.dtype(dtype).itemsize
    n_words = (end - 1) // size - start // size + 1
    split = np.repeat(np.arange(len(start)), n_words)
    word = start[split] // size + _counts(n_words)
    low = np.maximum(start[split] - word * size, 0)
    length = np.minimum(end[split] - word * size, size) - low
    every = dtype(np.iinfo(dtype).max)
    closed = (every >> (size - length).astype(dtype)) << low.astype(dtype)
    return split, word, ~closed


def _counts(lengths: Int64Array) -> Int64Array:
    """0, 1, ... for each length, one after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)


@dataclass(frozen=True, eq=False)
class OrderedRows:
    """Some rows of a matrix, in any order."""

    X: Matrix  # ndarray or CSR, float32 or float64; NaN where missing
    order: Int64Array | None = None  # row numbers; None: all rows in their original order

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.X.shape[0] if self.order is None else len(self.order)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.X.shape[1]

    def block(self, rows: slice) -> FloatArray:
        """Some of the rows, dense."""
        return densify(self.X[rows if self.order is None else self.order[rows]])

    def scores(self, trees: TreeEnsemble, n_threads: int | None = None) -> Float64Array:
        """Scores of the rows under trees, see :meth:`TreeEnsemble.score`."""
        if self.order is None or len(self.order) >= self.X.shape[0]:
            scores = trees.score(self.X, n_threads)
            return scores if self.order is None else scores[self.order]
        scores, step = np.empty(len(self.order)), max(1, CHUNK_CELLS // max(1, self.n_features))
        for start in range(0, len(scores), step):
            rows = self.order[start : start + step]
            scores[start : start + step] = trees.score(self.X[rows], n_threads)
        return scores
