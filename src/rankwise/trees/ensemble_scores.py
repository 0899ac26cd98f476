"""Scores of rows under an ensemble of trees, in the fastest of three ways.

All three add the leaves of a row in the order of the trees, so they return the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.model_width import check_columns_read
from rankwise.kernels.ensemble_scores import add_nominal_trees, add_trees
from rankwise.runtime.jit import numba_is_imported
from rankwise.runtime.threads import thread_map
from rankwise.trees.leaf_masks import LeafMasks
from rankwise.typing import Float64Array, FloatArray, Int64Array, Matrix, is_sparse

if TYPE_CHECKING:
    from rankwise.trees.tree_ensemble import TreeEnsemble

# Numbers of rows, and of rows times trees, up to which NumPy is done before Numba is imported.
FEW_ROWS, FEW_CELLS = 16, 20_000

# Trees from which masks repay the copy of a row's columns, and mean number of nodes up to which
# applying all splits of a tree takes less time than walking from its root to a leaf.
MANY_TREES, MOST_NODES = 8, 640
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
    n_rows = X.shape[0]
    if n_rows <= FEW_ROWS and n_rows * trees.n_trees <= FEW_CELLS and not numba_is_imported():
        _add_to_few(trees, X, out)
        return
    scorer = _scorer_of(trees)
    features = scorer.features
    check_columns_read(features, X.shape[1])
    columns = np.arange(len(features)) if is_sparse(X) else features
    if n_rows * trees.n_trees <= scorer.small:
        n_threads = 1
    most = max(1, CHUNK_CELLS // max(1, len(features)))
    chunk = min(scorer.chunk_rows, -(-n_rows // n_threads), most)

    def add(start: int) -> None:
        rows = slice(start, start + chunk)
        block = X[rows]
        block = block[:, features].toarray() if is_sparse(block) else block
        scorer.add(block, columns, out[rows])

    thread_map(add, range(0, n_rows, chunk), n_threads)


# Masks are no attribute of the ensemble, whose attributes are what a model file holds.
_MASKS: WeakKeyDictionary[TreeEnsemble, LeafMasks] = WeakKeyDictionary()


def _scorer_of(trees: TreeEnsemble) -> LeafMasks | _TreeWalk:
    """Masks where they are faster, made at the first call."""
    masks = _MASKS.get(trees)
    if masks is None:
        if not _suits_masks(trees):
            return _TreeWalk(trees, _features_of(trees))
        masks = _MASKS[trees] = LeafMasks.of(trees)
    return masks


def _suits_masks(trees: TreeEnsemble) -> bool:
    if trees.n_trees < MANY_TREES or len(trees.feature) > MOST_NODES * trees.n_trees:
        return False
    # Every nominal node needs a side for every category that a node of its column names.
    n_nominal = int(np.count_nonzero(trees.nominal))
    n_listed = len(np.unique(trees.categories)) if n_nominal else 0
    return n_nominal * (n_listed + 2) <= MOST_SIDES


@dataclass(frozen=True, eq=False)
class _TreeWalk:
    """Rows go from the root to a leaf of each tree.

    Attributes
    ----------
    trees : TreeEnsemble
    features : ndarray of shape (n_columns,), int64
        Columns that the nodes test, ascending.
    """

    small: ClassVar[int] = 30_000
    chunk_rows: ClassVar[int] = 1024

    trees: TreeEnsemble
    features: Int64Array

    def add(self, X: FloatArray, columns: Int64Array, out: Float64Array) -> None:
        """Add the scores of a block of rows, which holds the features in the given columns."""
        trees = self.trees
        arrays = (
            trees.indptr, _renumbered(trees, self.features, columns), trees.threshold, trees.left,
            trees.right, trees.missing_left, trees.values,
        )  # fmt: skip
        X = np.ascontiguousarray(X)
        if trees.nominal.any():
            sets = trees.nominal, trees.category_indptr, trees.categories
            add_nominal_trees(X, *arrays, *sets, out)
        else:
            add_trees(X, *arrays, out)


def _features_of(trees: TreeEnsemble) -> Int64Array:
    """Columns that the nodes test, ascending."""
    # Faster than a sort of as many numbers as there are nodes.
    tested = np.zeros(int(trees.feature.max(initial=-1)) + 1, dtype=bool)
    tested[trees.feature[trees.feature >= 0]] = True
    return np.flatnonzero(tested)


def _renumbered(
    trees: TreeEnsemble, features: Int64Array, columns: Int64Array
) -> NDArray[np.int32]:
    """Column that each node tests if the columns with the numbers ``features`` are ``columns``."""
    if columns is features:
        return trees.feature
    # Leaves, of feature -1, find the last place.
    numbers = np.full(int(features.max(initial=-1)) + 2, -1, dtype=np.int32)
    numbers[features] = columns
    return numbers[trees.feature]


def _add_to_few(trees: TreeEnsemble, X: Matrix, out: Float64Array) -> None:
    """Add the scores of few rows without compiled code, which takes longer to load."""
    features = _features_of(trees)
    check_columns_read(features, X.shape[1])
    columns = features
    if is_sparse(X):
        X, columns = X[:, features].toarray(), np.arange(len(features))
    feature = _renumbered(trees, features, columns)
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
