"""Boltzmann distributions over rankings: energies and the loss of BoltzRank [1]_.

For ranks r (1 = top) and scores s of the m rows of a query, ``E(r|s) = 2 / (m (m - 1)) sum over
pairs r_i > r_j of g(r_i - r_j) (s_i - s_j)`` and ``P(r|s) = exp(-E) / Z``. A row below another with
a smaller score raises the energy. With ``g(t) = slope t`` the sum over pairs needs no pairs:
``E = 2 slope / (m - 1) sum_i (r_i - (m + 1) / 2) s_i``, O(m) for a ranking.

References
----------
.. [1] Volkovs & Zemel, "BoltzRank: learning to maximize expected ranking gain", ICML 2009.
"""

from __future__ import annotations

import numpy as np

from rankwise.rankers.neural import segments
from rankwise.rankers.neural._torch import torch
from rankwise.rankers.neural.ranking_sets import RankingSets
from rankwise.rankers.neural.segments import Tensor
from rankwise.typing import Float64Array

Slope = float | Float64Array  # one for all queries, or one for each
_NEVER = -1e30  # log of the weight of a ranking that is not in the set


def energies(scores: Tensor, rankings: RankingSets, slope: Slope = 1.0) -> Tensor:
    """Energy of every ranking, shape (n_rankings, n_queries)."""
    sizes = np.diff(rankings.indptr)
    middle = np.repeat((sizes + 1) / 2, sizes)
    factor = 2 * slope / np.maximum(sizes - 1, 1)
    places = torch.as_tensor((rankings.ranks - middle) * np.repeat(factor, sizes))
    query = segments.query_of_rows(rankings.indptr, scores)
    terms = places.to(scores.device) * scores
    return scores.new_zeros(len(terms), len(sizes)).index_add(1, query, terms)


def log_probabilities(scores: Tensor, rankings: RankingSets, slope: Slope = 1.0) -> Tensor:
    """``log P(r|s)`` within the set of each query, shape (n_rankings, n_queries).

    -1e30 or less for rankings that are not in the set.
    """
    counted = torch.as_tensor(rankings.counted).to(scores.device)
    return torch.log_softmax(torch.where(counted, -energies(scores, rankings, slope), _NEVER), 0)


def boltz_rank(
    scores: Tensor,
    labels: Tensor,
    rankings: RankingSets,
    values: Float64Array,
    *,
    slope: Slope = 1.0,
    kl_weight: float = 1.0,
) -> Tensor:
    """``kl_weight KL(P(.|labels) || P(.|s)) - sum_r P(r|s) value_r`` of every query.

    Parameters
    ----------
    scores, labels : Tensor of shape (n_samples,)
    rankings : RankingSets
    values : ndarray of shape (n_rankings, n_queries)
        What the measure gives the rankings.
    slope : float > 0, or ndarray of shape (n_queries,)
        The distance function of a query is ``g(t) = slope t``.
    kl_weight : float >= 0

    Returns
    -------
    Tensor of shape (n_queries,)
    """
    told = log_probabilities(scores, rankings, slope)
    expected = (told.exp() * torch.as_tensor(values).to(scores.device)).sum(0)
    if not kl_weight:
        return -expected
    judged = log_probabilities(labels, rankings, slope)
    divergence = (judged.exp() * (judged - told)).sum(0)
    return kl_weight * divergence - expected
