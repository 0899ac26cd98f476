"""Products and distances of rows: with vectors, columns, labels and other rows.

Products with a vector are in float64 for any type of the block. For rows in the cache, converting
while multiplying is cheaper than BLAS on a converted copy. A block is read from memory only once
for a product from the right and one from the left.

Products of the columns of each row, ``(x.z + 1)^2 = phi(x).phi(z)``, are ``x_i^2`` and
``sqrt(2) x_i x_j`` for i <= j, row by row of the upper triangle, then ``sqrt(2) x_i``, then 1.

Products of sparse rows with their labels are added up entry by entry. A row with a features and b
labels takes a b additions. On sparse rows, this is far less than a dense matrix product, which also
multiplies zeros.

Distances between rows are summed over feature differences. Computing ``|x|^2 + |z|^2 - 2 x.z`` with
a matrix product cancels for near rows. Summing the differences takes about twice as long as the
product but loses no digits. The distances are symmetric, exactly 0 for equal rows, and
bit-identical whatever block they are computed in.

Columns of ``zt`` are rows of Z; the number of features is a multiple of 4 (zeros are added).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit


@njit(fastmath=REASSOCIATE)
def times_vector(X, w, out):
    """Write ``X w``; X float32 or float64 (n, d), w float64 (d,), out float64 (n,)."""
    n, d = X.shape
    for i in range(n):
        # A float64 sum: the product with float32 rows is widened, not the rows.
        total = 0.0
        for j in range(d):
            total += X[i, j] * w[j]
        out[i] = total


@njit(fastmath=REASSOCIATE)
def add_transposed(X, h, out):
    """Add ``X' h`` to ``out``; X float32 or float64 (n, d), h float64 (n,), out float64 (d,)."""
    n, d = X.shape
    for i in range(n):
        factor = h[i]
        for j in range(d):
            out[j] += factor * X[i, j]


@njit(fastmath=REASSOCIATE)
def add_moments(X, sums, squares):
    """Add the sums of the columns and of their squares; both float64 (d,)."""
    n, d = X.shape
    for i in range(n):
        for j in range(d):
            value = np.float64(X[i, j])
            sums[j] += value
            squares[j] += value * value


@njit
def add_within(X, indptr, squares, largest):
    """Add the sums of squares of the columns about their means within groups of rows.

    ``largest`` becomes at least the largest absolute value of each column; both float64 (d,). The
    first row of each group is subtracted first, so that a common offset loses no digits.
    """
    d = X.shape[1]
    sums, about = np.empty(d), np.empty(d)
    for q in range(len(indptr) - 1):
        lo, hi = indptr[q], indptr[q + 1]
        sums[:] = 0.0
        about[:] = 0.0
        for i in range(lo, hi):
            for j in range(d):
                value = np.float64(X[i, j])
                largest[j] = max(largest[j], abs(value))
                value -= np.float64(X[lo, j])
                sums[j] += value
                about[j] += value * value
        for j in range(d):
            if hi > lo:
                # Divided before it is multiplied: the square of a large sum overflows. Below 0 is
                # rounding.
                squares[j] += max(0.0, about[j] - sums[j] * (sums[j] / (hi - lo)))


ROOT = np.sqrt(2.0)


@njit
def expand_rows(X, out):
    """``out`` (n, (d + 1)(d + 2) / 2) becomes the products of X (n, d)."""
    d = X.shape[1]
    for row in range(X.shape[0]):
        column = 0
        for i in range(d):
            scaled = ROOT * X[row, i]
            out[row, column] = X[row, i] * X[row, i]
            for j in range(i + 1, d):
                out[row, column + j - i] = scaled * X[row, j]
            # Row i of the triangle has d - i products.
            column += d - i
        for i in range(d):
            out[row, column + i] = ROOT * X[row, i]
        out[row, column + d] = 1.0


@njit
def expand_csr(data, indices, indptr, d, out_data, out_indices, out_indptr):
    """Like :func:`expand_rows`, for CSR rows with ascending columns.

    A row of s entries gets (s + 1)(s + 2) / 2 entries.
    """
    entry = 0
    pairs = d * (d + 1) // 2
    out_indptr[0] = 0
    for row in range(len(indptr) - 1):
        for a in range(indptr[row], indptr[row + 1]):
            i = np.int64(indices[a])
            scaled = ROOT * data[a]
            # Where row i of the triangle begins, less i, since its first column is i.
            start = i * d - i * (i - 1) // 2 - i
            out_data[entry], out_indices[entry] = data[a] * data[a], start + i
            entry += 1
            for b in range(a + 1, indptr[row + 1]):
                out_data[entry], out_indices[entry] = scaled * data[b], start + indices[b]
                entry += 1
        for a in range(indptr[row], indptr[row + 1]):
            out_data[entry], out_indices[entry] = ROOT * data[a], pairs + indices[a]
            entry += 1
        out_data[entry], out_indices[entry] = 1.0, pairs + d
        entry += 1
        out_indptr[row + 1] = entry


