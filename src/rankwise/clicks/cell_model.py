"""PBM and UBM: a click is attraction times the examination of a slot; EM over cells.

References
----------
.. [1] Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias
   models", WSDM 2008 (position-based model, PBM).
.. [2] Dupret and Piwowarski, "A user browsing model to predict search engine click data from past
   observations", SIGIR 2008 (UBM).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from rankwise.clicks.acceleration import LEAST, Maximum, maximize
from rankwise.clicks.summary import Cells, find_components
from rankwise.kernels.click_cells import hash_cells, mark_different, run_em_step
from rankwise.typing import Float64Array, Int64Array

# Patterns whose standard errors are computed at a time: their rows of the covariance are dense.
PATTERNS_AT_A_TIME = 1 << 16


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
    code: Int64Array


def find_patterns(cells: Cells, n_pairs: int) -> Patterns:
    """Merge pairs with equal cells, whose attraction is equal.

    Most pairs of a long log were shown once: they have two patterns per place.
    """
    indptr = np.searchsorted(cells.pair, np.arange(n_pairs + 1))
    slot, n, clicks = cells.slot, cells.n, cells.clicks
    number = np.empty(n_pairs, dtype=np.uint64)
    hash_cells(indptr, slot, n, clicks, number)
    encoded = pa.array(number).dictionary_encode()
    code = encoded.indices.to_numpy().astype(np.int64)
    first = np.full(len(encoded.dictionary), n_pairs)
    np.minimum.at(first, code, np.arange(n_pairs))
    different = np.empty(n_pairs, dtype=bool)
    if mark_different(indptr, slot, n, clicks, first[code], different):
        # Another pair has the same hash: such pairs get patterns of their own.
        own = np.flatnonzero(different)
        code[own] = len(first) + np.arange(len(own))
        first = np.append(first, own)
    sizes = np.diff(indptr)[first]
    starts = np.append(0, np.cumsum(sizes))
    at = np.arange(starts[-1]) + np.repeat(indptr[first] - starts[:-1], sizes)
    times = np.bincount(code, minlength=len(first)).astype(np.float64)
    return Patterns(starts, slot[at], n[at], clicks[at], times, code)


def fit_cells(
    cells: Cells,
    n_pairs: int,
    n_slots: int,
    prior: tuple[float, float],
    *,
    tol: float,
    max_iter: int,
    accelerate: bool,
) -> CellFit:
    """Maximise the penalised likelihood from the prior mean; all slots must be shown."""
    patterns = find_patterns(cells, n_pairs)
    indptr, slot, n, clicks, times, code = patterns
    pseudo, n_attractions = np.array(prior), len(patterns.times)

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
    best = maximize(step, start, tol=tol * cells.n.sum(), max_iter=max_iter, accelerate=accelerate)
    top = best.x[n_attractions]
    attraction, examination = best.x[:n_attractions] * top, best.x[n_attractions:] / top
    linked = next(part - 1 for part in find_components(cells, n_slots) if 1 in part)
    a_se, g_se = _standard_errors(patterns, attraction, examination, linked, prior)
    return CellFit(attraction[code], examination, a_se[code], g_se, best)


def _standard_errors(
    patterns: Patterns,
    attraction: Float64Array,
    examination: Float64Array,
    linked: Int64Array,
    prior: tuple[float, float],
) -> tuple[Float64Array, Float64Array]:
    """Roots of the diagonal of the inverse information; the first slot is fixed.

    The information of the attractions is diagonal, so it is eliminated (Schur complement): a matrix
    of the slots is left.
    """
    n_slots, slot = len(examination), patterns.slot
    pattern = np.repeat(np.arange(len(attraction)), np.diff(patterns.indptr))
    a, g = attraction[pattern], examination[slot]
    click = np.minimum(a * g, 1.0 - LEAST)
    weight = patterns.n / (click * (1.0 - click))
    spread = np.maximum(attraction * (1 - attraction), 1e-12)
    of_pair = np.bincount(pattern, weight * g**2, len(attraction)) + prior[1] / spread
    shape = (len(attraction), n_slots)
    cross = csr_array((patterns.n / (1.0 - click), slot, patterns.indptr), shape)
    schur = np.diag(np.bincount(slot, patterns.times[pattern] * weight * a**2, n_slots))
    schur -= (cross.T @ cross.multiply((patterns.times / of_pair)[:, None]).tocsr()).toarray()
    free = linked[1:]
    covariance = np.zeros((n_slots, n_slots))
    covariance[np.ix_(free, free)] = np.linalg.pinv(schur[np.ix_(free, free)], hermitian=True)
    slot_se = np.full(n_slots, np.nan)
    slot_se[linked] = np.sqrt(np.maximum(covariance.diagonal()[linked], 0.0))
    variance = 1 / of_pair
    for start in range(0, len(attraction), PATTERNS_AT_A_TIME):
        rows = slice(start, start + PATTERNS_AT_A_TIME)
        part = cross[rows]
        through_slots = np.asarray(part.multiply(part @ covariance).sum(axis=1)).ravel()
        variance[rows] += through_slots / of_pair[rows] ** 2
    return np.sqrt(variance), slot_se
