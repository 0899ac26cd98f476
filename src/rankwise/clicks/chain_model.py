"""SDBN and DBN: users read downwards until a click satisfies them [1]_.

References
----------
.. [1] Chapelle and Zhang, "A dynamic Bayesian network click model for web search ranking", WWW
   2009; SDBN is its section 5, users never give up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise.clicks.acceleration import maximize
from rankwise.kernels.click_cells import mark_different
from rankwise.kernels.click_chains import hash_lists, run_chain_step
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
    """Distinct lists with their clicks, and how often each occurred."""

    indptr: Int64Array
    pair: Int64Array
    click: NDArray[np.bool_]
    weight: Float64Array


def fit_sdbn(log: ClickLog, prior: tuple[float, float]) -> ChainFit:
    """Closed form: everything down to the last click was examined, the last click satisfied."""
    indptr, code = log.lists
    n_pairs, pair, w = len(log.pairs.query), log.pairs.code, log.counts
    position = np.arange(len(log))
    last = np.full(len(indptr) - 1, -1)
    clicked = np.flatnonzero(log.click)
    np.maximum.at(last, code[clicked], clicked)
    # A list without clicks was examined as a whole.
    seen = (position <= last[code]) | (last[code] < 0)
    final = position == last[code]
    n_seen = np.bincount(pair[seen], w[seen], n_pairs) + prior[1]
    n_clicked = np.bincount(pair[log.click], w[log.click], n_pairs)
    attraction = (n_clicked + prior[0]) / n_seen
    satisfied = np.bincount(pair[final], w[final], n_pairs)
    satisfaction = (satisfied + prior[0]) / (n_clicked + prior[1])
    se = np.sqrt(attraction * (1 - attraction) / n_seen)
    return ChainFit(attraction, satisfaction, 1.0, se, 0, True)


def fit_dbn(
    log: ClickLog, prior: tuple[float, float], *, tol: float, max_iter: int, accelerate: bool
) -> ChainFit:
    """EM by forward-backward over distinct lists with clicks; the start is the SDBN."""
    chains = collapse_lists(log)
    n_pairs = len(log.pairs.query)
    scores = np.zeros(n_pairs)

    def step(x: Float64Array) -> tuple[Float64Array, float]:
        attracted = np.empty((2, n_pairs))
        satisfied = np.empty((2, n_pairs))
        for totals in (attracted, satisfied):
            totals[0], totals[1] = prior
        scores[:] = 0.0
        value, went_on, could = run_chain_step(
            *chains, x[:n_pairs], x[n_pairs : 2 * n_pairs], x[-1], attracted, satisfied, scores
        )
        new = np.concatenate([attracted[0] / attracted[1], satisfied[0] / satisfied[1], [0.0]])
        new[-1] = (went_on + prior[0]) / (could + prior[1])
        value += prior[0] * np.log(x).sum() + (prior[1] - prior[0]) * np.log1p(-x).sum()
        return np.clip(new, 1e-9, 1 - 1e-9), value

    begin = fit_sdbn(log, prior)
    x = np.concatenate([begin.attraction, begin.satisfaction, [0.9]])
    best = maximize(step, x, tol=tol * log.counts.sum(), max_iter=max_iter, accelerate=accelerate)
    step(best.x)
    attraction, satisfaction = best.x[:n_pairs], best.x[n_pairs:-1]
    information = scores + prior[1] / (attraction * (1 - attraction))
    return ChainFit(
        attraction,
        satisfaction,
        float(best.x[-1]),
        1 / np.sqrt(information),
        best.n_steps,
        best.converged,
    )


def collapse_lists(log: ClickLog) -> Chains:
    """Merge lists with the same pairs, order and clicks; weights of rows are averaged by list."""
    indptr = log.lists.indptr
    pair = log.pairs.code.astype(np.int64)
    sizes = np.diff(indptr)
    weight = np.ones(len(sizes))
    if log.weight is not None:
        weight = np.add.reduceat(log.weight, indptr[:-1]) / sizes
    number = np.empty(len(sizes), dtype=np.uint64)
    hash_lists(indptr, pair, log.click, number)
    encoded = pa.array(number).dictionary_encode()
    code = encoded.indices.to_numpy().astype(np.int64)
    first = np.full(len(encoded.dictionary), len(sizes))
    np.minimum.at(first, code, np.arange(len(sizes)))
    different = np.empty(len(sizes), dtype=bool)
    if mark_different(indptr, pair, log.click, log.click, first[code], different):
        own = np.flatnonzero(different)
        code[own] = len(first) + np.arange(len(own))
        first = np.append(first, own)
    total = np.bincount(code, weight, len(first))
    sizes = sizes[first]
    starts = np.append(0, np.cumsum(sizes))
    rows = np.arange(starts[-1]) + np.repeat(indptr[first] - starts[:-1], sizes)
    return Chains(starts, pair[rows], log.click[rows], total)