@njit
def append_one(data, indices, indptr, d, out_data, out_indices, out_indptr):
    """CSR rows of d columns with a 1 as the last column."""
    out_indptr[0] = 0
    for row in range(len(indptr) - 1):
        for a in range(indptr[row], indptr[row + 1]):
            out_data[a + row], out_indices[a + row] = data[a], indices[a]
        # Each row before this one has grown by one entry.
        end = indptr[row + 1] + row
        out_data[end], out_indices[end] = 1.0, d
        out_indptr[row + 1] = end + 1


@njit
def add_row_products(a_ptr, a_index, a_value, b_ptr, b_index, b_value, weight, out):
    """Add ``A' diag(weight) B`` to ``out`` (k, l); A (n, k) and B (n, l) are CSR."""
    for i in range(len(a_ptr) - 1):
        # Views of the row's labels, sliced once for all of its features.
        lo, n = b_ptr[i], b_ptr[i + 1] - b_ptr[i]
        columns, values = b_index[lo : lo + n], b_value[lo : lo + n]
        for s in range(a_ptr[i], a_ptr[i + 1]):
            row = out[np.uint32(a_index[s])]
            factor = weight[i] * a_value[s]
            for t in range(n):  # unsigned indices are twice as fast as signed ones
                row[np.uint32(columns[t])] += factor * values[t]


@njit
def add_labelled_rows(label_ptr, label_index, label_value, X, weight, out):
    """Add ``Y' diag(weight) X`` to ``out`` (l, d); Y (n, l) is CSR, X (n, d) dense."""
    d = X.shape[1]
    for i in range(len(label_ptr) - 1):
        row = X[i]
        for s in range(label_ptr[i], label_ptr[i + 1]):
            total = out[label_index[s]]
            factor = weight[i] * label_value[s]
            for j in range(d):
                total[j] += factor * row[j]


@njit(fastmath=frozenset({"contract"}))
def fill_squared_block(x, zt, first, out):
    """Squared Euclidean distances into ``out[:, first:first + zt.shape[1]]``."""
    n, d = x.shape
    width = zt.shape[1]
    for i in range(n):
        row = out[i][first : first + width]
        for j in range(width):
            row[j] = 0
        # Four features per pass over the row: a quarter of its reads and writes.
        for k in range(0, d, 4):
            x0, x1, x2, x3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            z0, z1, z2, z3 = zt[k], zt[k + 1], zt[k + 2], zt[k + 3]
            for j in range(width):
                d0, d1, d2, d3 = x0 - z0[j], x1 - z1[j], x2 - z2[j], x3 - z3[j]
                # The order of additions is fixed, in every block alike; hence no reassociation
                # above.
                row[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)


@njit(fastmath=frozenset({"contract"}))
def absolute_block(x, zt, first, out):
    """L1 distances into ``out[:, first:first + zt.shape[1]]``."""
    n, d = x.shape
    width = zt.shape[1]
    for i in range(n):
        row = out[i][first : first + width]
        for j in range(width):
            row[j] = 0
        for k in range(0, d, 4):
            x0, x1, x2, x3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            z0, z1, z2, z3 = zt[k], zt[k + 1], zt[k + 2], zt[k + 3]
            for j in range(width):
                row[j] += (abs(x0 - z0[j]) + abs(x1 - z1[j])) + (abs(x2 - z2[j]) + abs(x3 - z3[j]))


@njit
def _merged_square(data, indices, start, stop, z_data, z_indices, z_start, z_stop):
    # Merges two ascending lists: an index in one list only meets a zero.
    total = 0.0
    i, j = start, z_start
    while i < stop and j < z_stop:
        if indices[i] == z_indices[j]:
            difference = data[i] - z_data[j]
            total += difference * difference
            i += 1
            j += 1
        elif indices[i] < z_indices[j]:
            total += data[i] * data[i]
            i += 1
        else:
            total += z_data[j] * z_data[j]
            j += 1
    for rest in range(i, stop):
        total += data[rest] * data[rest]
    for rest in range(j, z_stop):
        total += z_data[rest] * z_data[rest]
    return total


@njit
def refine_near(out, x, x_norms, z, z_norms, near):
    """Recompute squared distances if ``out`` is below ``near`` times the squared norms.

    ``x`` and ``z`` are ``(data, indices, indptr)`` of CSR rows with ascending indices; ``out``
    holds squared distances from norms and products, and is modified in place.
    """
    data, indices, indptr = x
    z_data, z_indices, z_indptr = z
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            # Below this share of the norms, the product form has cancelled too many digits.
            if out[i, j] <= near * (x_norms[i] + z_norms[j]):
                out[i, j] = _merged_square(
                    data,
                    indices,
                    indptr[i],
                    indptr[i + 1],
                    z_data,
                    z_indices,
                    z_indptr[j],
                    z_indptr[j + 1],
                )
