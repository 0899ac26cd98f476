"""Training with torch: steps on batches of whole queries, ranking losses, sums by query.

All random numbers come from NumPy. On the CPU, torch runs on one thread during training, so equal
seeds give bit-identical results with the same library version. On CUDA, the order of sums is not
fixed.

Scores, labels and weights of a loss are float tensors of shape (n_samples,); a row of weight w
counts as w equal rows, and without weights all are 1. Query q has the rows
``indptr[q]:indptr[q + 1]`` (int64, NumPy). The result is a tensor of shape (n_queries,),
differentiable in the scores, and 0 for a query that has no order to learn. Gain and discount are
parameters: functions of labels and of ranks. All operations cost O(n) or
O(n log n), except for the listing of pairs. The rankers name the papers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankwise._packages import missing_package
from rankwise.solvers.boosting.rounds import StagedMeasure
from rankwise.typing import Float64Array, Int64Array, Matrix

try:
    import torch  # pyright: ignore[reportMissingImports]
except ImportError as error:
    raise missing_package("Neural rankers", "torch") from error


Tensor = Any  # torch.Tensor


# From the weights of the network, and X, labels, indptr and row weights of some queries (on the
# device; None: all 1), to one loss per query.
Objective = Callable[[list[Tensor], Tensor, Tensor, Int64Array, "Tensor | None"], Tensor]


def train(
    ranker: Any,
    objective: Objective,
    weights: list[Float64Array],
    X: Matrix,
    labels: Float64Array,
    weight: Float64Array | None,
    indptr: Int64Array,
    rng: np.random.RandomState,
    staged: StagedMeasure | None,
    held_scores: Callable[[list[Float64Array]], Float64Array],
    watch: Callable[[list[Float64Array], list[float]], int | None] | None = None,
) -> tuple[list[Float64Array], list[float], int]:
    """Minimise the mean of ``objective`` over the queries, starting from ``weights``.

    Stops ``early_stopping_rounds`` of the ranker after the best epoch by ``staged``, the measure of
    the ``held_scores`` of validation rows, and restores the weights of that epoch. A loss that is
    no longer finite raises ValueError. Returns weights, the mean loss of the queries in every epoch
    (that of a batch is taken before its step), and the epochs after which the weights were reached.
    ``watch`` receives the weights and losses after every epoch. It returns the number of epochs to
    keep, which ends the training, or None.
    """
    device, rate = ranker.device, float(ranker.learning_rate_init)
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(
            f"device must be available to torch, got {device!r} "
            f"({str(error).splitlines()[0]}). Use device='cpu'."
        ) from None
    patience = ranker.early_stopping_rounds if staged is not None else None
    kept, n_kept, n_queries = weights, 0, len(indptr) - 1
    losses: list[float] = []
    history: list[list[Float64Array]] = []  # weights that `watch` may return to
    previous: Any = 0.0
    with _one_thread():
        tensors = [torch.tensor(w, device=device, requires_grad=True) for w in weights]
        penalised = [  # weights, but not intercepts
            {"params": [w for w in tensors if w.ndim > 1], "weight_decay": float(ranker.lam)},
            {"params": [w for w in tensors if w.ndim == 1], "weight_decay": 0.0},
        ]
        kinds = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}
        optimizer = kinds[ranker.optimizer](penalised, lr=rate)
        for epoch in range(1, ranker.n_epochs + 1):
            order, total = rng.permutation(n_queries), 0.0
            for first in range(0, n_queries, ranker.batch_size):
                queries = order[first : first + ranker.batch_size]
                starts, sizes = indptr[queries], indptr[queries + 1] - indptr[queries]
                limits = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
                places = np.arange(limits[-1]) + np.repeat(starts - limits[:-1], sizes)
                inputs = torch.tensor(ranker._prepare(X[places]), device=device)
                grades = torch.tensor(labels[places], device=device)
                counts = None if weight is None else torch.tensor(weight[places], device=device)
                values = objective(tensors, inputs, grades, limits, counts)
                optimizer.zero_grad()
                values.mean().backward()
                optimizer.step()
                total += float(values.detach().sum())
            losses.append(total / n_queries)
            if not np.isfinite(losses[-1]) or not all(torch.isfinite(w).all() for w in tensors):
                raise ValueError(
                    f"learning_rate_init must be small enough to converge, got {rate}: the loss "
                    f"was {losses[-1]} in epoch {epoch}. Lower learning_rate_init, or scale the "
                    "features."
                )
            now = [w.detach().cpu().numpy().copy() for w in tensors]
            if staged is not None:
                scores = held_scores(now)
                staged.add(scores - previous)
                previous = scores
            if patience is None or staged is None or staged.best == epoch:
                kept, n_kept = now, epoch
            if watch is not None:
                history.append(now)
                n_wanted = watch(now, losses)
                if n_wanted is not None and n_wanted < epoch:
                    kept, n_kept = history[n_wanted - 1], n_wanted
                if n_wanted is not None:
                    break
            if patience is not None and staged is not None and staged.stages_since_best >= patience:
                break
    return kept, losses, n_kept


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run torch on one thread; batches are small, and results do not depend on the CPU count."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


Gain = Callable[[Tensor], Tensor]
Discount = Callable[[Tensor], Tensor]

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


GAINS: dict[str, Gain] = {"exp2": exp2_gain, "linear": linear_gain}
DISCOUNTS: dict[str, Discount] = {
    "log2": log2_discount,
    "letor": lambda ranks: 1.0 / torch.log2(ranks.clamp(min=2)),  # 1 at the first two ranks
    "reciprocal": lambda ranks: 1.0 / ranks,
}


def rank_net(
    scores: Tensor, labels: Tensor, indptr: Int64Array, weight: Tensor | None = None
) -> Tensor:
    """Mean of ``log(1 + exp(-(s_i - s_j)))`` over the pairs with y_i > y_j."""
    upper, lower = pairs(labels, indptr)
    query = query_of_rows(indptr, scores)[upper]
    terms = torch.nn.functional.softplus(scores[lower] - scores[upper])
    n_queries = len(indptr) - 1
    if weight is None:
        counts = torch.ones_like(terms)
    else:  # a power of two, which changes no bit, keeps products of tiny weights above 0
        scaled = weight * 2.0 ** -weight.max().log2().floor()
        counts = scaled[upper] * scaled[lower]
    totals = sums(counts, query, n_queries)
    return sums(counts * terms, query, n_queries) / torch.where(totals > 0, totals, 1.0)


def ranks(scores: Tensor, indptr: Int64Array) -> Tensor:
    """1-based int64 rank within the query by descending score; ties keep the order of the rows."""
    query = query_of_rows(indptr, scores)
    by_score = torch.argsort(scores, descending=True, stable=True)
    order = by_score[torch.argsort(query[by_score], stable=True)]
    starts = torch.as_tensor(indptr[:-1].copy()).to(scores.device)
    found = torch.empty_like(query)
    found[order] = torch.arange(1, len(scores) + 1, device=scores.device) - starts[query[order]]
    return found


def lambda_rank(
    scores: Tensor,
    labels: Tensor,
    indptr: Int64Array,
    weight: Tensor | None = None,
    *,
    gain: Gain = exp2_gain,
    discount: Discount = log2_discount,
    cutoff: int | None = None,
) -> Tensor:
    """RankNet loss, with each term multiplied by the nDCG change of swapping its two rows.

    The factor ``(g_i - g_j) |d(r_i) - d(r_j)| / ideal DCG`` is held fixed, so the gradient is the
    sum of the lambdas. Ranks below the ``cutoff`` have discount 0. A row of weight w has the mean
    discount of its w consecutive ranks; of a rank that it takes in part, the same part counts.
    """
    n_queries = len(indptr) - 1
    query = query_of_rows(indptr, scores)

    def at_ranks(places: Tensor) -> Tensor:
        values = discount(places.to(scores.dtype))  # integers would give float32
        return values if cutoff is None else torch.where(places <= cutoff, values, 0.0)

    def discounts(places: Tensor) -> Tensor:
        if weight is None:
            return at_ranks(places)
        starts = torch.as_tensor(indptr[:-1].copy()).to(scores.device)[query]
        place = starts + places - 1
        ordered = torch.empty_like(weight)
        ordered[place] = weight
        before = torch.cat([weight.new_zeros(1), torch.cumsum(ordered, 0)])
        first, last = (before[at] - before[starts] for at in (place, place + 1))
        n_ranks = int(torch.ceil(last).max()) if len(last) else 0
        single = at_ranks(torch.arange(1, n_ranks + 2, device=scores.device))
        totals = torch.cat([single.new_zeros(1), torch.cumsum(single, 0)])
        upto = [totals[x.long()] + (x - x.floor()) * single[x.long()] for x in (first, last)]
        return (upto[1] - upto[0]) / weight

    with torch.no_grad():
        counts = torch.ones_like(scores) if weight is None else weight
        gains = gain(labels)
        ideal = sums(counts * gains * discounts(ranks(gains, indptr)), query, n_queries)
        share = torch.where(ideal > 0, 1.0 / ideal, 0.0)
        values = discounts(ranks(scores.detach(), indptr))
        upper, lower = pairs(labels, indptr)
        change = (gains[upper] - gains[lower]) * (values[upper] - values[lower]).abs()
        change = change * counts[upper] * counts[lower] * share[query[upper]]
    terms = change * torch.nn.functional.softplus(scores[lower] - scores[upper])
    return sums(terms, query[upper], n_queries)


def list_net(
    scores: Tensor,
    labels: Tensor,
    indptr: Int64Array,
    weight: Tensor | None = None,
    *,
    gain: Gain = linear_gain,
) -> Tensor:
    """Kullback-Leibler divergence of top-one probabilities, the softmax of gains and of scores.

    Equals ListNet's cross entropy minus the constant entropy of the gains, so the minimum is 0.
    """
    copies = 0.0 if weight is None else weight.log()  # w terms exp(s) are exp(s + log w)
    target = torch.log_softmax(pad(gain(labels) + copies, indptr, _BELOW_ALL), 1)
    told = torch.log_softmax(pad(scores + copies, indptr, _BELOW_ALL), 1)
    return (target.exp() * (target - told)).sum(1)


def list_mle(
    scores: Tensor, labels: Tensor, indptr: Int64Array, weight: Tensor | None = None
) -> Tensor:
    """Mean over rows i of ``log sum_{j: y_j <= y_i} exp(s_j) - s_i``.

    Without ties in the labels, this is ``- log`` of the Plackett-Luce probability of the order by
    label, divided by the number of rows. Rows of equal label are included in each other's sums
    (Breslow's method for ties), so their order does not matter. Rows of the lowest label are left
    out, because no row is below them.
    """
    counts = torch.ones_like(scores) if weight is None else weight
    query = query_of_rows(indptr, scores)
    by_label = torch.argsort(labels, descending=True, stable=True)
    order = by_label[torch.argsort(query[by_label], stable=True)]
    y = pad(labels[order], indptr, -torch.inf)
    s = pad(scores[order], indptr, _BELOW_ALL)
    n = pad(counts[order], indptr, 1.0)
    tails = torch.logcumsumexp((s + n.log()).flip(1), 1).flip(1)
    first_of_label = torch.searchsorted(-y, -y)
    lowest = torch.where(torch.isinf(y), torch.inf, y).amin(1, keepdim=True)
    counted = y > torch.where(torch.isinf(lowest), torch.inf, lowest)
    terms = torch.where(counted, n * (tails.gather(1, first_of_label) - s), 0.0)
    totals = sums(counts, query, len(indptr) - 1)
    return terms.sum(1) / torch.where(totals > 0, totals, 1.0)


def query_of_rows(indptr: Int64Array, like: Tensor) -> Tensor:
    """Query number of every row, on the device of ``like``."""
    return torch.as_tensor(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))).to(like.device)


def sums(values: Tensor, query: Tensor, n_queries: int) -> Tensor:
    """Sum of ``values`` by query number, shape (n_queries,)."""
    return values.new_zeros(n_queries).index_add(0, query, values)


def pad(values: Tensor, indptr: Int64Array, fill: float) -> Tensor:
    """One row per query, padded to the longest query, shape (n_queries, longest)."""
    sizes = np.diff(indptr)
    steps = np.arange(sizes.max(initial=0))
    inside = steps < sizes[:, None]
    rows = np.where(inside, indptr[:-1, None] + steps, 0)
    mask = torch.as_tensor(inside).to(values.device)
    return torch.where(mask, values[torch.as_tensor(rows).to(values.device)], fill)


def pairs(labels: Tensor, indptr: Int64Array) -> tuple[Tensor, Tensor]:
    """Row numbers (upper, lower) of every pair of a query whose labels satisfy upper > lower.

    Queries of m rows cost O(sum of m^2).
    """
    found = [
        torch.nonzero(labels[lo:hi, None] > labels[None, lo:hi]) + lo
        for lo, hi in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
    ]
    upper, lower = torch.cat(found).T
    return upper, lower
