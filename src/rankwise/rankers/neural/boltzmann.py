"""Boltzmann distributions over rankings: energies and the loss of BoltzRank [1]_.

For ranks r (1 = top) and scores s of the m rows of a query,
``E(r|s) = 2 / (m (m - 1)) sum over pairs r_i > r_j of g(r_i - r_j) (s_i - s_j)`` and
``P(r|s) = exp(-E) / Z``. A row ranked below a row with a smaller score increases the energy. With
``g(t) = slope t`` no pairs need to be listed:
``E = 2 slope / (m - 1) sum_i (r_i - (m + 1) / 2) s_i``, which costs O(m) for a ranking.

References
----------
.. [1] Volkovs & Zemel, "BoltzRank: learning to maximize expected ranking gain", ICML 2009.
"""

from __future__ import annotations

import numpy as np

from rankwise.rankers.neural import segments
from rankwise.rankers.neural._torch import torch
from rankwise.rankers.neural.ranking_sets import JudgedRanks, RankingSets, Slope
from rankwise.rankers.neural.segments import Tensor
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
    query = segments.query_of_rows(indptr, scores)
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
