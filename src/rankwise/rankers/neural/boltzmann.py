"""Boltzmann distributions over rankings: energies, the loss of BoltzRank, sets of rankings.

For ranks r (1 = top) and scores s of the m rows of a query,
``E(r|s) = 2 / (m (m - 1)) sum over pairs r_i > r_j of g(r_i - r_j) (s_i - s_j)`` and
``P(r|s) = exp(-E) / Z``. A row ranked below a row with a smaller score increases the energy. With
``g(t) = slope t`` no pairs need to be listed:
``E = 2 slope / (m - 1) sum_i (r_i - (m + 1) / 2) s_i``, which costs O(m) for a ranking.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from rankwise.groups import QueryGroups
from rankwise.kernels.random_draws import swap_places
from rankwise.metrics.measure import Measure
from rankwise.rankers.neural.training import Tensor, query_of_rows, torch
from rankwise.typing import Float64Array, Int64Array


def energies(
    scores: Tensor, ranks: Int64Array | Float64Array, indptr: Int64Array, slope: Slope = 1.0
) -> Tensor:
    """Energy of every ranking, shape (n_rankings, n_queries), from ranks (n_rankings, n_samples).

    The energy is linear in the ranks, so expected ranks give the expected energy.
    """
    sizes = np.diff(indptr)
    middle = np.repeat((sizes + 1) / 2, sizes)
    factor = np.repeat(2 * slope / np.maximum(sizes - 1, 1), sizes)
    places = torch.as_tensor(np.ascontiguousarray(((ranks - middle) * factor).T))
    query = query_of_rows(indptr, scores)
    terms = places.to(scores.device) * scores[:, None]
    return scores.new_zeros(len(sizes), len(ranks)).index_add(0, query, terms).T


def log_weights(scores: Tensor, rankings: RankingSets, slope: Slope = 1.0) -> Tensor:
    """Log of ``exp(-E(r|s))`` / density of the proposal, shape (n_rankings, n_queries).

    Rankings outside the set have -1e30 or less. Normalised over a set, the weights turn sums into
    expectations under ``P(r|s)``: exactly if the query is listed, and by self-normalised importance
    sampling otherwise. At the scores of the sampling distribution, all weights of the sample are
    equal.
    """
    proposal = torch.as_tensor(rankings.log_proposal).to(scores.device)
    return -energies(scores, rankings.ranks, rankings.indptr, slope) - proposal


def boltz_rank(
    scores: Tensor,
    rankings: RankingSets,
    values: Float64Array,
    judged: JudgedRanks | None = None,
    *,
    slope: Slope = 1.0,
    kl_weight: float = 0.0,
) -> Tensor:
    """``kl_weight KL(P(.|labels) || P(.|s)) - sum_r P(r|s) value_r`` of every query.

    ``scores`` is (n_samples,), and ``values`` (n_rankings, n_queries) holds the value of the
    measure for each ranking. ``judged`` is required if ``kl_weight > 0``. ``slope > 0`` is that of
    the distance function ``g(t) = slope t`` of a query. The result is (n_queries,).

    For a sampled query, ``E_labels[E(r|s)] - E_s[E(r|s)]`` replaces the divergence; the two have
    the same gradient and differ by a difference of entropies.
    """
    weights = log_weights(scores, rankings, slope)
    shares = torch.softmax(weights, 0)
    expected = (shares * torch.as_tensor(values).to(scores.device)).sum(0)
    if judged is None:
        return -expected
    log_z = torch.logsumexp(weights, 0)
    n_drawn = np.where(rankings.listed, 1, len(rankings.ranks))
    constants = torch.as_tensor(judged.entropy + np.log(n_drawn)).to(scores.device)
    energy = energies(scores, judged.ranks[None], rankings.indptr, slope)[0]
    return kl_weight * (energy + log_z - constants) - expected


Slope = float | Float64Array  # one for all queries, or one for each
NEVER = 1e30  # minus the log weight of a ranking outside the set
_LARGEST_LISTED = 8  # largest number of rows of a query whose rankings can all be listed
_N_SWEEPS = 20


@dataclass(frozen=True)
class RankingSets:
    """A set of rankings for every query, with the density of its sampling distribution.

    ``log_proposal`` is the log density of each ranking, up to a constant of the query. A listed
    query has 0 for its rankings, and 1e30 for surplus entries, which do not count.
    """

    ranks: Int64Array  # (n_rankings, n_samples), 1-based rank of every row within its query
    log_proposal: Float64Array  # (n_rankings, n_queries)
    # (n_queries,); True: the set holds every ranking of the query once; False: a sample with
    # replacement.
    listed: NDArray[np.bool_]
    indptr: Int64Array  # (n_queries + 1,), limits of the rows of each query; no query is empty

    def measured(self, measure: Measure, labels: Float64Array) -> Float64Array:
        """Value of every ranking, shape (n_rankings, n_queries); larger is better.

        Queries that the measure skips have 0.
        """
        n_rankings = len(self.ranks)
        groups = QueryGroups.from_sizes(np.tile(np.diff(self.indptr), n_rankings))
        scores = -self.ranks.ravel().astype(np.float64)
        values = measure.per_query(np.tile(labels, n_rankings), scores, groups)
        values = np.nan_to_num(values, nan=0.0).reshape(n_rankings, -1)
        return values if measure.greater_is_better else -values


@dataclass(frozen=True)
class JudgedRanks:
    """Statistics of the distributions defined by the labels, as needed for the divergence.

    ``entropy`` (n_queries,) is that of ``P(r|labels)`` if the query is listed. Otherwise it is the
    entropy of ``P(r|s0)`` minus ``log Z(s0)``, with the scores s0 of the sample; these constants do
    not affect gradients.
    """

    ranks: Float64Array  # (n_samples,), expected rank of every row under ``P(r|labels)``
    entropy: Float64Array


def sample_rankings(
    scores: Float64Array,
    indptr: Int64Array,
    n_rankings: int,
    rng: np.random.RandomState,
    slope: Slope = 1.0,
) -> RankingSets:
    """All rankings of a query if at most ``n_rankings``, else a sample from ``P(r|scores)``.

    Query q has the rows ``indptr[q]:indptr[q + 1]`` of ``scores`` (n_samples,). ``slope > 0`` is
    that of the distance function ``g(t) = slope t`` of a query, one for all or (n_queries,).

    Each ranking starts as the order of the scores plus normal noise. For evenly spaced scores, the
    variance of the noise gives nearly the correct spread of ranks for any slope. Twenty sweeps of
    Gibbs sampling follow (:mod:`rankwise.kernels.random_draws`), each of which leaves the
    distribution P invariant. The cost is O(n_rankings n_samples log n_samples).
    """
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    force = _force(scores, indptr, slope)
    step = np.sqrt(12.0) / sizes[query]  # of evenly spaced forces with deviation 1
    noise = np.sqrt(step * (_spread(force, query, sizes) + step))
    keys = -force - noise * rng.normal(size=(n_rankings, len(scores)))
    order = np.empty(keys.shape, dtype=np.int64)
    for lo, hi in pairwise(indptr.tolist()):
        order[:, lo:hi] = lo + np.argsort(keys[:, lo:hi], axis=1)
    seed = rng.randint(1, 2**63, dtype=np.uint64)
    swap_places(order, indptr, force, _N_SWEEPS, np.uint64(seed))
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(len(scores)) - indptr[query][None] + 1, axis=1)
    middle = (sizes[query] + 1) / 2
    log_proposal = -np.add.reduceat((ranks - middle) * force, indptr[:-1], axis=1)
    listed = np.zeros(len(sizes), dtype=bool)
    for q, size in enumerate(sizes):
        if size <= _LARGEST_LISTED and factorial(size) <= n_rankings:
            every = all_rankings(int(size))
            ranks[: len(every), indptr[q] : indptr[q + 1]] = every
            listed[q] = True
            log_proposal[:, q] = np.where(np.arange(n_rankings) < len(every), 0.0, NEVER)
    return RankingSets(ranks, log_proposal, listed, indptr)


def expect_judged_ranks(
    labels: Float64Array,
    rankings: RankingSets,
    n_rankings: int,
    rng: np.random.RandomState,
    slope: Slope = 1.0,
) -> JudgedRanks:
    """Expected ranks under ``P(r|labels)``: exact for a listed query, else means of a sample.

    Rows of equal label have the same expectation, so the sample is also averaged over them.
    ``labels`` is (n_samples,), ``rankings`` are those of the divergence, and ``n_rankings`` is the
    size of the sample; ``slope`` as in :func:`sample_rankings`.
    """
    indptr = rankings.indptr
    sizes = np.diff(indptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    drawn = sample_rankings(labels, indptr, n_rankings, rng, slope).ranks.mean(0)
    _, grade = np.unique(np.stack([query, labels]), axis=1, return_inverse=True)
    grade = grade.reshape(-1)
    ranks = (np.bincount(grade, drawn) / np.bincount(grade))[grade]
    entropy = -rankings.log_proposal.mean(0)
    force = _force(labels, indptr, slope)
    for q in np.flatnonzero(rankings.listed).tolist():
        rows = slice(indptr[q], indptr[q + 1])
        every = all_rankings(int(sizes[q]))
        log_p = -(every @ force[rows])
        log_p -= log_p.max()
        log_p -= np.log(np.exp(log_p).sum())
        ranks[rows] = np.exp(log_p) @ every
        entropy[q] = -np.exp(log_p) @ log_p
    return JudgedRanks(ranks, entropy)


@lru_cache(maxsize=_LARGEST_LISTED + 1)
def all_rankings(size: int) -> Int64Array:
    """All rankings of ``size`` rows, shape (size!, size)."""
    ranks = np.array(list(permutations(range(1, size + 1))), dtype=np.int64)
    ranks.flags.writeable = False
    return ranks


def _force(scores: Float64Array, indptr: Int64Array, slope: Slope) -> Float64Array:
    """Increase of the energy when a row falls by one rank: ``2 slope / (m - 1) s_i``."""
    sizes = np.diff(indptr)
    return np.repeat(2 * slope / np.maximum(sizes - 1, 1), sizes) * scores


def _spread(values: Float64Array, query: Int64Array, sizes: Int64Array) -> Float64Array:
    """Standard deviation within the query of every row."""
    mean = np.bincount(query, values) / sizes
    return np.sqrt(np.bincount(query, (values - mean[query]) ** 2) / sizes)[query]
