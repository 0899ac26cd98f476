"""Statistics of rows with many labels for least squares, as sums that add and subtract.

With ``Z = [1 X]`` and row weights W, the statistics are ``Z'WZ``, ``Z'WY`` and, on request,
``Y'WY``. The statistics of a training part are those of all rows minus those of the held-out rows.
Many splits of the same rows thus cost one full pass and one small pass per split.

Complexity: for N rows with p features and b labels per row, O(N p^2 + N p b) on dense rows. On
sparse rows with a non-zero features each, O(N (a^2 + a b)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeGuard

import numpy as np

from rankwise.kernels.label_products import add_labelled_rows, add_row_products
from rankwise.runtime.threads import thread_imap
from rankwise.typing import Float64Array, Matrix, SparseMatrix, densify, is_sparse

# Rows of a matrix product; see benchmarks/bench_closed_form.py.
CHUNK_ROWS = 3000
# Largest share of non-zero entries at which rows are multiplied entry by entry; denser rows are
# multiplied as dense arrays.
SPARSE_SHARE = 0.2
# Standard deviations from zero beyond which columns are centred: 4 of 16 digits.
FAR = 100.0


@dataclass(frozen=True, eq=False)
class LabelStatistics:
    """Sums over weighted rows; all float64."""

    gram: Float64Array  # (p + 1, p + 1): Z'WZ; the first column belongs to the constant
    cross: Float64Array  # (p + 1, K): Z'WY
    labels: Float64Array  # (K, K): Y'WY
    # (p,): shift near the means, subtracted from X first so that a large offset loses no precision
    centre: Float64Array | None = None

    @property
    def weight(self) -> float:
        """Sum of the row weights."""
        return float(self.gram[0, 0])

    @property
    def means(self) -> Float64Array:
        """Share of the rows that has each label, shape (K,)."""
        return self.cross[0] / self.gram[0, 0]

    def __sub__(self, other: LabelStatistics) -> LabelStatistics:
        gram, cross = self.gram - other.gram, self.cross - other.cross
        return LabelStatistics(gram, cross, self.labels - other.labels, self.centre)


def label_statistics(
    X: Matrix,
    Y: SparseMatrix,
    weight: Float64Array | None = None,
    *,
    centre: Float64Array | Literal["auto"] | None = None,
) -> LabelStatistics:
    """Statistics of rows; statistics can be subtracted only if their centres are equal.

    ``centre`` is subtracted from dense X first; for "auto" see :func:`compute_centred_gram`. X is
    (N, p), Y (N, K), ``weight`` (N,) and ``centre`` (p,).
    """
    if isinstance(centre, str):
        gram, centre = compute_centred_gram(X, weight)
    else:
        gram = feature_gram(X, weight, centre)
    cross = feature_products(X, Y, weight, centre)
    return LabelStatistics(gram, cross, products_of_labels(Y, weight), centre)


def compute_centred_gram(
    X: Matrix, weight: Float64Array | None
) -> tuple[Float64Array, Float64Array | None]:
    """:func:`feature_gram` and its centre; centred if a dense column is far from zero.

    Far from zero means relative to the column's spread. Sparse X is never centred, because it would
    not stay sparse.
    """
    gram = feature_gram(X, weight)
    means = gram[0, 1:] / gram[0, 0]
    spread = gram.diagonal()[1:] / gram[0, 0] - means**2
    if is_sparse(X) or not (spread < (means / FAR) ** 2).any():
        return gram, None
    return feature_gram(X, weight, means), means


def feature_gram(
    X: Matrix, weight: Float64Array | None, centre: Float64Array | None = None
) -> Float64Array:
    """``[1 X]'W[1 X]``, shape (p + 1, p + 1); dense X is shifted by the centre, if any."""
    n_samples, p = X.shape
    w = np.ones(n_samples) if weight is None else weight
    gram = np.zeros((p + 1, p + 1))
    gram[0, 0] = w.sum()
    if _stays_sparse(X):
        gram[0, 1:] = gram[1:, 0] = np.asarray(X.T @ w, dtype=np.float64)
        # Contiguous: for a view of `gram` the kernel would be compiled a second time.
        product = np.zeros((p, p))
        parts = _csr_parts(X)
        add_row_products(*parts, *parts, w, product)
        gram[1:, 1:] = product
        return gram

    def work(lo: int) -> tuple[Float64Array, Float64Array]:
        rows, part = dense_rows(X, lo, centre), w[lo : lo + CHUNK_ROWS]
        return (rows if weight is None else part[:, None] * rows).T @ rows, part @ rows

    n_threads = None if n_samples * p > 1e6 else 1
    sums = np.zeros(p)
    for products, part in thread_imap(work, range(0, n_samples, CHUNK_ROWS), n_threads):
        gram[1:, 1:] += products
        sums += part
    gram[0, 1:] = gram[1:, 0] = sums
    return gram


