"""Obvious, slow versions of what the library computes fast: loops and dense Laplacians."""

from __future__ import annotations

import numpy as np


def dense_laplacian(y, codes, *, graph="all", query_weight="pair", w=None):
    """N x N Laplacian of the preference pairs, pair (i, j) weighing w_i w_j; built pair by pair."""
    n = len(y)
    w = np.ones(n) if w is None else np.asarray(w, dtype=float)
    W = np.zeros((n, n))
    for q in np.unique(codes):
        rows = np.flatnonzero(codes == q)
        m = w[rows].sum()
        if m == 0:
            continue
        scale = {"pair": 1.0, "document": 1.0 / m, "query": 1.0 / m**2}[query_weight]
        for i in rows:
            for j in rows:
                if i != j and (graph == "all" or y[i] != y[j]):
                    W[i, j] = scale * w[i] * w[j]
    return np.diag(W.sum(axis=1)) - W


def literal_elmrank_system(H, y, lam):
    """A and B of ELMRank's equations (5) and (6), with their sums over rows."""
    m, n = H.shape
    A = 2 / m * H.T @ H + lam * np.eye(n)  # printed with the identity of size m
    B = 2 / m * H.T @ y
    for i in range(m):
        H_i = np.tile(H[i], (m, 1))
        Y_i = np.full(m, y[i])
        A -= (H_i.T @ H + H.T @ H_i) / m**2
        B -= (H_i.T @ y + H.T @ Y_i) / m**2
    return A, B


def ragged_groups(rng, n_queries=7, most=9, *, grades=3, shuffle=True):
    """Random (y, qid, scores) with ties, single-row queries and queries of one grade."""
    sizes = rng.integers(1, most + 1, n_queries)
    sizes[0] = 1
    qid = np.repeat(np.arange(n_queries), sizes)
    y = rng.integers(0, grades, len(qid)).astype(float)
    y[qid == 1] = 0.0
    scores = rng.integers(0, 6, len(qid)).astype(float)
    if shuffle:
        order = rng.permutation(len(qid))
        qid, y, scores = qid[order], y[order], scores[order]
    return y, qid, scores
