"""Fits of click models: PBM and UBM by cells of pairs and slots, SDBN and DBN by lists.

In PBM and UBM [1]_, [2]_ a click is attraction times the examination of a slot. Each pair has an
attraction of its own. Where pairs were shown a few times, the joint maximum of attractions and
examinations is far from the truth: a pair shown once and clicked looks certain of a click, and
examinations of low slots rise to 1. Given the number of clicks of a pair, its attraction cancels:
clicks fall on its slots in proportion to impressions times examination, so the maximum of this
conditional likelihood needs few impressions per pair [3]_. It takes clicks as Poisson; its
derivative has mean 0 for any clicks, and standard errors are those of binomial clicks.

In SDBN and DBN [4]_, users read downwards until a click satisfies them.

References
----------
.. [1] Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias
   models", WSDM 2008 (position-based model, PBM).
.. [2] Dupret and Piwowarski, "A user browsing model to predict search engine click data from past
   observations", SIGIR 2008 (UBM).
.. [3] Agarwal et al., "Estimating position bias without intrusive interventions", WSDM 2019
   (intervention harvesting, which is this for places).
.. [4] Chapelle and Zhang, "A dynamic Bayesian network click model for web search ranking", WWW
   2009; SDBN is its section 5, users never give up.
.. [5] Varadhan and Roland, "Simple and globally convergent methods for accelerating the convergence
   of any EM algorithm", Scandinavian Journal of Statistics 35, 2008 (SQUAREM, scheme S3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import ndtri

from rankwise.clicks.log import Cells, ClickLog, find_components, group_rows
from rankwise.clicks.shrinkage import MOST_PAIRS, fit_beta_binomial
from rankwise.kernels.click_models import (
    collect_patterns,
    count_examined,
    maximize_attractions,
    number_lists,
    run_chain_step,
    run_em_step,
    spread_classes,
)
from rankwise.typing import Float64Array, Int64Array

# Patterns whose standard errors are computed at a time: their rows of the covariance are dense.
PATTERNS_AT_A_TIME = 1 << 16
MOST_NEWTON_STEPS = 200
# Clicks and impressions for every parameter that has no prior of its own.
WEAK_PRIOR = (0.2, 1.0)
# Two-sided error, of all slots together, of the claim that one is examined more than the topmost.
UNIT_ERROR = 0.01


class CellFit(NamedTuple):
    """Parameters on the scale of slot ``unit``, whose examination is 1, with standard errors.

    Standard errors are NaN for slots that clicks do not link to the unit; ``groups`` are the slots,
    from 1, between which clicks go both ways.
    """

    attraction: Float64Array
    examination: Float64Array
    attraction_se: Float64Array
    examination_se: Float64Array
    unit: int
    groups: list[Int64Array]
    n_steps: int
    converged: bool


class Examinations(NamedTuple):
    """Logarithms of examinations, 0 at one slot, with what their errors need.

    ``bread`` is the inverse of the information, ``covariance`` that of independent binomial clicks;
    both have a row of 0 for the slot that is fixed. ``residual`` is the derivative by cell.
    """

    eta: Float64Array
    bread: Float64Array
    covariance: Float64Array
    residual: Float64Array
    n_steps: int
    converged: bool


class Patterns(NamedTuple):
    """Distinct sets of cells; pair ``p`` has the cells of pattern ``code[p]``."""

    indptr: Int64Array
    slot: Int64Array
    n: Float64Array
    clicks: Float64Array
    times: Float64Array
    code: NDArray[np.int32]

    @property
    def cells(self) -> Cells:
        """Cells of one pair of each pattern, in place of the number of the pair its pattern."""
        pattern = np.repeat(np.arange(len(self.times)), np.diff(self.indptr))
        return Cells(pattern, self.slot, self.n, self.clicks)

    @property
    def n_impressions(self) -> float:
        """Sum of the weights of all cells of all pairs."""
        return float((np.repeat(self.times, np.diff(self.indptr)) * self.n).sum())


def find_patterns(log: ClickLog, slot: NDArray[np.int32]) -> Patterns:
    """Sum rows by pair and slot, and merge pairs with equal cells, whose attraction is equal.

    Most pairs of a long log were shown once: they have two patterns per place.
    """
    indptr, order = group_rows(log)
    code = np.empty(len(indptr) - 1, dtype=np.int32)
    weight = np.empty(0) if log.weight is None else log.weight
    n_slots = int(slot.max()) + 1
    starts, *cells = collect_patterns(indptr, order, slot, log.click, weight, n_slots, code)
    times = np.bincount(code, minlength=len(starts) - 1).astype(np.float64)
    return Patterns(starts, cells[0], cells[1], cells[2], times, code)


def fit_cells(
    patterns: Patterns,
    n_slots: int,
    prior: tuple[float, float] | None,
    *,
    jointly: bool,
    tol: float,
    max_iter: int,
    accelerate: bool,
) -> CellFit:
    """Fit attractions and examinations; all slots must be shown.

    ``jointly``: EM from the prior mean to the likelihood penalised by the prior of all parameters.
    Otherwise, examinations maximise the conditional likelihood, and attractions the one penalised
    by their prior, given these examinations. A prior of None is fitted to all pairs.
    """
    indptr, slot, n, clicks, times, code = patterns
    n_attractions = len(times)
    cells = patterns.cells
    attraction, eta, best = np.empty(n_attractions), None, None
    if jointly:
        prior = WEAK_PRIOR if prior is None else prior
        pseudo = np.array([prior, prior])

        def step(x: Float64Array) -> tuple[Float64Array, float]:
            new, totals = np.empty(n_attractions + n_slots), np.empty((2, n_slots))
            value = run_em_step(
                indptr, slot, n, clicks, times, pseudo, x[:n_attractions], x[n_attractions:],
                new[:n_attractions], totals,
            )  # fmt: skip
            new[n_attractions:] = totals[0] / totals[1]
            return np.clip(new, LEAST, 1.0 - LEAST), value

        start = np.full(n_attractions + n_slots, prior[0] / prior[1])
        # A gain of 1e-8 an impression is far below what chance makes of the likelihood.
        gain = tol * patterns.n_impressions
        best = maximize(step, start, tol=gain, max_iter=max_iter, accelerate=accelerate)
        attraction, eta = best.x[:n_attractions], np.log(best.x[n_attractions:])
    groups = find_components(cells, n_slots)
    per_slot = (WEAK_PRIOR if prior is None else prior)[0]
    found = maximize_conditional(cells, times, groups, n_slots, per_slot, eta)
    by_slot = np.bincount(slot, times[cells.pair] * clicks, n_slots)
    linked = max((group - 1 for group in groups), key=lambda group: by_slot[group].sum())
    # So many slots are compared with the topmost one.
    z = float(ndtri(1 - UNIT_ERROR / (2 * n_slots)))
    unit = choose_unit(found.eta, z * deviate_from(linked[0], found.covariance), linked)
    examination = np.maximum(np.exp(found.eta - found.eta[unit]), LEAST)
    if prior is None:
        some = code[:: -(-len(code) // MOST_PAIRS)]
        sums = (
            np.bincount(cells.pair, column, n_attractions)[some]
            for column in (clicks, n * examination[slot])
        )
        prior = fit_pair_prior(*sums)
    if eta is not None:
        attraction = attraction * np.exp(eta[unit])
    else:
        maximize_attractions(indptr, slot, n, clicks, np.array(prior), examination, attraction)
        attraction = np.clip(attraction, LEAST, 1.0 - LEAST)
    contrast = np.eye(n_slots)
    contrast[:, unit] -= 1.0
    covariance = contrast @ found.covariance @ contrast.T * np.outer(examination, examination)
    a_se = _attraction_errors(patterns, attraction, examination, covariance, prior[1])
    g_se = np.full(n_slots, np.nan)
    g_se[linked] = np.sqrt(np.maximum(covariance.diagonal()[linked], 0.0))
    run = found if best is None else best
    return CellFit(
        attraction[code], examination, a_se[code], g_se, unit, groups, run.n_steps, run.converged
    )


def fit_pair_prior(clicks: Float64Array, looks: Float64Array) -> tuple[float, float]:
    """Clicks and impressions of the beta distribution that the rates of all pairs come from.

    1 to 100 impressions, so that a log too small to tell pairs apart makes them neither equal for
    certain nor certain of a click.
    """
    mean, strength = fit_beta_binomial(clicks, np.maximum(looks, clicks))
    strength = float(np.clip(strength, 1.0, 100.0))
    return float(np.clip(mean, 1e-6, 0.999)) * strength, strength


def maximize_conditional(
    cells: Cells,
    times: Float64Array,
    groups: list[Int64Array],
    n_slots: int,
    prior: float,
    at: Float64Array | None = None,
) -> Examinations:
    """Examinations that make the clicks of each pair most likely, given their number.

    Only slots of one of the ``groups`` of find_components are compared so. The prior compares the
    groups: relative to the slot with most clicks, each slot is given ``prior`` clicks at the ratio
    of their click rates (shrunk), as if documents were alike. A prior of 0 needs one group of all
    slots. ``times`` is the number of pairs with the same cells. ``at``: values whose errors are
    wanted, not the maximum. Newton's method; a step costs the squared number of slots of each
    clicked pair, summed, and the cubed number of slots.
    """
    group = np.zeros(n_slots, dtype=np.int64)  # 0: without clicks
    for number, part in enumerate(groups, 1):
        group[part - 1] = number
    n, clicks = (
        np.bincount(cells.slot, times[cells.pair] * column, n_slots)
        for column in (cells.n, cells.clicks)
    )
    reference = int(np.argmax(clicks))
    mean, strength = fit_beta_binomial(clicks, n)
    rate = (clicks + strength * mean) / (n + strength)
    free = np.arange(n_slots) != reference
    key = cells.pair * (len(groups) + 1) + group[cells.slot]
    key, unit = np.unique(key, return_inverse=True)
    # A pair without clicks, or in one slot of a group, compares nothing.
    kept = (np.bincount(unit, cells.clicks) > 0)[unit] & (np.bincount(unit) > 1)[unit]
    order = np.flatnonzero(kept)[np.argsort(unit[kept], kind="stable")]
    chosen, pair = np.unique(unit[order], return_inverse=True)
    slot, n, clicks = cells.slot[order], cells.n[order], cells.clicks[order]
    m = times[key[chosen] // (len(groups) + 1)]
    total = np.bincount(pair, clicks, len(chosen))
    indptr = np.searchsorted(pair, np.arange(len(chosen) + 1))
    eta = np.zeros(n_slots) if at is None else at - at[reference]

    def table(values: Float64Array) -> csr_array:
        return csr_array((values, slot, indptr), (len(chosen), n_slots))

    n_steps, size = 0, np.inf
    while True:
        exposure = n * np.exp(eta[slot])
        share = exposure / np.bincount(pair, exposure, len(chosen))[pair]
        expected = total[pair] * share
        given = prior * np.exp(eta) * rate[reference] / rate * free
        information = np.diag(np.bincount(slot, m[pair] * expected, n_slots) + given)
        information -= (table(share).T @ table(m[pair] * expected)).toarray()
        gradient = np.bincount(slot, m[pair] * (clicks - expected), n_slots) + prior - given
        # Examinations near 0 leave information of very different size; this keeps it regular.
        information[np.diag_indices(n_slots)] *= 1.0 + 1e-12
        information = information[np.ix_(free, free)]
        if at is not None or size < 1e-10 or n_steps == MOST_NEWTON_STEPS:
            break
        step = np.linalg.solve(information, gradient[free])
        size = float(np.abs(step).max(initial=0.0))
        # The likelihood is concave; long first steps may overshoot its exponentials.
        eta[free] += step / max(1.0, size)
        n_steps += 1
    bread = np.zeros((n_slots, n_slots))
    bread[np.ix_(free, free)] = np.linalg.inv(information)
    # Binomial clicks vary less than Poisson clicks do, by their probability. The pairs here are
    # those that were clicked: with few looks, their rates are too high.
    looks = np.bincount(pair, exposure, len(chosen))
    appeal = total / (looks + 2.0)
    varies = m[pair] * expected * (1.0 - np.minimum(appeal[pair] * np.exp(eta[slot]), 1.0))
    meat = np.diag(np.bincount(slot, varies, n_slots) + given)
    crossed = (table(share).T @ table(varies)).toarray()
    sums = np.bincount(pair, varies, len(chosen))
    meat += (table(share).T @ table(sums[pair] * share)).toarray() - crossed - crossed.T
    residual = np.zeros(len(cells.slot))
    residual[order] = clicks - expected
    return Examinations(eta, bread, bread @ meat @ bread, residual, n_steps, size < 1e-6)


def choose_unit(eta: Float64Array, width: Float64Array, slots: Int64Array) -> int:
    """Slot whose examination is 1: the topmost of ``slots``, unless another is examined more.

    Another one is taken if the logarithm of its ratio to the topmost exceeds 0 by ``width``; of
    several, the one that does by most. Without this, the little that is seen of a topmost place
    where users hardly look would be the unit.
    """
    first = slots[0]
    low = (eta - eta[first] - width)[slots]
    best = int(np.argmax(low))
    return int(slots[best]) if low[best] > 0 else int(first)


def deviate_from(unit: int, covariance: Float64Array) -> Float64Array:
    """Standard deviations of the differences from one entry."""
    variance = covariance.diagonal() + covariance[unit, unit] - 2 * covariance[unit]
    return np.sqrt(np.maximum(variance, 0.0))


def _attraction_errors(
    patterns: Patterns,
    attraction: Float64Array,
    examination: Float64Array,
    covariance: Float64Array,
    pseudo: float,
) -> Float64Array:
    """Standard errors: given the examinations, and through the errors of these."""
    slot = patterns.slot
    pattern = np.repeat(np.arange(len(attraction)), np.diff(patterns.indptr))
    a, g = attraction[pattern], examination[slot]
    click = np.minimum(a * g, 1.0 - LEAST)
    spread = np.maximum(attraction * (1 - attraction), 1e-12)
    of_pair = np.bincount(pattern, patterns.n * g**2 / (click * (1.0 - click)), len(attraction))
    of_pair += pseudo / spread
    shape = (len(attraction), len(examination))
    cross = csr_array((patterns.n / (1.0 - click), slot, patterns.indptr), shape)
    variance = 1 / of_pair
    for start in range(0, len(attraction), PATTERNS_AT_A_TIME):
        rows = slice(start, start + PATTERNS_AT_A_TIME)
        part = cross[rows]
        through_slots = np.asarray(part.multiply(part @ covariance).sum(axis=1)).ravel()
        variance[rows] += through_slots / of_pair[rows] ** 2
    return np.sqrt(variance)


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
    chains, class_of, n_equal = collapse_lists(log)
    n = len(n_equal)
    # A parameter counts as often in the prior as there are pairs that share it.
    times = np.append(np.tile(n_equal, 2), 1.0)
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
    return class_of, best, scores + prior[1] / (attraction * (1 - attraction))


def _start(chains: Chains, n: int, prior: tuple[float, float]) -> Float64Array:
    weight = np.repeat(chains.weight[0], np.diff(chains.indptr))
    begin = _divide_counts(chains.indptr, chains.pair, chains.click, weight, n, prior)
    return np.concatenate([*begin[:2], [0.9]])


def collapse_lists(log: ClickLog) -> tuple[Chains, NDArray[np.int32], Float64Array]:
    """Merge lists with the same pairs, order and clicks; weights of rows are averaged by list.

    Also the class of each pair, and the number of pairs of each class.

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
    return chains, class_of, times


