"""Least squares for many labels: sums of rows, one factorisation, label axes, sparse codes.

With ``Z = [1 X]`` and row weights W, the statistics are ``Z'WZ``, ``Z'WY`` and, on request,
``Y'WY``. The statistics of a training part are those of all rows minus those of the held-out rows.
Many splits of the same rows thus cost one full pass and one small pass per split.

Complexity: for N rows with p features and b labels per row, O(N p^2 + N p b) on dense rows. On
sparse rows with a non-zero features each, O(N (a^2 + a b)).

Ridge regression of many outputs takes one factorisation. It minimises
``sum_i w_i |t_i - [1 x_i] B|^2 + alpha |B|^2``: the constant is penalised like every other
coefficient, as in [1]_. ``B = (Z'WZ + alpha I)^-1 Z'WT`` for ``Z = [1 X]``; if there are fewer rows
than columns, the system of the rows is solved, ``B = Z'V (V Z Z' V + alpha I)^-1 V T`` with
``V = W^(1/2)``.

If there are more rows than columns and dense X has a column far from zero, its means mu are
subtracted. An offset then loses no precision. With ``A = X'WX + alpha I`` of the centred rows, s
the sum of the weights and t the means of the targets, minimising over the constant leaves

    ``(A + gamma mu mu') B = X'WT + gamma mu t'``,  ``gamma = alpha s / (s + alpha)``,

so ``B = D + v (t - D'mu)' / (1 + mu'v)`` for ``D = A^-1 X'WT`` and ``v = gamma A^-1 mu``; as alpha
vanishes v becomes the part of mu in the null space of A. Sparse rows are not centred.

Complexity: O(p^3 + p^2 M) beside the statistics, for p columns and M outputs; each further
penalty O(p^2 M) once :class:`RidgePath` has the eigenvectors.

Principal axes of labels are the leading right singular vectors of ``W^(1/2) (Y - 1 o')``. Up to a
few thousand labels, the axes are computed as eigenvectors of the K x K products, which are cheap
for sparse rows. For more labels, a random subspace is iterated [2]_. Y then stays sparse and no
array larger than N x (M + 10) or K x (M + 10) is held.

Sparse label vectors are decoded many rows at a time. In each step of CoSaMP, the 2s labels with the
largest ``|P' residual|`` join the support. Least squares is solved on the support, and the s
largest values stay. Steps end when the residual no longer falls. If a support has more labels than
there are codes, or linearly dependent labels, the minimum-norm solution is taken. Matching pursuit
adds one label per step.

Complexity: O(K M + s^2 M + s^3) per row and step for K labels and M codes.

References
----------
.. [1] Tai & Lin, "Multilabel classification with principal label space transformation", Neural
   Computation 24 (2012).
.. [2] Halko, Martinsson & Tropp, "Finding structure with randomness", SIAM Review 53 (2011),
   algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, TypeGuard

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rankwise.kernels.row_products import add_labelled_rows, add_row_products
from rankwise.kernels.sparse_decoding import (
    PENDING,
    SINGULAR,
    fit_supports,
    merge_supports,
    prune_supports,
    pursue_orthogonally,
)
from rankwise.runtime.threads import thread_imap, thread_map
from rankwise.typing import Float64Array, Int64Array, Matrix, SparseMatrix, densify, is_sparse

# Rows of a matrix product; see benchmarks/bench_closed_form.py.
ROWS_A_CHUNK = 3000
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
        rows, part = dense_rows(X, lo, centre), w[lo : lo + ROWS_A_CHUNK]
        return (rows if weight is None else part[:, None] * rows).T @ rows, part @ rows

    n_threads = None if n_samples * p > 1e6 else 1
    sums = np.zeros(p)
    for products, part in thread_imap(work, range(0, n_samples, ROWS_A_CHUNK), n_threads):
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
        for lo in range(0, n_samples, ROWS_A_CHUNK):
            cross[1:] += dense_rows(X, lo, centre).T @ weighted[lo : lo + ROWS_A_CHUNK]
        return cross
    if _stays_sparse(X):
        product = np.zeros((p, Y.shape[1]))
        add_row_products(*_csr_parts(X), *_csr_parts(Y), w, product)
        cross[1:] = product
        return cross
    # Transposed, so that a label adds a contiguous row.
    by_label = np.zeros((Y.shape[1], p))
    for lo in range(0, n_samples, ROWS_A_CHUNK):
        rows, labels = dense_rows(X, lo, centre), Y[lo : lo + ROWS_A_CHUNK]
        if _stays_sparse(Y):
            part = w[lo : lo + ROWS_A_CHUNK]
            add_labelled_rows(*_csr_parts(labels), rows, part, by_label)
        else:
            by_label += (labels.toarray() * w[lo : lo + ROWS_A_CHUNK, None]).T @ rows
    cross[1:] = by_label.T
    return cross


def products_of_labels(Y: SparseMatrix, weight: Float64Array | None) -> Float64Array:
    """``Y'WY``, shape (K, K), of a CSR Y."""
    w = np.ones(Y.shape[0]) if weight is None else weight
    product = np.zeros((Y.shape[1], Y.shape[1]))
    add_row_products(*_csr_parts(Y), *_csr_parts(Y), w, product)
    return product


