"""Relative examination by place: from randomised traffic, moved pairs, or a model.

References
----------
- Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM
  2017 (randomised swaps).
- Agarwal et al., "Estimating position bias without intrusive interventions", WSDM 2019
  (intervention harvesting).
- Wang et al., "Position bias estimation for unbiased learning to rank in personal search",
  WSDM 2018 (position-based model by EM).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import ndtri, stdtrit

from rankwise.clicks.log import (
    Cells,
    count_cells,
    find_components,
    name_groups,
    name_places,
    note_unit,
)
from rankwise.clicks.model_fits import UNIT_ERROR, choose_unit, deviate_from, maximize_conditional
from rankwise.clicks.simulation import examination_at
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.messages import join_lines
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog

METHODS = ("random", "harvest", "em")
# With fewer clusters, intervals from the spread between them are too short.
FEW_QUERIES = 30
WIDEST = 100.0  # logarithm of the factor between an estimate and an end of its interval


@dataclass(frozen=True, eq=False)
class Propensities:
    """Examination of places, relative to one of them.

    Attributes
    ----------
    place : ndarray of shape (n_places,), int64
        Places that were shown.
    examination, low, high : ndarray of shape (n_places,), float64
        Estimate and interval; all 1 at the place ``unit``. NaN: not determined.
    method : str
    level : float
    notes : list of str
    unit : int
        The topmost place with clicks. If another is examined significantly more often, then the
        most examined place, and a note says so.
    """

    place: Int64Array
    examination: Float64Array
    low: Float64Array
    high: Float64Array
    method: str
    level: float
    notes: list[str] = field(default_factory=list)
    unit: int = 1

    def __str__(self) -> str:
        lines = [f"place  examination  {self.level:.0%} interval"]
        for place, g, low, high in zip(
            self.place, self.examination, self.low, self.high, strict=True
        ):
            lines.append(f"{place:5d}  {g:11.4f}  {low:.4f} to {high:.4f}")
        return join_lines(lines + [f"note: {note}" for note in self.notes])


def propensities(
    log: ClickLog,
    method: Literal["random", "harvest", "em"] = "harvest",
    *,
    arm: str | None = None,
    level: float = 0.95,
) -> Propensities:
    """Estimate how often users look at each place, relative to the top one.

    Parameters
    ----------
    log : ClickLog
    method : {"random", "harvest", "em"}
        - "random": ratio of click rates. Right only if documents were put at places at random
          (Joachims et al. 2017).
        - "harvest": from pairs that were shown at several places. The clicks C_p of pair p fall on
          its places as ``C_pk ~ n_pk g_k / sum_j n_pj g_j``; g maximises the product of these
          multinomial likelihoods over all pairs. Its derivative has mean 0 whatever the relevance
          of the pairs, so few impressions per pair do no harm (Agarwal et al. 2019).
        - "em": ``examination_`` of ``ClickModel("pbm")``, the model that Wang et al. (2018) fit by
          EM. The maximum is that of "harvest", with the prior of the model for every place.
    arm : str, optional
        Arm of the log to use, such as its randomised branch.
    level : float in (0, 1)
        Level of the intervals.

    Returns
    -------
    Propensities

    Raises
    ------
    ValueError
        If nothing was clicked. For "harvest" and "em", also if clicks do not go both ways between
        any two groups of places: then some ratio of examinations has no finite estimate. The
        message names the groups.

    Notes
    -----
    Places without clicks have examination 0, no upper bound, and a note.

    Intervals of "random" and "harvest" are those of resampling whole queries, to first order: t
    intervals of log g from the spread of the queries' derivatives (cluster-robust). They are never
    shorter than independent clicks make them, since a place that few queries link has hardly any
    spread. Those of "em" take impressions as independent. :doc:`/clicks_explained` reports how
    often intervals contain the truth, from 1.5 impressions per pair on. All methods assume that
    examination depends on the place alone.

    Examples
    --------
    >>> from rankwise.clicks import ClickLog, propensities
    >>> log = ClickLog.from_columns(
    ...     ["q"] * 20 + ["r"] * 20, ["d"] * 40, ([1] * 10 + [2] * 10) * 2,
    ...     ([1] * 8 + [0] * 2 + [1] * 4 + [0] * 6) + ([1] * 2 + [0] * 8 + [1] + [0] * 9),
    ... )
    >>> propensities(log).examination.round(2).tolist()
    [1.0, 0.5]
    """
    check_level(level)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if arm is not None:
        log = log.take_arm(arm)
    cells = count_cells(log)
    n_slots = log.n_places
    if not cells.clicks.any():
        raise ValueError("the log holds no click, so it tells nothing of examination.")
    by_place = np.bincount(cells.slot, cells.clicks, n_slots)
    shown = np.unique(cells.slot)
    known = shown[by_place[shown] > 0]
    notes: list[str] = []
    if method != "random":
        check_linked(cells, n_slots)
    elif arm is None:
        notes.append("no arm was named: right only if all of the log is randomised")
    if len(known) < len(shown):
        silent = np.setdiff1d(shown, known) + 1
        notes.append(f"no clicks at places {name_places(silent)}: examination 0, no upper bound")
    if method == "em":
        from rankwise.clicks.click_model import ClickModel

        model = ClickModel("pbm").fit(log)
        g, se = model.examination_[known], model.examination_se_[known]
        spread, unit = ndtri((1 + level) / 2) * se / g, int(np.argmin(se))
        notes += [note for note in model.notes_ if "no clicks at" not in note]
    else:
        n_queries = log.query.n_present
        if n_queries < FEW_QUERIES:
            notes.append(f"intervals rest on only {n_queries} queries and are too short")
        fit = _rates if method == "random" else _harvest
        eta, by_query, by_impression = fit(log, cells, known)

        def width(unit: int, tail: float) -> Float64Array:
            t, z = stdtrit(max(n_queries - 1, 1), 1 - tail), ndtri(1 - tail)
            each = deviate_from(unit, by_query), deviate_from(unit, by_impression)
            return np.maximum(t * each[0], z * each[1])

        unit = choose_unit(eta, width(0, UNIT_ERROR / (2 * len(known))), np.arange(len(known)))
        g, spread = np.exp(eta - eta[unit]), width(unit, (1 - level) / 2)
        if known[unit] != shown[0]:
            notes.append(note_unit(f"place {known[unit] + 1}", f"place {shown[0] + 1}"))
    spread = np.minimum(spread, WIDEST)
    examination = np.zeros(len(shown))
    low, high = np.zeros(len(shown)), np.full(len(shown), np.nan)
    at = np.isin(shown, known)
    examination[at], low[at], high[at] = g, g * np.exp(-spread), g * np.exp(spread)
    unit = int(known[unit]) + 1
    return Propensities(shown + 1, examination, low, high, method, level, notes, unit)


def examination_of(log: ClickLog, given: Any) -> Float64Array:
    """Examination of the places 1, 2, … of a log, from the result of propensities or an array.

    It must be finite and >= 0 at every place that was shown, and not 0 at all of them.
    """
    if given is None:
        given = propensities(log, "harvest")
    if hasattr(given, "examination"):
        table = np.full(log.n_places, np.nan)
        known = given.place <= log.n_places
        table[given.place[known] - 1] = given.examination[known]
    else:
        table = np.asarray(given, dtype=np.float64)
        if table.ndim != 1 or not len(table):
            raise ValueError(f"propensities must be one number per place, got {given!r}.")
        if len(table) < log.n_places:
            raise ValueError(
                f"propensities must cover {log.n_places} places, got {len(table)} numbers."
            )
    shown = np.unique(log.place)
    values = examination_at(shown, table)
    if not (np.isfinite(values) & (values >= 0)).all():
        place = shown[~(np.isfinite(values) & (values >= 0))][0]
        raise ValueError(f"propensities must be numbers >= 0, but place {place} has none.")
    if not values.any():
        raise ValueError("propensities must be > 0 at some place that was shown, but all are 0.")
    return table


def check_linked(cells: Cells, n_slots: int) -> None:
    """Raise ValueError unless clicks go both ways between all places that have clicks."""
    parts = find_components(cells, n_slots)
    if len(parts) > 1:
        raise ValueError(
            "clicks must go both ways between all places: pairs clicked at one place and shown at "
            f"the other. These groups of places lack that: {name_groups(parts)}. Randomise a part "
            "of the traffic, keep the rows of one group of places, or pass propensities that you "
            "know."
        )


def _harvest(
    log: ClickLog, cells: Cells, known: Int64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Log examination of the known places; its covariances by queries and by impressions."""
    cells = Cells(*(column[np.isin(cells.slot, known)] for column in cells))
    slot = np.searchsorted(known, cells.slot)
    pairs = np.ones(len(log.pairs.query))
    everywhere = [np.arange(1, len(known) + 1)]
    cells = cells._replace(slot=slot)
    found = maximize_conditional(cells, pairs, everywhere, len(known), prior=0.0)
    if not found.converged:
        raise ValueError(
            "the examination of places has no finite estimate in double precision: weights of "
            "clicks are too different. Scale the weights, or leave out rows of tiny weight."
        )
    robust = _cover_queries(log, cells.pair, slot, found.residual, found.bread)
    return found.eta, robust, found.covariance


def _rates(
    log: ClickLog, cells: Cells, known: Int64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Log click rates of the known places; their covariances by queries and by impressions."""
    kept = np.isin(cells.slot, known)
    slot = np.searchsorted(known, cells.slot[kept])
    n, clicks = (np.bincount(slot, column[kept]) for column in (cells.n, cells.clicks))
    residual = cells.clicks[kept] - (clicks / n)[slot] * cells.n[kept]
    robust = _cover_queries(log, cells.pair[kept], slot, residual, np.diag(1 / clicks))
    return np.log(clicks / n), robust, np.diag((1 - clicks / n) / clicks)


def _cover_queries(
    log: ClickLog, pair: Int64Array, slot: Int64Array, residual: Float64Array, bread: Float64Array
) -> Float64Array:
    """Covariance from the spread of derivatives between queries; NaN for one query."""
    n_queries, n_slots = log.query.n_present, len(bread)
    if n_queries < 2:
        return np.full(bread.shape, np.nan)
    rows, query = np.unique(log.pairs.query[pair], return_inverse=True)
    sums = np.bincount(query * n_slots + slot, residual, len(rows) * n_slots)
    scores = sums.reshape(-1, n_slots) @ bread
    return scores.T @ scores * (n_queries / (n_queries - 1))
