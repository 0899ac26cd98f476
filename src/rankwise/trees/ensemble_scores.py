"""Scores of rows under an ensemble of trees, in the fastest of three ways.

All three add the leaves of a row in the order of the trees, so they return the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.model_width import check_columns_read
from rankwise.kernels.ensemble_scores import add_nominal_trees, add_trees
from rankwise.kernels.leaf_masks import add_open_leaves
from rankwise.runtime.jit import is_ready
from rankwise.runtime.threads import thread_map
from rankwise.trees.leaf_masks import LeafMasks
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, is_sparse

if TYPE_CHECKING:
    from rankwise.trees.tree_ensemble import TreeEnsemble

# Numbers of rows, and of rows times trees, up to which NumPy is done before compiled code loads.
FEW_ROWS, FEW_CELLS = 64, 20_000
# Rows times trees that a process scores so, in all. It then loads the code, as more are likely to
# follow.
PATIENCE = 100_000

# Trees from which masks repay the copy of a row's columns, and mean number of nodes up to which
# applying all splits of a tree takes less time than walking from its root to a leaf.
MANY_TREES, MOST_NODES = 8, 640
# Rows up to which walking is faster, as masks take sixteen in the time of one; and number of nodes
# beyond which it is not, because a walk reads them at random places of memory.
WALK_ROWS, MOST_WALKED = 1, 100_000
MOST_SIDES = 2**25  # bytes for the sides of categories

CHUNK_CELLS = 2**20  # values of dense rows at a time


def add_scores(trees: TreeEnsemble, X: Matrix, n_threads: int, out: Float64Array) -> None:
    """Add the scores of rows to ``out``.

    Parameters
    ----------
    trees : TreeEnsemble
        With at least one tree.
    X : ndarray or CSR of shape (n_samples, n_features), float32 or float64
    n_threads : int
        The result does not depend on it.
    out : ndarray of shape (n_samples,), float64, modified

    Notes
    -----
    O(depth) per row and tree; a nominal node takes the logarithm of its number of categories. Many
    small trees take O(number of nodes) per row, at a tenth of the time, see :class:`LeafMasks`. For
    sparse rows, only the columns that the nodes test become dense, block by block.
    """
    n_rows, scorers = X.shape[0], _scorers_of(trees)
    n_cells = n_rows * trees.n_trees
    is_small = n_rows <= FEW_ROWS and n_cells <= FEW_CELLS
    if is_small and not scorers.are_loaded(n_rows) and _SCORED.add(n_cells) <= PATIENCE:
        _add_to_few(trees, X, out)
        return
    scorer = scorers.of(trees, n_rows)
    features = scorer.features
    check_columns_read(features, X.shape[1])
    columns = np.arange(len(features)) if is_sparse(X) else features
    if n_cells <= scorer.small:
        n_threads = 1
    most = max(1, CHUNK_CELLS // max(1, len(features)))
    chunk = min(scorer.chunk_rows, -(-n_rows // n_threads), most)

    def add(start: int) -> None:
        rows = slice(start, start + chunk)
        block = X[rows]
        block = block[:, features].toarray() if is_sparse(block) else block
        scorer.add(block, columns, out[rows])

    thread_map(add, range(0, n_rows, chunk), n_threads)


class _Counter:
    """Rows times trees that this process has scored without compiled code."""

    def __init__(self) -> None:
        self._cells = 0

    def add(self, cells: int) -> int:
        self._cells += cells
        return self._cells


_SCORED = _Counter()


@dataclass(frozen=True, eq=False)
class _TreeWalk:
    """Rows go from the root to a leaf of each tree.

    Attributes
    ----------
    arrays : tuple of ndarray
        Arrays of the ensemble: indptr, feature, threshold, left, right, missing_left, values.
    sets : tuple of ndarray
        nominal, category_indptr and categories; empty if no node is nominal.
    features : ndarray of shape (n_columns,), int64
        Columns that the nodes test, ascending.
    """

    small: ClassVar[int] = 30_000
    chunk_rows: ClassVar[int] = 1024

    arrays: tuple[NDArray[Any], ...]
    sets: tuple[NDArray[Any], ...]
    features: Int64Array

    @classmethod
    def of(cls, trees: TreeEnsemble) -> _TreeWalk:
        """The trees, without a reference to the ensemble itself."""
        arrays = (
            trees.indptr, trees.feature, trees.threshold, trees.left, trees.right,
            trees.missing_left, trees.values,
        )  # fmt: skip
        sets = (trees.nominal, trees.category_indptr, trees.categories)
        return cls(arrays, sets if trees.nominal.any() else (), _features_of(trees))

    def add(self, X: FloatArray, columns: Int64Array, out: Float64Array) -> None:
        """Add the scores of a block of rows, which holds the features in the given columns."""
        indptr, feature, *rest = self.arrays
        feature = _renumber(feature, self.features, columns)
        X = np.ascontiguousarray(X)
        kernel: Any = add_nominal_trees if self.sets else add_trees
        kernel(X, indptr, feature, *rest, *self.sets, out)


@dataclass(eq=False)
class _Scorers:
    """Ways to score an ensemble with compiled code.

    Attributes
    ----------
    walk : _TreeWalk
    suits_masks : bool
        Whether masks are faster for many rows.
    masks : LeafMasks or None
        None until they are needed.
    """

    walk: _TreeWalk
    suits_masks: bool
    masks: LeafMasks | None = None

    def of(self, trees: TreeEnsemble, n_rows: int) -> LeafMasks | _TreeWalk:
        """The faster way for a number of rows."""
        if not self._takes_masks(n_rows):
            return self.walk
        if self.masks is None:
            self.masks = LeafMasks.of(trees)
        return self.masks

    def are_loaded(self, n_rows: int) -> bool:
        """Whether this process has used the compiled code before."""
        if self._takes_masks(n_rows):
            return is_ready(add_open_leaves)
        return is_ready(add_nominal_trees if self.walk.sets else add_trees)

    def _takes_masks(self, n_rows: int) -> bool:
        is_walked = n_rows <= WALK_ROWS and len(self.walk.arrays[1]) <= MOST_WALKED
        return self.suits_masks and not is_walked


# No attribute of the ensemble, whose attributes are what a model file holds.
_SCORERS: WeakKeyDictionary[TreeEnsemble, _Scorers] = WeakKeyDictionary()


def _scorers_of(trees: TreeEnsemble) -> _Scorers:
    """Ways to score an ensemble, made at the first call."""
    found = _SCORERS.get(trees)
    if found is None:
        assert not trees.zero_missing.any()
        found = _SCORERS[trees] = _Scorers(_TreeWalk.of(trees), _suits_masks(trees))
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
    features = columns = _scorers_of(trees).walk.features
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
