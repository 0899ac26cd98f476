"""Sparse vectors from few linear measurements, row by row: CoSaMP [1]_ and OMP [2]_.

Both look for a sparse x with ``P x`` near the codes r of a row. ``columns`` (K, M) holds the
columns of P, ``rows`` (M, K) the same matrix by rows. Least squares on a support uses the normal
equations. CoSaMP leaves rows that these cannot solve to the caller, see ``state``.

References
----------
.. [1] Needell & Tropp, "CoSaMP: iterative signal recovery from incomplete and inaccurate samples",
   Applied and Computational Harmonic Analysis 26 (2009), algorithm 1.
.. [2] Tropp & Gilbert, "Signal recovery from random measurements via orthogonal matching pursuit",
   IEEE Transactions on Information Theory 53 (2007).
"""

from __future__ import annotations

import numpy as np

from rankwise.runtime.jit import REASSOCIATE, njit

# A pivot of at most this share of its column is treated as rounding error.
TINY_PIVOT = 1e-10
PENDING = 0
SOLVED = 1
SINGULAR = 2


@njit(fastmath=REASSOCIATE)
def _dot(a, b, n):
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@njit
def _proxies(rows, residual, out):
    """``|P' residual|``; the order of the sums does not depend on the other rows."""
    out[:] = 0.0
    for m in range(rows.shape[0]):
        factor = residual[m]
        row = rows[m]
        for k in range(rows.shape[1]):
            out[k] += factor * row[k]
    for k in range(rows.shape[1]):
        out[k] = abs(out[k])


@njit
def _largest(values, n, count, index):
    """Write the positions of the ``count`` largest of ``values[:n]``, descending, ties by position.

    Uses insertion, because few values are larger than the smallest one kept, and NumPy's sorts take
    ten seconds to compile.
    """
    size = 0
    for k in range(n):
        value = values[k]
        # Equal values keep the earlier position, as the docstring promises.
        if size == count and value <= values[index[size - 1]]:
            continue
        place = min(size, count - 1)
        size = min(size + 1, count)
        while place > 0 and values[index[place - 1]] < value:
            index[place] = index[place - 1]
            place -= 1
        index[place] = k


