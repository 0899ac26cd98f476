"""Validation of external index arrays before they are used as a CSR matrix."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def is_canonical(indptr, indices, n_columns):
    """Check that ``indptr`` is ascending, and that each row has ascending indices in range.

    ``indptr`` is (n_rows + 1,) and ``indices`` (n_entries,), of any integers. Never reads outside
    the arrays, whatever they contain. O(rows + indices).
    """
    if len(indptr) < 1 or indptr[0] != 0 or indptr[-1] != len(indices):
        return False
    for row in range(len(indptr) - 1):
        start, stop = indptr[row], indptr[row + 1]
        if stop < start or stop > len(indices):
            return False
        # Refuses negative indices as well.
        previous = -1
        for k in range(start, stop):
            if indices[k] <= previous or indices[k] >= n_columns:
                return False
            previous = indices[k]
    return True
