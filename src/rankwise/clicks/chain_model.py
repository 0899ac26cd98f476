"""SDBN and DBN: users read downwards until a click satisfies them [1]_.

References
----------
.. [1] Chapelle and Zhang, "A dynamic Bayesian network click model for web search ranking", WWW
   2009; SDBN is its section 5, users never give up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankwise.clicks.acceleration import Maximum, maximize
from rankwise.kernels.click_chains import (
    count_examined,
    number_lists,
    run_chain_step,
    spread_classes,
)
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog


class ChainFit(NamedTuple):
    """Parameters by pair, and the probability of going on."""

    attraction: Float64Array
    satisfaction: Float64Array
    continuation: float
    attraction_se: Float64Array
    n_steps: int
    converged: bool


class Chains(NamedTuple):
    """Distinct lists with their clicks; pairs that must have equal parameters are one class."""

    indptr: Int64Array
    pair: NDArray[np.int32]  # class of the pair of each row
    click: NDArray[np.bool_]
    weight: Float64Array  # of shape (2, n_lists), see run_chain_step


class Classes(NamedTuple):
    """Class of each pair, and number of pairs of each class."""

    code: NDArray[np.int32]
    times: Float64Array


def fit_sdbn(log: ClickLog, prior: tuple[float, float]) -> ChainFit:
    """Closed form: everything down to the last click was examined, the last click satisfied."""
    weight = np.empty(0) if log.weight is None else log.weight
    rows = (log.lists.indptr, log.pairs.code, log.click, weight)
    attraction, satisfaction, n_seen = _divide_counts(*rows, len(log.pairs.query), prior)
    se = attraction * (1 - attraction)
    se /= n_seen
    return ChainFit(attraction, satisfaction, 1.0, np.sqrt(se, out=se), 0, True)


def _divide_counts(
    indptr: Int64Array,
    pair: NDArray[np.int32],
    click: NDArray[np.bool_],
    weight: Float64Array,
    n_pairs: int,
    prior: tuple[float, float],
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Attraction and satisfaction of the SDBN, and the examined impressions with the prior's."""
    n_seen, n_clicked, satisfied = np.zeros((3, n_pairs))
    count_examined(indptr, pair, click, weight, n_seen, n_clicked, satisfied)
    n_seen += prior[1]
    satisfied += prior[0]
    satisfied /= n_clicked + prior[1]
    n_clicked += prior[0]
    n_clicked /= n_seen
    return n_clicked, satisfied, n_seen


def fit_dbn(
    log: ClickLog, prior: tuple[float, float], *, tol: float, max_iter: int, accelerate: bool
) -> ChainFit:
    """EM by forward-backward over distinct lists with clicks; the start is the SDBN."""
    code, best, information = _run_em(log, prior, tol, max_iter, accelerate)
    n = len(information)
    values = (best.x[:n], best.x[n:-1], 1 / np.sqrt(information))
    # Values of all pairs: nothing else that is as long may be in memory by now.
    attraction, satisfaction, se = (value[code] for value in values)
    continuation = float(best.x[-1])
    return ChainFit(attraction, satisfaction, continuation, se, best.n_steps, best.converged)


def _run_em(
    log: ClickLog, prior: tuple[float, float], tol: float, max_iter: int, accelerate: bool
) -> tuple[NDArray[np.int32], Maximum, Float64Array]:
    """Class of each pair, parameters of the classes, and information of their attractions."""
    chains, classes = collapse_lists(log)
    n = len(classes.times)
    # A parameter counts as often in the prior as there are pairs that share it.
    times = np.append(np.tile(classes.times, 2), 1.0)
    totals = np.empty((2, 2, n))

    def step(x: Float64Array, scores: Float64Array) -> tuple[Float64Array, float]:
        totals[:, 0], totals[:, 1] = prior
        value, went_on, could = run_chain_step(
            *chains, x[:n], x[n : 2 * n], x[-1], totals[0], totals[1], scores
        )
        # Logs of lists without repetition have millions of parameters: no more arrays than needed.
        new = np.log(x)
        value += prior[0] * float(times @ new)
        np.log1p(np.negative(x, out=new), out=new)
        value += (prior[1] - prior[0]) * float(times @ new)
        np.divide(totals[:, 0], totals[:, 1], out=new[:-1].reshape(2, n))
        new[-1] = (went_on + prior[0]) / (could + prior[1])
        return np.clip(new, 1e-9, 1 - 1e-9, out=new), value

    best = maximize(
        lambda x: step(x, np.empty(0)),
        _start(chains, n, prior),
        tol=tol * float(log.counts.sum()),
        max_iter=max_iter,
        accelerate=accelerate,
        times=times,
    )
    scores = np.zeros(n)
    step(best.x, scores)
    attraction = best.x[:n]
    return classes.code, best, scores + prior[1] / (attraction * (1 - attraction))


def _start(chains: Chains, n: int, prior: tuple[float, float]) -> Float64Array:
    weight = np.repeat(chains.weight[0], np.diff(chains.indptr))
    begin = _divide_counts(chains.indptr, chains.pair, chains.click, weight, n, prior)
    return np.concatenate([*begin[:2], [0.9]])


def collapse_lists(log: ClickLog) -> tuple[Chains, Classes]:
    """Merge lists with the same pairs, order and clicks; weights of rows are averaged by list.

    The pairs of a query that was searched once are in no other list. Such lists differ by the names
    of their pairs only, so that one of them stands for all that have its clicks.
    """
    indptr, pair = log.lists.indptr, log.pairs.code
    n_lists, n_pairs = len(indptr) - 1, len(log.pairs.query)
    weight = np.ones(n_lists)
    if log.weight is not None:
        weight = np.add.reduceat(log.weight, indptr[:-1]) / np.diff(indptr)
    query = log.query.codes[indptr[:-1]]
    alone = np.bincount(query)[query] == 1
    code = np.empty(n_lists, dtype=np.int32)
    first = number_lists(indptr, pair, log.click, weight, alone, code)
    sizes = np.diff(indptr)[first]
    starts = np.append(0, np.cumsum(sizes))
    rows = np.arange(starts[-1]) + np.repeat(indptr[first] - starts[:-1], sizes)
    used = np.zeros(n_pairs, dtype=bool)
    used[pair[rows]] = True
    number = np.cumsum(used, dtype=np.int32) - np.int32(1)
    class_of = np.full(n_pairs, -1, dtype=np.int32)
    times = np.zeros(int(number[-1]) + 1)
    spread_classes(indptr, pair, code, first, number, class_of, times)
    total = np.bincount(code, weight, len(first))
    weights = np.stack([np.where(alone[first], weight[first], total), total])
    chains = Chains(starts, number[pair[rows]], log.click[rows], weights)
    return chains, Classes(class_of, times)