def dense_rows(X: Matrix, lo: int, centre: Float64Array | None = None) -> Float64Array:
    """``ROWS_A_CHUNK`` rows from ``lo`` on in float64, minus the centre; a view if possible."""
    rows = X[lo : lo + ROWS_A_CHUNK]
    rows = densify(rows)
    rows = rows.astype(np.float64, copy=False)
    # A copy, never in place: `rows` may be a view of the user's X.
    return rows if centre is None else rows - centre


def _stays_sparse(rows: Matrix) -> TypeGuard[SparseMatrix]:
    return is_sparse(rows) and rows.nnz <= SPARSE_SHARE * rows.shape[0] * rows.shape[1]


def _csr_parts(rows: SparseMatrix) -> tuple[Float64Array, Float64Array, Float64Array]:
    return rows.indptr, rows.indices, rows.data.astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Eigendecomposition of a symmetric matrix A: ``(A + alpha I)^-1 rhs`` for any alpha >= 0."""

    values: Float64Array  # (p,)
    vectors: Float64Array  # (p, p)

    @classmethod
    def of(cls, matrix: Float64Array) -> RidgePath:
        """Decompose."""
        values, vectors = np.linalg.eigh(matrix)
        return cls(np.maximum(values, 0.0), vectors)

    def solve(self, alpha: float, rhs: Float64Array) -> Float64Array:
        """Minimum-norm solution; numerically zero directions are left out."""
        shifted = self.values + alpha
        inverse = np.divide(
            1.0, shifted, out=np.zeros_like(shifted), where=self._exceeds_noise(alpha)
        )
        return self.vectors @ (inverse[:, None] * (self.vectors.T @ rhs))

    def left_out(self, alpha: float, vector: Float64Array) -> Float64Array:
        """The part of a vector in the directions that :meth:`solve` leaves out."""
        basis = self.vectors[:, ~self._exceeds_noise(alpha)]
        return basis @ (basis.T @ vector)

    def _exceeds_noise(self, alpha: float) -> NDArray[np.bool_]:
        noise = len(self.values) * np.finfo(np.float64).eps * self.values.max(initial=0.0)
        return self.values + alpha > noise


class Solve(Protocol):
    """Solves a factorised system for right-hand sides of shape (p, M)."""

    def __call__(self, rhs: Float64Array) -> Float64Array: ...


def factorised(matrix: Float64Array, alpha: float) -> Solve:
    """Solver of ``matrix + alpha I``: by Cholesky, or by eigenvectors if that breaks down."""
    return _factorise(matrix, alpha) or partial(RidgePath.of(matrix).solve, alpha)


def build_centred_solver(gram: Float64Array, centre: Float64Array | None, alpha: float) -> Solve:
    """Solver for ``Z'WT``; it and the solution are in coordinates ``Z = [1, X - centre]``.

    ``gram`` is ``Z'WZ``, (p + 1, p + 1). ``centre`` is (p,); None means zeros, which gives the
    plain solver.
    """
    if centre is None:
        return factorised(gram, alpha)
    weight = gram[0, 0]
    rest = gram[0, 1:] / weight  # of the means, which the centre may miss
    mean, share = centre + rest, weight / (weight + alpha)
    matrix = gram[1:, 1:] - np.outer(rest, gram[0, 1:])
    solve = _factorise(matrix, alpha)
    # v of the docstring, whose gamma is alpha * share. In directions without data A is alpha, and
    # gamma / alpha is `share`, at alpha = 0 too.
    pull = np.zeros_like(mean)
    if solve is None:
        path = RidgePath.of(matrix)
        solve, pull = partial(path.solve, alpha), share * path.left_out(alpha, mean)
    pull += alpha * share * solve(mean[:, None])[:, 0]
    pull /= 1.0 + mean @ pull

    def solution(rhs: Float64Array) -> Float64Array:
        targets = rhs[0] / weight
        slopes = solve(rhs[1:] - np.outer(rest, rhs[0]))
        slopes += np.outer(pull, targets - mean @ slopes)
        at_mean = targets - alpha / (weight + alpha) * (targets - mean @ slopes)
        return np.vstack([at_mean - rest @ slopes, slopes])

    return solution


def build_centred_path(
    gram: Float64Array, centre: Float64Array | None
) -> Callable[[float, Float64Array], Float64Array]:
    """``solve(alpha, rhs)`` of :func:`build_centred_solver`; one decomposition if none is far."""
    if centre is None:
        return RidgePath.of(gram).solve
    return lambda alpha, rhs: build_centred_solver(gram, centre, alpha)(rhs)


def shift_from_centre(coefficients: Float64Array, centre: Float64Array | None) -> Float64Array:
    """Coefficients of ``[1 X]`` from those of ``[1, X - centre]``, in place."""
    if centre is not None:
        coefficients[0] -= centre @ coefficients[1:]
    return coefficients


def _factorise(matrix: Float64Array, alpha: float) -> Solve | None:
    """Solver of ``matrix + alpha I``, or None if the solution would be noise."""
    penalised = matrix.copy()
    penalised.flat[:: len(matrix) + 1] += alpha
    diagonal = penalised.diagonal().copy()
    try:
        factor = scipy.linalg.cho_factor(penalised, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    # Part of a column that is independent of those before it, as a share of its own length.
    if (np.diag(factor[0]) ** 2 <= len(matrix) * np.finfo(np.float64).eps * diagonal).any():
        return None
    return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)


class SharedRidge:
    """Factorised rows that solve for any outputs: X (N, p), weights (N,), alpha >= 0."""

    weight: Float64Array | None

    def __init__(self, X: Matrix, weight: Float64Array | None, alpha: float) -> None:
        # The smaller of the two systems.
        self._wide = X.shape[0] <= X.shape[1]
        self.X, self.weight = X, weight
        if self._wide:
            self.X = X = X.astype(np.float64, copy=False)
            self._root = np.ones(X.shape[0]) if weight is None else np.sqrt(weight)
            products: Any = X @ X.T
            products = densify(products)
            self._matrix = self._root[:, None] * (1 + products) * self._root
            self._solve = factorised(self._matrix, alpha)
        else:
            self._matrix, self._centre = compute_centred_gram(X, weight)
            self._solve = build_centred_solver(self._matrix, self._centre, alpha)

    def coefficients(self, targets: Matrix) -> Float64Array:
        """B of shape (p + 1, M), the constant's row first; targets CSR or dense (N, M)."""
        if not self._wide:
            return shift_from_centre(self._solve(self._products(targets)), self._centre)
        targets = densify(targets)
        dual = self._root[:, None] * self._solve(self._root[:, None] * targets)
        return np.vstack([dual.sum(axis=0), np.asarray(self.X.T @ dual)])

    def code_coefficients(
        self, Y: SparseMatrix, code: Float64Array, offset: Float64Array
    ) -> Float64Array:
        """:meth:`coefficients` of ``(Y - 1 o') P'``, holding p x K numbers in between."""
        if self._wide:
            return self.coefficients(Y @ code.T - code @ offset)
        cross = self._products(Y)
        # The first column of Z'WZ is Z'W 1: subtracting offsets needs no other pass.
        cross -= np.outer(self._matrix[:, 0], offset)
        return shift_from_centre(self._solve(cross @ code.T), self._centre)

    def fitted_products(self, targets: Matrix, shift: Float64Array) -> Float64Array:
        """``T'W Z (Z'WZ + alpha I)^-1 Z'W T``, shape (M, M), for targets T minus a shift (M,)."""
        if not self._wide:
            cross = self._products(targets)
            cross -= np.outer(self._matrix[:, 0], shift)
            return cross.T @ self._solve(cross)
        targets = densify(targets)
        scaled = self._root[:, None] * (targets - shift)
        return scaled.T @ (self._matrix @ self._solve(scaled))

    def _products(self, targets: Matrix) -> Float64Array:
        return feature_products(self.X, targets, self.weight, self._centre)