def feature_products(
    X: Matrix, Y: Matrix, weight: Float64Array | None, centre: Float64Array | None = None
) -> Float64Array:
    """``[1 X]'WY``, shape (p + 1, K), dense X is shifted by the centre; Y of any format."""
    n_samples, p = X.shape
    w = np.ones(n_samples) if weight is None else weight
    cross = np.empty((p + 1, Y.shape[1]))
    cross[0] = Y.T @ w
    if not is_sparse(Y):
        weighted = Y if weight is None else weight[:, None] * Y
        if is_sparse(X):
            cross[1:] = X.T @ weighted
            return cross
        cross[1:] = 0
        for lo in range(0, n_samples, CHUNK_ROWS):
            cross[1:] += dense_rows(X, lo, centre).T @ weighted[lo : lo + CHUNK_ROWS]
        return cross
    if _stays_sparse(X):
        product = np.zeros((p, Y.shape[1]))
        add_row_products(*_csr_parts(X), *_csr_parts(Y), w, product)
        cross[1:] = product
        return cross
    # Transposed, so that a label adds a contiguous row.
    by_label = np.zeros((Y.shape[1], p))
    for lo in range(0, n_samples, CHUNK_ROWS):
        rows, labels = dense_rows(X, lo, centre), Y[lo : lo + CHUNK_ROWS]
        if _stays_sparse(Y):
            part = w[lo : lo + CHUNK_ROWS]
            add_labelled_rows(*_csr_parts(labels), rows, part, by_label)
        else:
            by_label += (labels.toarray() * w[lo : lo + CHUNK_ROWS, None]).T @ rows
    cross[1:] = by_label.T
    return cross


def products_of_labels(Y: SparseMatrix, weight: Float64Array | None) -> Float64Array:
    """``Y'WY``, shape (K, K), of a CSR Y."""
    w = np.ones(Y.shape[0]) if weight is None else weight
    product = np.zeros((Y.shape[1], Y.shape[1]))
    add_row_products(*_csr_parts(Y), *_csr_parts(Y), w, product)
    return product


def dense_rows(X: Matrix, lo: int, centre: Float64Array | None = None) -> Float64Array:
    """``CHUNK_ROWS`` rows from ``lo`` on in float64, minus the centre; a view if possible."""
    rows = X[lo : lo + CHUNK_ROWS]
    rows = densify(rows)
    rows = rows.astype(np.float64, copy=False)
    # A copy, never in place: `rows` may be a view of the user's X.
    return rows if centre is None else rows - centre


def _stays_sparse(rows: Matrix) -> TypeGuard[SparseMatrix]:
    return is_sparse(rows) and rows.nnz <= SPARSE_SHARE * rows.shape[0] * rows.shape[1]


def _csr_parts(rows: SparseMatrix) -> tuple[Float64Array, Float64Array, Float64Array]:
    return rows.indptr, rows.indices, rows.data.astype(np.float64, copy=False)
