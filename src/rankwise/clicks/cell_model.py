"""PBM and UBM: a click is attraction times the examination of a slot; EM over cells.

References
----------
.. [1] Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias
   models", WSDM 2008 (position-based model, PBM).
.. [2] Dupret and Piwowarski, "A user browsing model to predict search engine click data from past
   observations", SIGIR 2008 (UBM).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rankwise.clicks.acceleration import LEAST, Maximum, maximize
from rankwise.clicks.summary import Cells, find_components, group_rows
from rankwise.kernels.click_cells import collect_patterns, maximize_attractions, run_em_step
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog

# Patterns whose standard errors are computed at a time: their rows of the covariance are dense.
PATTERNS_AT_A_TIME = 1 << 16
# Share of the prior of attractions that is left where it must not move examinations.
VANISHING = 1e-3


class CellFit(NamedTuple):
    """Parameters on the scale of the first slot, whose examination is 1, with standard errors.

    Standard errors are NaN for slots that no pair links to the first one.
    """

    attraction: Float64Array
    examination: Float64Array
    attraction_se: Float64Array
    examination_se: Float64Array
    maximum: Maximum


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
    prior: tuple[float, float],
    *,
    jointly: bool,
    tol: float,
    max_iter: int,
    accelerate: bool,
) -> CellFit:
    """Maximise the likelihood from the prior mean; all slots must be shown.

    ``jointly``: penalised by the prior of all parameters. Otherwise, examinations maximise the
    likelihood, and attractions the one penalised by their prior, given these examinations.
    """
    indptr, slot, n, clicks, times, code = patterns
    n_attractions = len(patterns.times)
    pseudo = np.array([prior, prior])
    if not jointly:
        pseudo[0] *= VANISHING

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
    top = best.x[n_attractions]
    attraction, examination = best.x[:n_attractions] * top, best.x[n_attractions:] / top
    linked = next(part - 1 for part in find_components(patterns.cells, n_slots) if 1 in part)
    covariance = _cover_slots(patterns, attraction, examination, linked, pseudo[0, 1])
    if not jointly:
        attraction = np.empty(n_attractions)
        pair_prior = np.array(prior)
        maximize_attractions(indptr, slot, n, clicks, pair_prior, examination, attraction)
        attraction = np.clip(attraction, LEAST, 1.0 - LEAST)
    a_se = _attraction_errors(patterns, attraction, examination, covariance, prior[1])
    g_se = np.full(n_slots, np.nan)
    g_se[linked] = np.sqrt(np.maximum(covariance.diagonal()[linked], 0.0))
    return CellFit(attraction[code], examination, a_se[code], g_se, best)


def _inform(
    patterns: Patterns, attraction: Float64Array, examination: Float64Array, pseudo: float
) -> tuple[Float64Array, csr_array, Float64Array]:
    """Information of each attraction, of attractions with slots, and the weight of each cell."""
    slot = patterns.slot
    pattern = np.repeat(np.arange(len(attraction)), np.diff(patterns.indptr))
    a, g = attraction[pattern], examination[slot]
    click = np.minimum(a * g, 1.0 - LEAST)
    weight = patterns.n / (click * (1.0 - click))
    spread = np.maximum(attraction * (1 - attraction), 1e-12)
    of_pair = np.bincount(pattern, weight * g**2, len(attraction)) + pseudo / spread
    shape = (len(attraction), len(examination))
    cross = csr_array((patterns.n / (1.0 - click), slot, patterns.indptr), shape)
    return of_pair, cross, patterns.times[pattern] * weight * a**2


def _cover_slots(
    patterns: Patterns,
    attraction: Float64Array,
    examination: Float64Array,
    linked: Int64Array,
    pseudo: float,
) -> Float64Array:
    """Covariance of the examinations, 0 for the first slot, which is fixed, and those not linked.

    The information of the attractions is diagonal, so it is eliminated (Schur complement): a matrix
    of the slots is left.
    """
    n_slots = len(examination)
    of_pair, cross, weight = _inform(patterns, attraction, examination, pseudo)
    schur = np.diag(np.bincount(patterns.slot, weight, n_slots))
    schur -= (cross.T @ cross.multiply((patterns.times / of_pair)[:, None]).tocsr()).toarray()
    free = linked[1:]
    covariance = np.zeros((n_slots, n_slots))
    covariance[np.ix_(free, free)] = np.linalg.pinv(schur[np.ix_(free, free)], hermitian=True)
    return covariance


def _attraction_errors(
    patterns: Patterns,
    attraction: Float64Array,
    examination: Float64Array,
    covariance: Float64Array,
    pseudo: float,
) -> Float64Array:
    """Standard errors: given the examinations, and through the errors of these."""
    of_pair, cross, _ = _inform(patterns, attraction, examination, pseudo)
    variance = 1 / of_pair
    for start in range(0, len(attraction), PATTERNS_AT_A_TIME):
        rows = slice(start, start + PATTERNS_AT_A_TIME)
        part = cross[rows]
        through_slots = np.asarray(part.multiply(part @ covariance).sum(axis=1)).ravel()
        variance[rows] += through_slots / of_pair[rows] ** 2
    return np.sqrt(variance)
