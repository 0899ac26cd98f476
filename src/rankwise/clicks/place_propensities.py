"""Examination by place, relative to the top: from randomised traffic, moved pairs, or a model.

References
----------
- Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM
  2017 (randomised swaps).
- Agarwal et al., "Estimating position bias without intrusive interventions", WSDM 2019
  (intervention harvesting).
- Wang et al., "Position bias estimation for unbiased learning to rank in personal search",
  WSDM 2018 (EM).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri, stdtrit

from rankwise.clicks.simulation import examination_at
from rankwise.clicks.summary import Cells, count_cells, find_components, name_places
from rankwise.metrics.statistics.stratified import check_level
from rankwise.runtime.shown_text import join_lines
from rankwise.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from rankwise.clicks.log import ClickLog

METHODS = ("random", "harvest", "em")
# With fewer clusters, intervals from the spread between them are too short.
FEW_QUERIES = 30
MOST_NEWTON_STEPS = 100


@dataclass(frozen=True, eq=False)
class Propensities:
    """Examination of places, relative to the topmost place shown.

    Attributes
    ----------
    place : ndarray of shape (n_places,), int64
        Places that were shown.
    examination, low, high : ndarray of shape (n_places,), float64
        Estimate and interval; 1 at the topmost place. NaN: not determined.
    method : str
    level : float
    notes : list of str
    """

    place: Int64Array
    examination: Float64Array
    low: Float64Array
    high: Float64Array
    method: str
    level: float
    notes: list[str] = field(default_factory=list)

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
    """Estimate how often users look at each place, relative to the top.

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
        - "em": ``examination_`` of ``ClickModel("pbm")`` (Wang et al. 2018).
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
        If nothing was clicked, or if clicked pairs do not link all places with clicks: the message
        names the groups of places that are linked.

    Notes
    -----
    Intervals of "random" and "harvest" are those of resampling whole queries, to first order: t
    intervals of log g from the spread of the queries' derivatives (cluster-robust). Those of "em"
    come from the information matrix and take impressions as independent: with 300 pairs near their
    places, 95 % intervals held the truth in 93, 93, 95 and 96 % at 10, 33, 100 and 333 impressions
    per pair (:doc:`/clicks_explained`). Where pairs are rare and some are clicked nearly always, EM
    keeps a bias upwards that its intervals leave out; "harvest" does not. All methods assume that
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
    if method == "em":
        return _by_em(log, shown, level)
    notes: list[str] = []
    if method == "random":
        if arm is None:
            notes.append("no arm was named: right only if all of the log is randomised")
        spread = _spread_of_rates(log, cells, n_slots)
        rate = by_place / np.maximum(np.bincount(cells.slot, cells.n, n_slots), 1e-300)
        eta = np.log(rate[known] / rate[known[0]])
    else:
        check_linked(cells, n_slots)
        eta, spread = _harvest(log, cells, known)
    if len(known) < len(shown):
        silent = np.setdiff1d(shown, known) + 1
        notes.append(f"no clicks at places {name_places(silent)}: examination 0, no upper bound")
    n_queries = log.query.n_present
    if n_queries < FEW_QUERIES:
        notes.append(f"intervals rest on only {n_queries} queries and are too short")
    examination = np.zeros(len(shown))
    low, high = np.zeros(len(shown)), np.full(len(shown), np.nan)
    at = np.isin(shown, known)
    se = _relative_errors(spread, known, n_queries)
    t = stdtrit(max(n_queries - 1, 1), (1 + level) / 2)
    examination[at] = np.exp(eta)
    low[at], high[at] = np.exp(eta - t * se), np.exp(eta + t * se)
    return Propensities(shown + 1, examination, low, high, method, level, notes)