# Parameters are probabilities; closer to 0 or 1, logarithms lose their digits.
LEAST = 1e-9
LONGEST = 1e6

# Maps a point to the next point of EM and the objective at the point.
Step = Callable[[Float64Array], tuple[Float64Array, float]]


class Maximum(NamedTuple):
    """Where EM stopped."""

    x: Float64Array
    value: float
    n_steps: int
    converged: bool


def maximize(
    step: Step,
    x: Float64Array,
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    times: Float64Array | float = 1.0,
) -> Maximum:
    """Run EM until a step gains less than ``tol``, or ``max_iter`` steps.

    Steps are extrapolated (SQUAREM [5]_); without ``accelerate``, plain EM. Extrapolated points
    that lower the objective are given up, so it never falls. In the length of a step, a parameter
    that stands for ``times`` equal ones counts as often.
    """
    n_steps, before = 0, -np.inf
    value = before
    while n_steps < max_iter:
        first, value = step(x)
        n_steps += 1
        if value - before < tol:
            return Maximum(x, value, n_steps, True)
        before = value
        if not accelerate:
            x = first
            continue
        second, _ = step(first)
        n_steps += 1
        # In place: long logs have millions of parameters.
        bend = second - first
        change = first
        change -= x
        bend -= change
        # At least a plain double step; a straight path has no length at which it turns.
        ratio = _measure(change, times) / max(_measure(bend, times), 1e-300)
        length = min(max(ratio, 1.0), LONGEST)
        far = change
        far *= 2 * length
        far += x
        bend *= length**2
        far += bend
        del first, x, change, bend
        behind, far_value = step(np.clip(far, LEAST, 1.0 - LEAST, out=far))
        n_steps += 1
        # One EM step from the extrapolated point smooths it: its objective can only be higher.
        x = behind if far_value >= value else second
    return Maximum(x, value, n_steps, False)


def _measure(v: Float64Array, times: Float64Array | float) -> float:
    """Length of a vector whose entries stand for ``times`` equal ones each."""
    return math.sqrt(float(np.einsum("i,i,i", np.broadcast_to(times, v.shape), v, v)))