OVERSAMPLING = 10
N_ITER = 6


def leading_axes(matrix: Float64Array, n_axes: int) -> tuple[Float64Array, Float64Array]:
    """Eigenvectors of a symmetric matrix with the largest eigenvalues.

    The axes, (n_axes, K), are orthonormal rows; the entry of largest magnitude of each is positive.
    The values are descending, >= 0.
    """
    size = len(matrix)
    # Driver evr computes a few eigenvectors in half the time that evd takes for all.
    values, vectors = scipy.linalg.eigh(
        matrix,
        subset_by_index=None if n_axes == size else [size - n_axes, size - 1],
        driver="evd" if n_axes == size else "evr",
        check_finite=False,
    )
    return with_signs(vectors[:, ::-1].T), np.maximum(values[::-1], 0.0)


def centre_products(
    products: Float64Array, means: Float64Array, weight: float, offset: Float64Array
) -> Float64Array:
    """``(Y - 1 o')'W(Y - 1 o')`` from ``Y'WY``, the means of the columns and the sum of weights."""
    # Half of offset offset' in each of two transposed terms.
    step = weight * np.outer(means - 0.5 * offset, offset)
    return products - step - step.T


def approximate_axes(
    Y: SparseMatrix,
    weight: Float64Array | None,
    offset: Float64Array,
    n_axes: int,
    rng: np.random.RandomState,
) -> tuple[Float64Array, Float64Array]:
    """Like :func:`leading_axes` of the centred products, approximated from the rows.

    Y is CSR (N, K), ``weight`` (N,); ``offset``, (K,), is subtracted from the rows of Y.
    """
    n_samples, n_labels = Y.shape
    root = np.ones(n_samples) if weight is None else np.sqrt(weight)
    transposed = Y.T.tocsr()

    def times(basis: Float64Array) -> Float64Array:
        product = Y @ basis
        product -= offset @ basis
        product *= root[:, None]
        return product

    def transposed_times(basis: Float64Array) -> Float64Array:
        basis *= root[:, None]
        product = transposed @ basis
        product -= np.outer(offset, basis.sum(axis=0))
        return product

    # A few directions too many, so that the last axes wanted converge as well.
    size = min(n_axes + OVERSAMPLING, n_labels, n_samples)
    basis = rng.standard_normal((n_labels, size))
    for _ in range(N_ITER):
        # Orthonormal after every product: otherwise all columns turn to the leading axis and the
        # others drown in rounding.
        basis = _orthonormal(transposed_times(_orthonormal(times(basis))))
    projected = times(basis)
    values, rotation = np.linalg.eigh(projected.T @ projected)
    leading = rotation[:, ::-1][:, :n_axes]
    return with_signs((basis @ leading).T), np.maximum(values[::-1][:n_axes], 0.0)


