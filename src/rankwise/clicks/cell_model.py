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
from scipy.sparse import csr_array

from rankwise.clicks.acceleration import Maximum, maximize
from rankwise.clicks.summary import Cells, find_components
from rankwise.kernels.click_cells import run_em_step
from rankwise.typing import Float64Array, Int64Array

# Pairs whose standard errors are computed at a time: their rows of the covariance are dense.
PAIRS_AT_A_TIME = 1 << 16


class CellFit(NamedTuple):
    """Parameters on the scale of the first slot, whose examination is 1, with standard errors.

    Standard errors are NaN for slots that no pair links to the first one.
    """

    attraction: Float64Array
    examination: Float64Array
    attraction_se: Float64Array
    examination_se: Float64Array
    maximum: Maximum


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
    indptr = np.searchsorted(cells.pair, np.arange(n_pairs + 1))
    pseudo = np.array(prior)

    def step(x: Float64Array) -> tuple[Float64Array, float]:
        new, totals = np.empty(n_pairs + n_slots), np.empty((2, n_slots))
        value = run_em_step(
            indptr, cells.slot, cells.n, cells.clicks, pseudo, x[:n_pairs], x[n_pairs:],
            new[:n_pairs], totals,
        )  # fmt: skip
        new[n_pairs:] = totals[0] / totals[1]
        return np.clip(new, 1e-9, 1.0 - 1e-9), value

    start = np.full(n_pairs + n_slots, prior[0] / prior[1])
    # A gain of 1e-8 an impression is far below what chance makes of the likelihood.
    best = maximize(step, start, tol=tol * cells.n.sum(), max_iter=max_iter, accelerate=accelerate)
    top = best.x[n_pairs]
    attraction, examination = best.x[:n_pairs] * top, best.x[n_pairs:] / top
    errors = _standard_errors(cells, attraction, examination, indptr, prior)
    return CellFit(attraction, examination, *errors, best)


def _standard_errors(
    cells: Cells,
    attraction: Float64Array,
    examination: Float64Array,
    indptr: Int64Array,
    prior: tuple[float, float],
) -> tuple[Float64Array, Float64Array]:
    """Roots of the diagonal of the inverse information; the first slot is fixed.

    The information of the attractions is diagonal, so it is eliminated (Schur complement): a matrix
    of the slots is left.
    """
    a, g = attraction[cells.pair], examination[cells.slot]
    click = np.minimum(a * g, 1.0 - 1e-9)
    weight = cells.n / (click * (1.0 - click))
    n_slots = len(examination)
    spread = np.maximum(attraction * (1 - attraction), 1e-12)
    of_pair = np.bincount(cells.pair, weight * g**2, len(attraction)) + prior[1] / spread
    cross = csr_array((cells.n / (1.0 - click), cells.slot, indptr), (len(attraction), n_slots))
    schur = np.diag(np.bincount(cells.slot, weight * a**2, n_slots))
    schur -= (cross.T @ cross.multiply(1 / of_pair[:, None]).tocsr()).toarray()
    linked = find_components(cells, n_slots)
    free = next(part - 1 for part in linked if 1 in part)[1:]
    covariance = np.zeros((n_slots, n_slots))
    covariance[np.ix_(free, free)] = np.linalg.pinv(schur[np.ix_(free, free)], hermitian=True)
    slot_se = np.full(n_slots, np.nan)
    slot_se[free] = np.sqrt(np.maximum(covariance.diagonal()[free], 0.0))
    slot_se[0] = 0.0
    variance = 1 / of_pair
    for start in range(0, len(attraction), PAIRS_AT_A_TIME):
        part = cross[start : start + PAIRS_AT_A_TIME]
        through_slots = np.asarray(part.multiply(part @ covariance).sum(axis=1)).ravel()
        variance[start : start + PAIRS_AT_A_TIME] += (
            through_slots / of_pair[start : start + PAIRS_AT_A_TIME] ** 2
        )
    return np.sqrt(variance), slot_se
