"""Distances between rows, summed over feature differences.

Computing ``|x|^2 + |z|^2 - 2 x.z`` with a matrix product cancels for near rows. Summing the
differences takes about twice as long as the product but loses no digits. The distances are
symmetric, exactly 0 for equal rows, and bit-identical whatever block they are computed in.

Columns of ``zt`` are rows of Z; the number of features is a multiple of 4 (zeros are added).
"""

from __future__ import annotations

from rankwise.runtime.jit import njit


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
