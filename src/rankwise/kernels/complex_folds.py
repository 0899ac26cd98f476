"""Held-out residuals of ridge regression with complex penalties, for a whole grid at once.

With ``I - S = U (eta / (Lambda + eta)) U'`` (S the hat matrix with its intercept, eta a complex
penalty) the held-out residual of a fold is ``(I - S_ff)^-1 ((I - S) y)_f``. Every entry of the
block and of the right-hand side is linear in the shrinkages ``eta / (Lambda + eta)``: products of
rows of U times a matrix of shrinkages gives all entries for all grid points.

A row of 2G numbers holds the real parts of G grid points, then their imaginary parts, so that
every inner loop is contiguous. The real part of ``I - S_ff`` is positive definite, hence
``L D L'`` needs no pivoting.
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit


@njit(fastmath=REASSOCIATE)
def fold_products(left, target, scale, y, rows, size, out):
    """Write products of rows of U, the factors of the folds' blocks and right-hand sides.

    Parameters: ``left`` (m, r): U; ``target`` (r,): U'y; ``scale`` (m,): the intercept's unit
    direction; ``y`` (m,); ``rows``: the rows of the folds, ``size`` for each. Fills ``out``: for
    each fold the lower triangle by rows, then the right-hand side. If ``out`` has a column r, it
    receives the part of the identity outside the span of U and ``scale``.
    """
    r = left.shape[1]
    p = 0
    for start in range(0, len(rows), size):
        for i in range(start, start + size):
            a = left[rows[i]]
            for j in range(start, i + 1):
                b = left[rows[j]]
                entry = out[p]
                reached = 0.0
                for c in range(r):
                    entry[c] = a[c] * b[c]
                    reached += entry[c]
                if len(entry) > r:
                    # What neither U nor the intercept reaches: its eigenvalue is 0.
                    identity = 1.0 if i == j else 0.0
                    entry[r] = identity - scale[rows[i]] * scale[rows[j]] - reached
                p += 1
        for i in range(start, start + size):
            a = left[rows[i]]
            entry = out[p]
            reached = 0.0
            for c in range(r):
                entry[c] = a[c] * target[c]
                reached += entry[c]
            if len(entry) > r:
                mean = 0.0
                for j in range(len(y)):
                    mean += scale[j] * y[j]
                entry[r] = y[rows[i]] - scale[rows[i]] * mean - reached
            p += 1


@njit(fastmath=REASSOCIATE)
def shrinkages(values, penalty, half, cut, out):
    """Write ``eta / (Lambda + eta)`` for ``eta = half (penalty[0] + i penalty[1])``, (r, 2G).

    A row of ``out`` beyond the eigenvalues belongs to an eigenvalue of 0. If Lambda and both parts
    of eta are at most ``cut``, the direction is dropped and its shrinkage is 1.
    """
    G = penalty.shape[1]
    for v in range(len(out)):
        value = values[v] if v < len(values) else 0.0
        re = out[v, :G]
        im = out[v, G:]
        for g in range(G):
            x = penalty[0, g] * half
            y = penalty[1, g] * half
            if value <= cut and x <= cut and y <= cut:
                re[g] = 1.0
                im[g] = 0.0
                continue
            # eta times the conjugate of Lambda + eta, over its squared modulus. The imaginary part
            # y shifted - y x is written without the difference.
            shifted = value + x
            q = 1.0 / (shifted * shifted + y * y)
            re[g] = (x * shifted + y * y) * q
            im[g] = (y * value) * q


@njit(fastmath=REASSOCIATE)
def add_squared_solutions(systems, size, out):
    """Solve the systems of all folds and grid points; add the squared real parts to ``out`` (G,).

    ``systems``: entries as in :func:`fold_products`, a row of 2G numbers each; overwritten.
    """
    G = len(out)
    rhs = size * (size + 1) // 2
    factor_re = np.empty(G)
    factor_im = np.empty(G)
    for start in range(0, len(systems), rhs + size):
        system = systems[start : start + rhs + size]
        for k in range(size):
            # Row k of a triangle that is stored by rows begins at k (k + 1) / 2.
            pivot = k * (k + 1) // 2 + k
            d_re = system[pivot, :G]
            d_im = system[pivot, G:]
            for g in range(G):
                # The pivot becomes its reciprocal: one division per pivot, then products only.
                q = 1.0 / (d_re[g] * d_re[g] + d_im[g] * d_im[g])
                d_re[g] *= q
                d_im[g] *= -q
            r_re = system[rhs + k, :G]
            r_im = system[rhs + k, G:]
            for j in range(k + 1, size):
                entry = j * (j + 1) // 2
                a_re = system[entry + k, :G]
                a_im = system[entry + k, G:]
                for g in range(G):
                    # The matrix is symmetric, not Hermitian: no product has a conjugate.
                    factor_re[g] = a_re[g] * d_re[g] - a_im[g] * d_im[g]
                    factor_im[g] = a_re[g] * d_im[g] + a_im[g] * d_re[g]
                b_re = system[rhs + j, :G]
                b_im = system[rhs + j, G:]
                for g in range(G):
                    b_re[g] -= factor_re[g] * r_re[g] - factor_im[g] * r_im[g]
                    b_im[g] -= factor_re[g] * r_im[g] + factor_im[g] * r_re[g]
                for i in range(j, size):
                    entry = i * (i + 1) // 2
                    a_re = system[entry + k, :G]
                    a_im = system[entry + k, G:]
                    b_re = system[entry + j, :G]
                    b_im = system[entry + j, G:]
                    for g in range(G):
                        b_re[g] -= a_re[g] * factor_re[g] - a_im[g] * factor_im[g]
                        b_im[g] -= a_re[g] * factor_im[g] + a_im[g] * factor_re[g]
        # Columns below the pivots still hold L D, and the right-hand side D z: subtracting first
        # and multiplying by the reciprocal pivot last solves D and L' together.
        for k in range(size - 1, -1, -1):
            r_re = system[rhs + k, :G]
            r_im = system[rhs + k, G:]
            for j in range(k + 1, size):
                entry = j * (j + 1) // 2
                a_re = system[entry + k, :G]
                a_im = system[entry + k, G:]
                b_re = system[rhs + j, :G]
                b_im = system[rhs + j, G:]
                for g in range(G):
                    r_re[g] -= a_re[g] * b_re[g] - a_im[g] * b_im[g]
                    r_im[g] -= a_re[g] * b_im[g] + a_im[g] * b_re[g]
            pivot = k * (k + 1) // 2 + k
            d_re = system[pivot, :G]
            d_im = system[pivot, G:]
            for g in range(G):
                solution = r_re[g] * d_re[g] - r_im[g] * d_im[g]
                r_im[g] = r_re[g] * d_im[g] + r_im[g] * d_re[g]
                r_re[g] = solution
                out[g] += solution * solution