@njit
def _cholesky_solve(gram, x, n):
    """Solve ``gram x = x`` in place; False if a pivot is only rounding error."""
    for i in range(n):
        own = gram[i, i]
        for j in range(i):
            gram[i, j] = (gram[i, j] - _dot(gram[i], gram[j], j)) / gram[j, j]
        pivot = own - _dot(gram[i], gram[i], i)
        # What is left of the column beyond the earlier ones is only rounding: it depends on them.
        if pivot <= TINY_PIVOT * own:
            return False
        gram[i, i] = np.sqrt(pivot)
    for i in range(n):
        x[i] = (x[i] - _dot(gram[i], x, i)) / gram[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= gram[i, i]
        for j in range(i):
            x[j] -= gram[i, j] * x[i]
    return True


@njit
def merge_supports(rows, residuals, support, size, state, n_take, merged, merged_size):
    """Add to each pending row's support the ``n_take`` labels of the largest proxies.

    ``support`` (n, s) of ``size`` (n,) entries; the union goes to ``merged`` (n, s + n_take),
    ascending, and its length to ``merged_size``. Ties are broken by label order.
    """
    n_labels = rows.shape[1]
    proxy = np.empty(n_labels)
    chosen = np.zeros(n_labels, np.bool_)
    best = np.empty(n_take, np.int64)
    for i in range(len(residuals)):
        if state[i] != PENDING:
            continue
        _proxies(rows, residuals[i], proxy)
        _largest(proxy, n_labels, n_take, best)
        for t in range(n_take):
            chosen[best[t]] = True
        for t in range(size[i]):
            chosen[support[i, t]] = True
        n = 0
        for k in range(n_labels):
            # Scanning the marks gives the union in ascending order, and clears them for the next
            # row.
            if chosen[k]:
                merged[i, n] = k
                n += 1
                chosen[k] = False
        merged_size[i] = n


@njit
def fit_supports(columns, codes, merged, merged_size, values, state):
    """Solve least squares of pending rows on their merged supports into ``values``.

    Sets ``state`` to SINGULAR if the columns of a support depend on each other.
    """
    n_codes = columns.shape[1]
    most = merged.shape[1]
    gram = np.empty((most, most))
    picked = np.empty((most, n_codes))
    for i in range(len(codes)):
        if state[i] != PENDING:
            continue
        n = merged_size[i]
        # More unknowns than equations.
        if n > n_codes:
            state[i] = SINGULAR
            continue
        for s in range(n):
            for m in range(n_codes):
                picked[s, m] = columns[merged[i, s], m]
            values[i, s] = _dot(picked[s], codes[i], n_codes)
            for t in range(s + 1):
                gram[s, t] = _dot(picked[s], picked[t], n_codes)
        if not _cholesky_solve(gram, values[i], n):
            state[i] = SINGULAR


@njit
def prune_supports(columns, codes, merged, merged_size, values, state, support, size, kept, norms):
    """Keep the largest ``support.shape[1]`` values of each row that was pending.

    Writes ``support``, ``size`` and the values ``kept``; ``codes`` (n, M) hold the codes before
    and the residuals after. A row is SOLVED if the squared residual ``norms`` no longer falls,
    else PENDING again.
    """
    most = support.shape[1]
    order = np.empty(most, np.int64)
    magnitude = np.empty(values.shape[1])
    for i in range(len(codes)):
        if state[i] == SOLVED:
            continue
        n = merged_size[i]
        size[i] = min(most, n)
        for t in range(n):
            magnitude[t] = abs(values[i, t])
        _largest(magnitude, n, size[i], order)
        for s in range(size[i]):
            support[i, s] = merged[i, order[s]]
            kept[i, s] = values[i, order[s]]
            row = columns[support[i, s]]
            for m in range(columns.shape[1]):
                codes[i, m] -= kept[i, s] * row[m]
        norm = 0.0
        for m in range(columns.shape[1]):
            norm += codes[i, m] * codes[i, m]
        # Strictly: a support that comes back ends the search instead of cycling.
        state[i] = PENDING if norm < norms[i] else SOLVED
        norms[i] = norm


@njit
def pursue_orthogonally(rows, columns, codes, support, size, values):
    """Orthogonal matching pursuit: add one label per step, and refit all labels chosen so far.

    ``support`` and ``values`` (n, s) and ``size`` (n,) are written; ``codes`` become residuals. A
    row stops early if the best label depends on those chosen, or the residual is zero.
    """
    n_labels, n_codes = columns.shape
    most = support.shape[1]
    factor = np.empty((most, most))
    target = np.empty(most)
    x = np.empty(most)
    proxy = np.empty(n_labels)
    residual = np.empty(n_codes)
    for i in range(len(codes)):
        for k in range(n_codes):
            residual[k] = codes[i, k]
        start = _dot(residual, residual, n_codes)
        size[i] = 0
        while size[i] < min(most, n_codes):
            n = size[i]
            # Squares: a residual of 1e-12 of the codes is rounding.
            if _dot(residual, residual, n_codes) <= 1e-24 * start:
                break
            _proxies(rows, residual, proxy)
            for s in range(n):
                # Below all proxies, which are absolute values: a label is chosen once.
                proxy[support[i, s]] = -1.0
            best = np.argmax(proxy)
            for s in range(n):
                product = _dot(columns[support[i, s]], columns[best], n_codes)
                factor[n, s] = (product - _dot(factor[n], factor[s], s)) / factor[s, s]
            own = _dot(columns[best], columns[best], n_codes)
            pivot = own - _dot(factor[n], factor[n], n)
            if pivot <= TINY_PIVOT * own:
                break
            factor[n, n] = np.sqrt(pivot)
            support[i, n] = best
            # The triangular system grows by one row, its solution above stays.
            target[n] = _dot(columns[best], codes[i], n_codes)
            target[n] = (target[n] - _dot(factor[n], target, n)) / factor[n, n]
            size[i] = n + 1
            for s in range(n, -1, -1):
                x[s] = target[s]
                for t in range(s + 1, n + 1):
                    x[s] -= factor[t, s] * x[t]
                x[s] /= factor[s, s]
            for k in range(n_codes):
                residual[k] = codes[i, k]
            for s in range(n + 1):
                row = columns[support[i, s]]
                for m in range(n_codes):
                    residual[m] -= x[s] * row[m]
            for k in range(n + 1):
                values[i, k] = x[k]
        for k in range(n_codes):
            codes[i, k] = residual[k]
