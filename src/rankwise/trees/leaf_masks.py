"""Sums of trees in the form in which many trees are scored fastest: masks of open leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankwise.kernels.leaf_masks import add_open_leaves, number_leaves, read_columns
from rankwise.typing import Float64Array, FloatArray, Int64Array

if TYPE_CHECKING:
    from rankwise.trees.tree_ensemble import TreeEnsemble

LANES = 16  # rows are padded to a multiple, so that no loop has a remainder


@dataclass(frozen=True, eq=False)
class LeafMasks:
    """Splits of an ensemble with the leaves that each leaves open to rows that go right.

    Attributes
    ----------
    features : ndarray of shape (n_columns,), int64
        Columns of X that the splits read; one with numeric and nominal splits counts twice.
    listed_indptr : ndarray of shape (n_columns + 1,), int64
    listed : ndarray of shape (listed_indptr[-1],), float64
        Categories that a nominal split of the column names, ascending.
    column : ndarray of shape (n_masks,), int32
        Place in ``features``.
    threshold : ndarray of shape (n_masks,), float64
        At nominal splits, the place of the split's first entry in ``goes_left``.
    mask : ndarray of shape (n_masks,), uint32 or uint64
        Words of 32 leaves if no tree has more, else of 64. A split whose left leaves lie in several
        words has several masks.
    word : ndarray of shape (n_masks,), int32
    bounds : ndarray of shape (n_trees, 4), int64
        Ends of the masks of each tree by kind, see :func:`add_open_leaves`.
    goes_left : ndarray, bool
        Side of every listed category, of other values (right) and of missing ones, by nominal
        split.
    leaf_indptr : ndarray of shape (n_trees + 1,), int64
    leaf_values : ndarray of shape (n_leaves,), float64

    Notes
    -----
    A row costs O(number of splits), but a few machine instructions per split and 16 rows.
    """

    # Rows times trees up to which one thread is faster; a thread takes some time to wake up.
    small: ClassVar[int] = 500_000
    chunk_rows: ClassVar[int] = 512

    features: Int64Array
    listed_indptr: Int64Array
    listed: Float64Array
    column: NDArray[np.int32]
    threshold: Float64Array
    mask: NDArray[Any]
    word: NDArray[np.int32]
    bounds: Int64Array
    goes_left: NDArray[np.bool_]
    leaf_indptr: Int64Array
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
        categories = _CategorySides.of(trees, inner[nominal], place[nominal], len(named))
        threshold[nominal] = categories.starts

        dtype = np.uint32 if count[trees.indptr[:-1]].max() <= 32 else np.uint64
        left = trees.indptr[tree[inner]] + trees.left[inner]
        split, word, mask = _masks(first[left], first[left] + count[left], dtype)
        group = 3 * tree[inner[split]] + kind[inner[split]]
        ends = np.searchsorted(group, np.arange(3 * trees.n_trees + 1))
        bounds = ends[3 * np.arange(trees.n_trees)[:, None] + np.arange(4)]
        return cls(
            named // 2, categories.indptr, categories.listed, place[split].astype(np.int32),
            threshold[split], mask, word.astype(np.int32), bounds, categories.goes_left,
            leaf_indptr, leaf_values,
        )  # fmt: skip

    def add(self, X: FloatArray, features: Int64Array, out: Float64Array) -> None:
        """Add the scores of a block of rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features), float32 or float64
        features : ndarray of shape (n_columns,), int64
            Where X holds the columns ``self.features``.
        out : ndarray of shape (n_rows,), float64, modified
        """
        width = -(-len(X) // LANES) * LANES
        table = np.empty((len(features), width))
        X = np.ascontiguousarray(X)  # other layouts would be compiled anew
        read_columns(X, features, self.listed_indptr, self.listed, table)
        n_words = -(-np.diff(self.leaf_indptr).max() // (8 * self.mask.itemsize))
        bits = np.empty((n_words, width), dtype=self.mask.dtype)
        add_open_leaves(
            table, self.column, self.threshold, self.mask, self.word, self.bounds, self.goes_left,
            self.leaf_indptr, self.leaf_values, bits, out,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _CategorySides:
    """Categories that the nominal splits of each column name, and their side at each split."""

    indptr: Int64Array
    listed: Float64Array
    starts: Int64Array
    goes_left: NDArray[np.bool_]

    @classmethod
    def of(
        cls, trees: TreeEnsemble, nodes: Int64Array, columns: Int64Array, n_columns: int
    ) -> _CategorySides:
        """Lists of the nominal ``nodes``, which read the columns with the given numbers."""
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
        return cls(indptr, np.concatenate(listed), starts, goes_left)


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
