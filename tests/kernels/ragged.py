"""Groups of rows for the tests of kernels: empty ones, single rows, ties, equal labels."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

SIZES = (0, 1, 6, 2, 0, 30, 5, 1)
INDPTR = np.concatenate([[0], np.cumsum(SIZES)]).astype(np.int64)
N_ROWS = int(INDPTR[-1])
QUERIES = [np.arange(lo, hi) for lo, hi in pairwise(INDPTR)]


def tied(rng):
    """Numbers of both signs, many of them equal, 0 and -0 among them."""
    return np.round(rng.normal(size=N_ROWS), 1)


def grades(rng, n_grades=4):
    """Grades of the rows; the query of five rows has one grade only."""
    out = rng.integers(0, n_grades, N_ROWS)
    out[QUERIES[6]] = 1
    return out


def weights(rng):
    """Positive weights of the rows."""
    return rng.uniform(0.5, 2.0, N_ROWS)


def pairs(y):
    """Every pair (query, upper row, lower row) of unequal labels in a query."""
    return [(q, i, j) for q, rows in enumerate(QUERIES) for i in rows for j in rows if y[i] > y[j]]


def layers(y):
    """Rows by query and ascending grade: their order, and the starts and grades of the layers."""
    order, layer_ptr, query_ptr, of_layer = [], [0], [0], []
    for rows in QUERIES:
        for grade in np.unique(y[rows]):
            order += list(rows[y[rows] == grade])
            layer_ptr.append(len(order))
            of_layer.append(grade)
        query_ptr.append(len(of_layer))
    return (np.array(part, dtype=np.int64) for part in (order, layer_ptr, query_ptr, of_layer))
