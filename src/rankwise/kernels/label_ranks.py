"""Ranks of the relevant rows of each query, with ties ranked last, without sorting."""

from __future__ import annotations

from rankwise.runtime.jit import njit


@njit
def relevant_ranks(y, scores, indptr, rel, out):
    """Write four numbers per query about its rows with a label >= ``rel`` into ``out``.

    For each relevant row, let c be the number of rows, and r the number of relevant rows, whose
    score is at least as high. The four numbers are: the number of relevant rows, and over these the
    sum of r / c, the largest c and the sum of c - r. O(rows x relevant rows) per query.
    """
    for q in range(len(indptr) - 1):
        lo = indptr[q]
        size = indptr[q + 1] - lo
        query_scores = scores[lo : lo + size]
        labels = y[lo : lo + size]
        n_relevant = 0
        precisions = 0.0
        deepest = 0
        above = 0
        for i in range(size):
            if labels[i] >= rel:
                n_relevant += 1
                score = query_scores[i]
                c = 0
                r = 0
                # Comparisons are added as numbers: no branch, so the loop is vectorised.
                for j in range(size):
                    # Rows of equal score count as ranked above: ties are ranked last.
                    c += query_scores[j] >= score
                    r += (query_scores[j] >= score) & (labels[j] >= rel)
                precisions += r / c
                deepest = max(deepest, c)
                above += c - r
        out[q, 0] = n_relevant
        out[q, 1] = precisions
        out[q, 2] = deepest
        out[q, 3] = above