def with_signs(axes: Float64Array) -> Float64Array:
    """Rows with signs such that each row's entry of largest magnitude is positive; C-contiguous."""
    axes = np.ascontiguousarray(axes)
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes *= np.where(largest < 0, -1.0, 1.0)
    return axes


def _orthonormal(basis: Float64Array) -> Float64Array:
    return np.linalg.qr(basis)[0]


# Number of rows per unit of work; results do not depend on it.
CODES_A_CHUNK = 64
# Relative size of singular values that count as zero.
CUTOFF = 1e-10


def cosamp(code: Float64Array, codes: Float64Array, sparsity: int, max_iter: int) -> Float64Array:
    """The last iterates of CoSaMP, (n_samples, n_labels).

    P is ``code``, (n_codes, n_labels), and ``codes`` is (n_samples, n_codes). ``sparsity`` is the
    number of non-zero entries, at most n_labels.
    """
    columns = np.ascontiguousarray(code.T)
    n_take = min(2 * sparsity, code.shape[1])

    def decode(codes: Float64Array) -> tuple[Int64Array, Int64Array, Float64Array]:
        n = len(codes)
        state, norms = np.full(n, PENDING), np.einsum("ij,ij->i", codes, codes)
        support, size = np.zeros((n, sparsity), dtype=np.int64), np.zeros(n, dtype=np.int64)
        kept, residuals = np.zeros((n, sparsity)), codes
        merged = np.zeros((n, sparsity + n_take), dtype=np.int64)
        merged_size, values = np.zeros(n, dtype=np.int64), np.zeros(merged.shape)
        for _ in range(max_iter):
            merge_supports(code, residuals, support, size, state, n_take, merged, merged_size)
            fit_supports(columns, codes, merged, merged_size, values, state)
            # Few rows: a singular value decomposition each costs little in all.
            for row in np.flatnonzero(state == SINGULAR):
                labels = merged[row, : merged_size[row]]
                # Minimum-norm least squares on some columns, given with shape (t, M).
                left, sizes, right = np.linalg.svd(columns[labels], full_matrices=False)
                is_large = sizes > CUTOFF * sizes[0]
                inverse = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=is_large)
                values[row, : len(labels)] = left @ (inverse * (right @ codes[row]))
            residuals = codes.copy()
            prune_supports(
                columns, residuals, merged, merged_size, values, state, support, size, kept, norms
            )
            if (state != PENDING).all():
                break
        return support, size, kept

    return _decode_chunks(decode, codes, code.shape[1])


