"""Ragged queries for the tests of the measures."""

from __future__ import annotations

import numpy as np


def ragged(rng, n_queries=40, most=15, *, grades=5, levels=6, shuffle=True):
    """(y, f, qid): sizes from 1, ties, queries of one row, of zeros and of one grade.

    ``levels`` is the number of different scores, exact in float32; None for distinct scores.
    """
    sizes = rng.integers(1, most + 1, n_queries)
    sizes[:4] = [1, 1, 2, most]
    qid = np.repeat(np.arange(n_queries), sizes)
    n = len(qid)
    y = rng.integers(0, grades, n).astype(np.float64)
    y[qid == 0] = 0.0
    y[qid == 1] = grades - 1.0
    y[qid == 4] = 0.0
    y[qid == 5] = 1.0
    f = rng.permutation(n) / 8.0 if levels is None else rng.integers(-2, levels - 2, n) / 4.0
    if shuffle:
        order = rng.permutation(n)
        y, f, qid = y[order], f[order], qid[order]
    return y, f, qid


def by_query(y, f, qid):
    """Rows of each query in input order, queries in order of first appearance."""
    for query in dict.fromkeys(qid.tolist()):
        rows = np.flatnonzero(qid == query)
        yield y[rows].tolist(), f[rows].tolist()
