"""Lists that can be cut after any document: what is shown at a threshold, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rankwise.decisions.scored_lists import ScoredLists
from rankwise.groups import QueryGroups
from rankwise.metrics import parse
from rankwise.metrics.scored import discounts
from rankwise.rankers.calibration import fit_logistic, platt_targets
from rankwise.typing import Float64Array, Int64Array

POLICIES = ("fixed_k", "score_floor", "below_top", "standardized", "probability")
# Columns of the model of probabilities, and its intercept.
MODEL_COLUMNS = ("top", "below_top", "standardized", "rank", "intercept")
# Digits of computed stop values: sums differ by their order.
DIGITS = 9
_N_FOLDS, _N_THRESHOLDS = 4, 60


@dataclass(frozen=True, eq=False)
class ListCuts:
    """Lists of some queries that can be cut after any row.

    ``values`` and ``recall`` of a row are those of its list if it is cut after this row.
    """

    indptr: Int64Array
    stops: Float64Array
    values: Float64Array
    recall: Float64Array

    def shown(self, threshold: float) -> Int64Array:
        """Documents to show per list: rows with stop values up to the threshold, at least one."""
        n_below = np.append(0, np.cumsum(self.stops <= threshold))
        return np.clip(np.diff(n_below[self.indptr]), 1, None).clip(max=np.diff(self.indptr))

    def at(self, column: Float64Array, shown: Int64Array) -> Float64Array:
        """Values of the lists, none of them empty, if so many documents are shown."""
        return column[self.indptr[:-1] + shown - 1]

    def thresholds(self) -> Float64Array:
        """Some thresholds, ascending, that show from one document per list to all."""
        known = np.sort(self.stops[np.isfinite(self.stops)])
        n = len(self.indptr) - 1
        counts = np.geomspace(n, max(len(known), n), _N_THRESHOLDS).astype(int)
        return np.unique(known[counts.clip(max=len(known)) - 1]) if len(known) else np.zeros(1)


@dataclass(frozen=True, eq=False)
class JudgedCuts:
    """Judged lists, and their measure and recall if they are cut after each row.

    A ``part`` of the ``queries`` that count chooses policies and thresholds for the ``rest``.
    """

    lists: ScoredLists
    measure: str
    values: Float64Array
    recall: Float64Array
    queries: Int64Array
    part: Int64Array
    rest: Int64Array
    coefficients: Float64Array | None

    def cuts(self, policy: str, queries: Int64Array) -> ListCuts:
        """Lists of some queries, ascending, with the stop values of a policy."""
        stops = stop_values(self.lists, policy, self.measure, self.coefficients)
        return self._of(queries, stops)

    def held_out_cuts(self, queries: Int64Array, rel: float) -> ListCuts:
        """The same for probabilities from models that were fitted on other queries."""
        stops = np.zeros(len(self.values))
        for fold in range(_N_FOLDS):
            is_out = np.arange(len(queries)) % _N_FOLDS == fold
            coefficients = fit_probability(self.lists, queries[~is_out], rel)
            rows = _rows_of(self.lists, queries[is_out])
            stops[rows] = stop_values(self.lists, "probability", self.measure, coefficients)[rows]
        return self._of(queries, stops)

    def _of(self, queries: Int64Array, stops: Float64Array) -> ListCuts:
        rows = _rows_of(self.lists, queries)
        indptr = np.append(0, np.cumsum(self.lists.sizes[queries]))
        return ListCuts(indptr, stops[rows], self.values[rows], self.recall[rows])


def _rows_of(lists: ScoredLists, queries: Int64Array) -> Int64Array:
    return np.flatnonzero(np.repeat(np.bincount(queries, minlength=len(lists)), lists.sizes))


def ranks_of(lists: ScoredLists) -> Int64Array:
    return np.arange(len(lists.scores)) - np.repeat(lists.indptr[:-1], lists.sizes) + 1


def measure_cuts(lists: ScoredLists, measure: str, rel: float) -> Float64Array:
    """Measure of each list if it is cut after each row; NaN for queries that do not count."""
    assert lists.y is not None
    rank, query = ranks_of(lists), np.repeat(np.arange(len(lists)), lists.sizes)
    missed = np.empty((0, 2)) if lists.missed is None else lists.missed
    grades = np.append(lists.y, missed[:, 1])
    queries = np.append(query, missed[:, 0].astype(np.int64))
    if measure == "nDCG":
        groups, totals = QueryGroups.from_qid(queries, len(queries)), np.zeros(len(lists))
        totals[groups.ids] = parse("DCG").per_query(grades, grades, groups)
        gains, discount = np.exp2(lists.y) - 1.0, discounts("log2", int(lists.sizes.max(initial=1)))
    else:
        gains, discount = (lists.y >= rel).astype(np.float64), np.ones(len(rank))
        totals = np.bincount(queries, grades >= rel, len(lists))
    # Equal scores of a list have no order, so that each has their mean gain.
    is_new = (rank == 1) | np.append(True, np.diff(lists.scores) != 0)
    tied = np.cumsum(is_new) - 1
    gains = (np.bincount(tied, gains) / np.bincount(tied))[tied] * discount[rank - 1]
    found = np.append(0.0, np.cumsum(gains))
    found = found[1:] - np.repeat(found[lists.indptr[:-1]], lists.sizes)
    if measure == "precision":
        return found / rank
    return (found / np.where(totals > 0, totals, np.nan)[query]).clip(max=1.0)


def _standardise(lists: ScoredLists) -> tuple[Float64Array, Float64Array]:
    """Top score of the list, and standardised score, of each row; NaN if all scores are equal."""
    s, sizes = lists.scores, lists.sizes[lists.sizes > 0]
    starts = lists.indptr[:-1][lists.sizes > 0]
    top = np.repeat(s[starts], sizes)
    centred = s - np.repeat(np.add.reduceat(s, starts) / sizes, sizes)
    spread = np.repeat(np.sqrt(np.add.reduceat(centred**2, starts) / sizes), sizes)
    differs = np.repeat(s[starts] > s[starts + sizes - 1], sizes)
    return top, np.divide(centred, spread, where=differs, out=np.full(len(s), np.nan))


def _model_columns(lists: ScoredLists) -> Float64Array:
    top, z = _standardise(lists)
    return np.column_stack([top, lists.scores - top, np.nan_to_num(z), ranks_of(lists) ** -0.5])


def fit_probability(lists: ScoredLists, queries: Int64Array, rel: float) -> Float64Array:
    """Slopes of the columns and intercept of a logistic model; it does not ascend in a list."""
    rows = _rows_of(lists, queries)
    y = (lists.y[rows] >= rel).astype(np.float64)  # type: ignore[index]
    weight = np.ones(len(rows))
    columns, ascends = _model_columns(lists)[rows], [False, True, True, True]
    slopes, intercept = fit_logistic(columns, platt_targets(y, weight), weight, ascends, 1.0)
    return np.append(slopes, intercept)


def stop_values(
    lists: ScoredLists, policy: str, measure: str, coefficients: Float64Array | None
) -> Float64Array:
    """Number of each row that does not descend within a list: rows up to a threshold are shown."""
    if policy == "fixed_k":
        return ranks_of(lists).astype(np.float64)
    if policy == "score_floor":
        return -lists.scores
    if policy == "below_top":
        return _standardise(lists)[0] - lists.scores
    if policy == "standardized":
        return np.round(np.nan_to_num(-_standardise(lists)[1], nan=-np.inf), DIGITS)
    assert coefficients is not None
    log_odds = _model_columns(lists) @ coefficients[:-1] + coefficients[-1]
    p, stops = expit(log_odds.clip(-700.0, 700.0)), np.empty(len(log_odds))
    for rows in lists:
        above = np.cumsum(p[rows])
        if measure == "precision":
            stops[rows] = 1.0 - above / np.arange(1, len(above) + 1)
        elif len(above):
            stops[rows] = (above - p[rows]) / above[-1]
    return np.round(stops, DIGITS)