def matching_pursuit(code: Float64Array, codes: Float64Array, sparsity: int) -> Float64Array:
    """Orthogonal matching pursuit; arguments and result as in :func:`cosamp`."""
    columns = np.ascontiguousarray(code.T)

    def decode(codes: Float64Array) -> tuple[Int64Array, Int64Array, Float64Array]:
        support = np.zeros((len(codes), sparsity), dtype=np.int64)
        size, values = np.zeros(len(codes), dtype=np.int64), np.zeros(support.shape)
        pursue_orthogonally(code, columns, codes.copy(), support, size, values)
        return support, size, values

    return _decode_chunks(decode, codes, code.shape[1])


def _decode_chunks(
    decode: Callable[[Float64Array], tuple[Int64Array, Int64Array, Float64Array]],
    codes: Float64Array,
    n_labels: int,
) -> Float64Array:
    scores = np.zeros((len(codes), n_labels))

    def work(lo: int) -> None:
        part: Any = np.ascontiguousarray(codes[lo : lo + CODES_A_CHUNK])
        support, size, values = decode(part)
        taken = np.arange(support.shape[1]) < size[:, None]
        rows = np.broadcast_to(np.arange(lo, lo + len(part))[:, None], support.shape)
        # Chunks write to rows of their own, so threads need no lock.
        scores[rows[taken], support[taken]] = values[taken]

    thread_map(work, range(0, len(codes), CODES_A_CHUNK))
    return scores
