"""Principal axes of labels: the leading right singular vectors of ``W^(1/2) (Y - 1 o')``.

Up to a few thousand labels, the axes are computed as eigenvectors of the K x K products, which are
cheap for sparse rows. For more labels, a random subspace is iterated [1]_. Y then stays sparse and
no array larger than N x (M + 10) or K x (M + 10) is held.

References
----------
.. [1] Halko, Martinsson & Tropp, "Finding structure with randomness", SIAM Review 53 (2011),
   algorithms 4.4 and 5.1.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from rankwise.typing import Float64Array, SparseMatrix

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
