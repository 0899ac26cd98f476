"""How certain the sign of a difference is, if unjudged documents are as relevant as judged ones.

The width of a query's bounds is shared among its unjudged documents in proportion to their
advantage. The difference is then the lowest one and the shares of the documents that favour the
first system and are relevant, or favour the second and are not. Relevance is beta-binomial within a
query: its chance is (r + a p) / (n + a) for r relevant ones among n judged documents that the pair
ranks, where p is the share over all queries and a = 5 judgements of weight. The sum over queries is
taken as normal.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from rankwise.selection.judging.completions import Completions
from rankwise.typing import Float64Array

# Judgements that the share over all queries weighs as much as.
PRIOR_JUDGEMENTS = 5.0


def share_widths(completions: Completions, low: Float64Array, high: Float64Array) -> Float64Array:
    """Share of every document in the width of the bounds of the mean, with the sign of its favour.

    Parameters
    ----------
    completions : Completions
    low, high : ndarray of shape (n_queries,)
        Bounds per query.

    Returns
    -------
    ndarray of shape (n_documents,)
        Above 0 if the document favours the first system, below 0 for the second; 0 if it is judged.
    """
    query = completions.pool.query
    advantage = np.where(completions.is_open, completions.advantage, 0.0)
    total = np.bincount(query, np.abs(advantage), minlength=completions.pool.n_queries)
    width = (high - low) / completions.n_counted
    share = np.divide(width, total, out=np.zeros_like(width), where=total > 0)
    return advantage * share[query]


def expect_difference(
    completions: Completions, low: Float64Array, high: Float64Array
) -> tuple[float, float]:
    """Expected difference, and the chance that complete judgements give it this sign.

    Parameters
    ----------
    completions, low, high
        As in :func:`share_widths`.
    """
    pool, n_queries = completions.pool, completions.pool.n_queries
    query = pool.query
    signed = share_widths(completions, low, high)
    known = completions.is_read & pool.judged
    n_judged = np.bincount(query, known, minlength=n_queries)
    n_relevant = np.bincount(query, known & (pool.grades > 0), minlength=n_queries)
    overall = (n_relevant.sum() + 1.0) / (n_judged.sum() + 2.0)
    weight = n_judged + PRIOR_JUDGEMENTS
    chance = (n_relevant + PRIOR_JUDGEMENTS * overall) / weight
    lowest = low.sum() / completions.n_counted + np.maximum(-signed, 0.0).sum()
    mean = lowest + (signed * chance[query]).sum()
    # Var = Σ s² v w / (w + 1) + (Σ s)² v / (w + 1) for v = chance (1 - chance): a common chance
    # makes the relevance of a query's documents correlated.
    spread = chance * (1.0 - chance) / (weight + 1.0)
    squares = np.bincount(query, signed**2, minlength=n_queries)
    sums = np.bincount(query, signed, minlength=n_queries)
    deviation = np.sqrt((spread * (weight * squares + sums**2)).sum())
    if deviation == 0:
        return float(mean), 0.5 if mean == 0 else 1.0
    return float(mean), float(norm.cdf(abs(mean) / deviation))
