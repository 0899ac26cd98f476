"""Sets of rankings of each query, around the order by label and the order by score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import QueryGroups
from rankwise.metrics.measure import Measure
from rankwise.typing import Float64Array, Int64Array

_LARGEST_LISTED = 8  # rows of a query whose rankings may all be listed


@dataclass(frozen=True)
class RankingSets:
    """As many rankings for every query, some of them to be left out.

    Attributes
    ----------
    ranks : ndarray of shape (n_rankings, n_samples), int64
        1-based rank of every row within its query.
    counted : ndarray of shape (n_rankings, n_queries), bool
        Whether a ranking belongs to the set of a query; False for repetitions.
    indptr : ndarray of shape (n_queries + 1,), int64
        Rows of the queries, none of which is empty.
    """

    ranks: Int64Array
    counted: NDArray[np.bool_]
    indptr: Int64Array

    def measured(self, measure: Measure, labels: Float64Array) -> Float64Array:
        """Value of every ranking, larger is better, shape (n_rankings, n_queries).

        A query that does not count for the measure has 0.
        """
        n_rankings = len(self.ranks)
        groups = QueryGroups.from_sizes(np.tile(np.diff(self.indptr), n_rankings))
        scores = -self.ranks.ravel().astype(np.float64)
        values = measure.per_query(np.tile(labels, n_rankings), scores, groups)
        values = np.nan_to_num(values, nan=0.0).reshape(n_rankings, -1)
        return values if measure.greater_is_better else -values


def sample_rankings(
    labels: Float64Array,
    scores: Float64Array,
    indptr: Int64Array,
    n_rankings: int,
    rng: np.random.RandomState,
    gold_share: float = 0.5,
) -> RankingSets:
    """All rankings of a query that has at most ``n_rankings``, else a sample of distinct ones.

    A share of the sample is around the order by label, the rest around the order by score: what the
    rows are ordered by gets Gumbel noise, whose scale grows over each part from none to the
    standard deviation of the query's labels or scores. Ties are broken at random.

    Parameters
    ----------
    labels, scores : ndarray of shape (n_samples,), float64
        Rows of query q at ``indptr[q]:indptr[q + 1]``.
    indptr : ndarray of shape (n_queries + 1,), int64
    n_rankings : int >= 2
    rng : RandomState
    gold_share : float in (0, 1)
        Share around the order by label; each part has one ranking at least.

    Notes
    -----
    O(n_rankings n_samples log n_samples).
    """
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    n_gold = min(max(1, round(gold_share * n_rankings)), n_rankings - 1)
    base = np.empty((n_rankings, len(labels)))
    base[:n_gold], base[n_gold:] = labels, scores
    scale = np.empty_like(base)
    scale[:n_gold] = _spread(labels, query, sizes)
    scale[n_gold:] = _spread(scores, query, sizes)
    growth = np.concatenate([np.linspace(0, 1, n_gold), np.linspace(0, 1, n_rankings - n_gold)])
    noise = rng.gumbel(size=base.shape)
    ties = rng.random_sample(base.shape)
    keys = (ties, -(base + growth[:, None] * scale * noise), np.broadcast_to(query, base.shape))
    order = np.lexsort(keys, axis=-1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(len(labels)) - indptr[query][None] + 1, axis=1)
    counted = _first_of_equal(ranks, indptr)
    for q, size in enumerate(sizes):
        if size <= _LARGEST_LISTED and factorial(size) <= n_rankings:
            every = all_rankings(int(size))
            ranks[: len(every), indptr[q] : indptr[q + 1]] = every
            counted[:, q] = np.arange(n_rankings) < len(every)
    return RankingSets(ranks, counted, indptr)


@lru_cache(maxsize=_LARGEST_LISTED + 1)
def all_rankings(size: int) -> Int64Array:
    """Every ranking of ``size`` rows, shape (size!, size)."""
    ranks = np.array(list(permutations(range(1, size + 1))), dtype=np.int64)
    ranks.flags.writeable = False
    return ranks


def _spread(values: Float64Array, query: Int64Array, sizes: Int64Array) -> Float64Array:
    """Standard deviation of the query of every row."""
    mean = np.bincount(query, values) / sizes
    return np.sqrt(np.bincount(query, (values - mean[query]) ** 2) / sizes)[query]


def _first_of_equal(ranks: Int64Array, indptr: Int64Array) -> NDArray[np.bool_]:
    """Whether each ranking of a query is none of those before it, by 64-bit hashes."""
    multipliers = np.random.default_rng(7).integers(0, 2**63, ranks.shape[1], dtype=np.uint64) | 1
    keys = np.add.reduceat(ranks.astype(np.uint64) * multipliers, indptr[:-1], axis=1)
    order = np.argsort(keys, axis=0, kind="stable")
    ordered = np.take_along_axis(keys, order, 0)
    new = np.ones(keys.shape, dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    counted = np.empty_like(new)
    np.put_along_axis(counted, order, new, axis=0)
    return counted
