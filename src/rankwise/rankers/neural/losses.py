"""Ranking losses as functions of (scores, labels, indptr) that return one value per query.

Scores and labels are float tensors of shape (n_samples,). Query q has the rows
``indptr[q]:indptr[q + 1]`` (int64, NumPy). The result is a tensor of shape (n_queries,),
differentiable in the scores, and 0 for a query that has no order to learn. Gain, discount and rank
are parameters: functions of labels, of ranks, and of (scores, indptr).

References
----------
.. [1] Burges et al., "Learning to rank using gradient descent", ICML 2005 (RankNet).
.. [2] Cao, Qin, Liu, Tsai & Li, "Learning to rank: from pairwise approach to listwise approach",
   ICML 2007 (ListNet).
.. [3] Xia, Liu, Wang, Zhang & Li, "Listwise approach to learning to rank: theory and algorithm",
   ICML 2008 (ListMLE).
.. [4] Burges, "From RankNet to LambdaRank to LambdaMART: an overview", MSR-TR-2010-82, 2010.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwise.rankers.neural import segments
from rankwise.rankers.neural._torch import torch
from rankwise.rankers.neural.segments import Tensor
from rankwise.typing import Int64Array

Gain = Callable[[Tensor], Tensor]
Discount = Callable[[Tensor], Tensor]
Rank = Callable[[Tensor, Int64Array], Tensor]

_BELOW_ALL = -1e30  # finite, because the gradient of infinite padding is NaN


def exp2_gain(labels: Tensor) -> Tensor:
    """Gain ``2^y - 1``."""
    return torch.exp2(labels) - 1.0


def linear_gain(labels: Tensor) -> Tensor:
    """Gain ``y``."""
    return labels


def log2_discount(ranks: Tensor) -> Tensor:
    """Discount ``1 / log2(1 + r)``."""
    return 1.0 / torch.log2(1.0 + ranks)


def letor_discount(ranks: Tensor) -> Tensor:
    """Discount 1 at rank 1, then ``1 / log2(r)``."""
    return 1.0 / torch.log2(ranks.clamp(min=2))


def reciprocal_discount(ranks: Tensor) -> Tensor:
    """Discount ``1 / r``."""
    return 1.0 / ranks


GAINS: dict[str, Gain] = {"exp2": exp2_gain, "linear": linear_gain}
DISCOUNTS: dict[str, Discount] = {
    "log2": log2_discount,
    "letor": letor_discount,
    "reciprocal": reciprocal_discount,
}


def rank_net(scores: Tensor, labels: Tensor, indptr: Int64Array) -> Tensor:
    """Mean of ``log(1 + exp(-(s_i - s_j)))`` over the pairs with y_i > y_j [1]_."""
    upper, lower = segments.pairs(labels, indptr)
    query = segments.query_of_rows(indptr, scores)[upper]
    terms = torch.nn.functional.softplus(scores[lower] - scores[upper])
    n_queries = len(indptr) - 1
    counts = torch.bincount(query, minlength=n_queries).clamp(min=1)
    return segments.sums(terms, query, n_queries) / counts


def lambda_rank(
    scores: Tensor,
    labels: Tensor,
    indptr: Int64Array,
    *,
    gain: Gain = exp2_gain,
    discount: Discount = log2_discount,
    rank: Rank = segments.ranks,
    cutoff: int | None = None,
) -> Tensor:
    """RankNet loss, with each term multiplied by the nDCG change of swapping its two rows [4]_.

    The factor ``(g_i - g_j) |d(r_i) - d(r_j)| / ideal DCG`` is held fixed, so the gradient is the
    sum of the lambdas. Ranks below the ``cutoff`` have discount 0.
    """
    n_queries = len(indptr) - 1
    query = segments.query_of_rows(indptr, scores)

    def weight_of(ranks: Tensor) -> Tensor:
        weights = discount(ranks.to(scores.dtype))  # integers would give float32
        return weights if cutoff is None else torch.where(ranks <= cutoff, weights, 0.0)

    with torch.no_grad():
        gains = gain(labels)
        ideal = segments.sums(gains * weight_of(rank(gains, indptr)), query, n_queries)
        share = torch.where(ideal > 0, 1.0 / ideal, 0.0)
        weights = weight_of(rank(scores.detach(), indptr))
        upper, lower = segments.pairs(labels, indptr)
        change = (gains[upper] - gains[lower]) * (weights[upper] - weights[lower]).abs()
        change = change * share[query[upper]]
    terms = change * torch.nn.functional.softplus(scores[lower] - scores[upper])
    return segments.sums(terms, query[upper], n_queries)


def list_net(
    scores: Tensor, labels: Tensor, indptr: Int64Array, *, gain: Gain = linear_gain
) -> Tensor:
    """Kullback-Leibler divergence of top-one probabilities, the softmax of gains and of scores.

    Equals the cross entropy of [2]_ minus the constant entropy of the gains, so the minimum is 0.
    """
    target = torch.log_softmax(segments.pad(gain(labels), indptr, _BELOW_ALL), 1)
    told = torch.log_softmax(segments.pad(scores, indptr, _BELOW_ALL), 1)
    return (target.exp() * (target - told)).sum(1)


def list_mle(scores: Tensor, labels: Tensor, indptr: Int64Array) -> Tensor:
    """Mean over rows i of ``log sum_{j: y_j <= y_i} exp(s_j) - s_i`` [3]_.

    Without ties in the labels, this is ``- log`` of the Plackett-Luce probability of the order by
    label, divided by the number of rows. Rows of equal label are included in each other's sums
    (Breslow's method for ties), so their order does not matter. Rows of the lowest label are left
    out, because no row is below them.
    """
    sizes = np.diff(indptr)
    query = segments.query_of_rows(indptr, scores)
    by_label = torch.argsort(labels, descending=True, stable=True)
    order = by_label[torch.argsort(query[by_label], stable=True)]
    y = segments.pad(labels[order], indptr, -torch.inf)
    s = segments.pad(scores[order], indptr, _BELOW_ALL)
    tails = torch.logcumsumexp(s.flip(1), 1).flip(1)
    first_of_label = torch.searchsorted(-y, -y)
    lowest = torch.where(torch.isinf(y), torch.inf, y).amin(1, keepdim=True)
    counted = y > torch.where(torch.isinf(lowest), torch.inf, lowest)
    terms = torch.where(counted, tails.gather(1, first_of_label) - s, 0.0)
    return terms.sum(1) / torch.as_tensor(np.maximum(sizes, 1)).to(scores.device)