def examination_of(log: ClickLog, given: Any) -> Float64Array:
    """Examination of the places 1, 2, … of a log, from the result of propensities or an array.

    Raises
    ------
    ValueError
        If a place that was shown has no finite examination >= 0, or all have 0.
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
    """Raise ValueError unless clicked pairs link all places that have clicks."""
    clicks = np.bincount(cells.pair, cells.clicks)
    at_place = np.bincount(cells.slot, cells.clicks, n_slots)
    # A place without clicks links nothing: its examination is 0 with or without it.
    kept = (clicks[cells.pair] > 0) & (at_place[cells.slot] > 0)
    parts = find_components(Cells(*(column[kept] for column in cells)), n_slots)
    if len(parts) > 1:
        groups = " | ".join(name_places(part) for part in parts)
        raise ValueError(
            "clicked pairs must link all places, but these groups of places have no pair in "
            f"common: {groups}. Randomise a part of the traffic, or keep one group of places."
        )


def _harvest(
    log: ClickLog, cells: Cells, known: Int64Array
) -> tuple[Float64Array, tuple[Float64Array, Float64Array]]:
    """Log examination of the known places, and its derivatives by query with the information."""
    clicked = np.bincount(cells.pair, cells.clicks)
    kept = (clicked[cells.pair] > 0) & np.isin(cells.slot, known)
    pair_of, pair = np.unique(cells.pair[kept], return_inverse=True)
    slot = np.searchsorted(known, cells.slot[kept])
    n, c, total = cells.n[kept], cells.clicks[kept], clicked[pair_of]
    shape = (len(pair_of), len(known))
    indptr = np.searchsorted(pair, np.arange(len(pair_of) + 1))
    eta = np.zeros(len(known))
    residual, information = c, np.eye(len(known))
    for _ in range(MOST_NEWTON_STEPS):
        exposure = n * np.exp(eta[slot])
        share = exposure / np.bincount(pair, exposure)[pair]
        residual = c - total[pair] * share
        gradient = np.bincount(slot, residual, len(known))
        table = csr_array((share, slot, indptr), shape)
        information = np.diag(np.bincount(slot, total[pair] * share, len(known)))
        information -= (table.T @ table.multiply(total[:, None]).tocsr()).toarray()
        step = np.zeros(len(known))
        if len(known) > 1:
            step[1:] = np.linalg.solve(information[1:, 1:], gradient[1:])
        # The likelihood is concave; long first steps may overshoot its exponentials.
        eta += step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-12:
            break
    query = log.pairs.query[pair_of][pair].astype(np.int64)
    return eta, (_sum_by_query(query, slot, residual, len(known)), information)


def _spread_of_rates(
    log: ClickLog, cells: Cells, n_slots: int
) -> tuple[Float64Array, Float64Array]:
    """Derivatives of log click rates by query, and the information of the places with clicks."""
    n = np.bincount(cells.slot, cells.n, n_slots)
    clicks = np.bincount(cells.slot, cells.clicks, n_slots)
    rate = clicks / np.maximum(n, 1e-300)
    residual = cells.clicks - rate[cells.slot] * cells.n
    known = np.flatnonzero(clicks > 0)
    kept = np.isin(cells.slot, known)
    slot = np.searchsorted(known, cells.slot[kept])
    query = log.pairs.query[cells.pair[kept]].astype(np.int64)
    return _sum_by_query(query, slot, residual[kept], len(known)), np.diag(clicks[known])


def _sum_by_query(
    query: Int64Array, slot: Int64Array, residual: Float64Array, n_slots: int
) -> Float64Array:
    rows, query = np.unique(query, return_inverse=True)
    return np.bincount(query * n_slots + slot, residual, len(rows) * n_slots).reshape(-1, n_slots)


def _relative_errors(
    spread: tuple[Float64Array, Float64Array], known: Int64Array, n_queries: int
) -> Float64Array:
    """Standard errors of log g relative to the first place, from the spread between queries."""
    scores, information = spread
    if n_queries < 2:
        return np.full(len(known), np.nan)
    meat = scores.T @ scores * n_queries / (n_queries - 1)
    contrast = np.eye(len(known)) - np.eye(len(known))[[0]]
    # Both forms leave the level of log g open; contrasts with the first place do not need it.
    bread = contrast @ np.linalg.pinv(information, hermitian=True)
    return np.sqrt(np.maximum((bread @ meat @ bread.T).diagonal(), 0.0))


def _by_em(log: ClickLog, shown: Int64Array, level: float) -> Propensities:
    from rankwise.clicks.click_model import ClickModel

    model = ClickModel("pbm").fit(log)
    g, se = model.examination_[shown], model.examination_se_[shown]
    factor = np.exp(ndtri((1 + level) / 2) * se / g)
    return Propensities(shown + 1, g, g / factor, g * factor, "em", level, list(model.notes_))
