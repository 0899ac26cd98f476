"""Whether new rows are distributed as those that a model was fitted on, feature by feature."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chndtr, chndtrinc, fdtrc, stdtrit
from scipy.stats import norm

from rankwise.datasets.row_summary import (
    FEWEST_QUERIES,
    ColumnSummary,
    RowSummary,
    bin_values,
    design_effect,
    sample_columns,
    scores_at_ranks,
)
from rankwise.groups import QueryGroups
from rankwise.metrics.significance import holm
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import wrap_frame
from rankwise.runtime.messages import join_lines, setting
from rankwise.runtime.result import Result, columns_of
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

# Bins of fewer rows than this in either sample are tested together with their neighbours; rows of
# a query that are alike count as one.
_FEWEST = 8.0
_MOST_NAMED = 8
SCORES = "scores of the model"


@dataclass(frozen=True)
class ColumnDrift(Result):
    """What moved in one column.

    ``psi`` is the population stability index, minus what samples of this size show by chance.
    ``low`` and ``high`` are its 95 % interval, which accounts for rows of a query being alike.
    Common reading: below .1 little, above .25 much. NaN if nothing can be compared. ``p_value`` is
    that of equal distributions, corrected for the number of columns (Holm); ``has_moved`` tells
    whether it is below ``1 - confidence_level``.

    ``missing_before`` and ``missing_now`` are shares of missing values, and ``outside`` is the
    fraction of the new numbers outside the range of the training rows. ``new_categories`` are
    those that the model has never seen.
    """

    name: str
    psi: float
    low: float
    high: float
    p_value: float
    has_moved: bool
    missing_before: float
    missing_now: float
    outside: float
    new_categories: tuple[str, ...]


@dataclass(frozen=True)
class DriftReport(Result):
    """Result of :func:`find_drift`; ``print`` shows what moved.

    Attributes
    ----------
    columns : list of ColumnDrift
        Features, the most moved first, and the scores of the model, if it was given.
    notes : list of str
        What has never been seen before: missing values, categories, sizes of queries.
    confidence_level : float
    """

    _drawn = "psi"
    _derived = ("ok",)

    columns: list[ColumnDrift]
    notes: list[str]
    confidence_level: float

    @property
    def ok(self) -> bool:
        """Whether no column has moved."""
        return not any(column.has_moved for column in self.columns)

    def _columns(self) -> dict[str, Any]:
        return columns_of(self.columns, ColumnDrift)

    def _first_rows(self, n: int) -> tuple[dict[str, Any], int]:
        columns, n_rows = super()._first_rows(n)
        return columns | {"has_moved": ["yes" if c else "no" for c in columns["has_moved"]]}, n_rows

    def _heading(self) -> str:
        n_moved = sum(column.has_moved for column in self.columns)
        return (
            f"{n_moved} of {len(self.columns)} columns have moved (Rao-Scott tests, Holm, "
            f"p < {1 - self.confidence_level:g})."
        )

    def __str__(self) -> str:
        moved = [column for column in self.columns if column.has_moved]
        lines = [self._heading()]
        width = max((len(column.name) for column in moved), default=0)
        if moved:
            lines.append(f"{'':{width}}    psi   interval           p  missing")
        for column in moved:
            p = "< 0.001" if column.p_value < 0.001 else f"{column.p_value:.3f}"
            interval = f"{column.low:5.3f} to {column.high:5.3f}"
            missing = f"{column.missing_before:.3f} to {column.missing_now:.3f}"
            lines.append(f"{column.name:{width}}  {column.psi:5.3f}  {interval}  {p:>7}  {missing}")
        return join_lines([*lines, *(f"note: {note}" for note in self.notes)])


@names_its_class
def find_drift(
    before: RowSummary,
    X: Any,
    qid: ArrayLike | QueryGroups | None = None,
    *,
    estimator: Any = None,
    confidence_level: float = 0.95,
    random_state: Seed = 0,
) -> DriftReport:
    """Compare new rows with the summary of the rows of a model.

    Parameters
    ----------
    before : RowSummary or dict
        Result of :func:`summarize_rows`, or ``describe(path)["rows"]`` of a model that was saved
        with one.
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        New rows; the columns of a frame are matched by name, others by their order.
    qid : array-like of shape (n_samples,), optional
        Query of each row. None: rows count as independent, and neither sizes of queries nor
        scores by rank are compared.
    estimator : estimator, optional
        Fitted ranker. Its scores are also compared if the summary contains scores.
    confidence_level : float in (0, 1)
        Joint confidence level of the tests of all columns.
    random_state : int, RandomState, Generator or None, default=0
        Seed for the choice of queries, as in :func:`summarize_rows`.

    Returns
    -------
    DriftReport

    Raises
    ------
    ValueError
        If a column is missing, or contains categories instead of numbers.

    Notes
    -----
    The fractions of the rows per bin are compared by Rao and Scott's second-order test [1]_ in its
    F form, because rows of a query are similar. Bins with fewer than eight rows, where equal rows
    of a query count once, are tested together with their neighbours. The interval inverts the
    noncentral chi-square distribution. If the rows come from the same source, the probability of
    any alarm is about ``1 - confidence_level``. ``python -m benchmarks.interval_errors find_drift``
    finds up to .09 instead of .05 with 12 to 30 queries, and .06 with 80. With fewer than ten
    queries, nothing is tested.

    A number that at least a tenth of the rows have, such as 0, has its own bin. So does a category
    that is clearly more frequent than the rare ones. The rare categories are compared in 16 groups
    by a hash of their names, so a shift among them may go unnoticed.

    .. [1] Rao & Scott, "On chi-squared tests for multiway contingency tables with cell proportions
       estimated from survey data", Annals of Statistics 12(1):46-60, 1984.

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise.datasets import summarize_rows
    >>> rng = np.random.default_rng(0)
    >>> before = summarize_rows(rng.random((2000, 2)))
    >>> report = find_drift(before, rng.random((1000, 2)) + [0.0, 0.3])
    >>> [(column.name, column.has_moved) for column in report.columns]
    [('1', True), ('0', False)]
    """
    if isinstance(before, Mapping):
        before = RowSummary.from_dict(before)
    if not isinstance(before, RowSummary):
        raise TypeError(
            f"before must be a RowSummary, got {type(before).__name__}. Pass a result of "
            "summarize_rows."
        )
    names = None if wrap_frame(X) is not None else list(before.columns)
    columns, scores, groups, _ = sample_columns(X, qid, estimator, random_state, names)
    _check_columns(before, columns)
    few = [n for n in (before.n_queries, groups.n_queries) if n < FEWEST_QUERIES]
    query_of_row = groups.codes()
    compared = {name: (before.columns[name], columns[name]) for name in before.columns}
    if scores is not None and before.scores is not None:
        compared[SCORES] = (before.scores, scores)
    found = [
        _compare(name, column, values, query_of_row, before)
        for name, (column, values) in compared.items()
    ]
    corrected = holm([math.nan if few else column.p_value for column in found])
    moved = [
        ColumnDrift(**{**vars(c), "p_value": float(p), "has_moved": bool(p < 1 - confidence_level)})
        for c, p in zip(found, corrected, strict=True)
    ]
    moved.sort(key=lambda c: (not c.has_moved, -c.psi if not math.isnan(c.psi) else math.inf))
    sizes = np.diff(groups.indptr)
    notes = _notes(moved, before, sizes, qid is not None)
    if few:
        notes.insert(
            0,
            f"nothing is tested: {min(few)} queries say too little of how queries differ (at least "
            f"{FEWEST_QUERIES} are needed)",
        )
    if qid is None and before.n_queries < before.n_rows:
        notes.insert(
            0,
            "the rows name no queries, and are tested as independent ones; those of a query "
            f"resemble each other, so chance alone may look like a move. Pass {setting('qid')}",
        )
    if scores is not None and qid is not None and not few:
        queries = min(before.n_queries, groups.n_queries)
        notes += _notes_on_ranks(before, scores_at_ranks(scores, groups), confidence_level, queries)
    return DriftReport(moved, notes, confidence_level)


def _check_columns(before: RowSummary, columns: dict[str, Any]) -> None:
    missing = [name for name in before.columns if name not in columns]
    if missing:
        raise ValueError(
            f"the rows lack {len(missing)} of {len(before.columns)} columns of the model: "
            f"{', '.join(map(repr, missing[:_MOST_NAMED]))}. Pass rows with these columns."
        )
    for name, column in before.columns.items():
        were_categories = bool(column.known)
        if isinstance(columns[name], list) != were_categories and column.shares[-1] < 1:
            kinds = ("categories", "numbers") if were_categories else ("numbers", "categories")
            raise ValueError(f"column {name!r} held {kinds[0]} in training, and now {kinds[1]}.")


def _compare(
    name: str, column: ColumnSummary, values: Any, query_of_row: Int64Array, rows: RowSummary
) -> ColumnDrift:
    codes, n_bins = bin_values(values, column)
    n, n_queries = len(codes), int(query_of_row.max()) + 1
    before, now = np.array(column.shares), np.bincount(codes, minlength=n_bins) / n
    effect, spread, largest = design_effect(codes, n_bins, query_of_row)
    errors = column.design_effect / rows.n_rows, effect / n
    starts = _merge_bins(before, now, _FEWEST * max(errors))
    first, second = np.add.reduceat(before, starts), np.add.reduceat(now, starts)
    noise = sum(errors)
    # Independent rows have a known spread, and clusters one that is estimated.
    sizes = (rows.n_queries, rows.n_rows), (n_queries, n)
    queries = min((many - 1 for many, of_rows in sizes if 1 < many < of_rows), default=10**9)
    most = max(noise, column.largest_effect / rows.n_rows + largest / n)
    spread = max(column.effect_spread, spread)
    psi, low, high, p = _stability(first, second, noise, spread, most, queries)
    is_list = isinstance(values, list)
    outside = 0.0
    if not is_list and column.low is not None and column.high is not None:
        outside = float(np.mean((values < column.low) | (values > column.high)))
    new = sorted({v for v in values if v is not None} - set(column.known)) if is_list else []
    return ColumnDrift(
        name, psi, low, high, p, False, float(before[-1]), float(now[-1]), outside, tuple(new)
    )


def _merge_bins(before: Float64Array, now: Float64Array, least: float) -> Int64Array:
    """First of every run of neighbouring bins that together hold ``least`` of the rows."""
    starts, held = [0], 0.0
    for place, share in enumerate((before + now) / 2):
        if held >= least:
            starts.append(place)
            held = 0.0
        held += share
    return np.array(starts[:-1] if held < least and len(starts) > 1 else starts)


def _stability(
    before: Float64Array,
    now: Float64Array,
    noise: float,
    spread: float,
    most: float,
    queries: int,
) -> tuple[float, float, float, float]:
    """Stability index, its interval, and the p-value of equal shares.

    ``noise`` is the variance of a difference of shares, in units of that of a single independent
    row; ``queries`` its degrees of freedom, the number of queries. ``most`` is the same for the
    contrast that varies most: the interval holds in all directions. ``spread`` is the squared
    coefficient of variation of the design effects, for Satterthwaite's correction.
    """
    if len(before) < 2:
        return math.nan, math.nan, math.nan, math.nan
    freedom = len(before) - 1
    pooled = (before + now) / 2
    distance = float(((before - now) ** 2 / pooled).sum())
    degrees = freedom / (1 + spread)
    p = float(fdtrc(degrees, queries, distance / noise / freedom))
    small = noise / 2  # half a row, so that an empty bin has a logarithm
    smoothed = (before + small) / (1 + small * len(before)), (now + small) / (1 + small * len(now))
    psi = float(((smoothed[1] - smoothed[0]) * np.log(smoothed[1] / smoothed[0])).sum())
    # The index and the chi-square distance measure the same; its noncentrality has an interval.
    scale = psi / distance if distance > 0 else 1.0
    t, of_chance = distance / most, freedom * noise / most
    low = _noncentrality(t, of_chance, 0.975) * most * scale
    high = _noncentrality(t, of_chance, 0.025) * most * scale
    estimate = max(0.0, distance - freedom * noise) * scale
    return estimate, low, max(high, estimate), p


def _noncentrality(t: float, freedom: float, confidence_level: float) -> float:
    """Noncentrality with which a chi-square lies below ``t`` with this probability."""
    if chndtr(t, freedom, 0.0) <= confidence_level:
        return 0.0
    if t > 1e4:  # beyond the reach of the inverse: a normal
        return max(0.0, t - freedom - float(norm.ppf(confidence_level)) * 2.0 * math.sqrt(t))
    return float(chndtrinc(t, freedom, confidence_level))


def _notes(
    found: list[ColumnDrift], before: RowSummary, sizes: Int64Array, has_queries: bool
) -> list[str]:
    notes = []
    missing = [c.name for c in found if c.missing_now > 0 and c.missing_before == 0]
    if missing:
        notes.append(
            f"missing values in {_list_names(missing)}, of which training never had any: what the "
            "model does with them was never learnt"
        )
    for column in found:
        if column.new_categories:
            notes.append(
                f"categories of {column.name} that training had none of: "
                f"{_list_names(list(column.new_categories))}"
            )
    unseen = (sizes < before.smallest_query) | (sizes > before.largest_query)
    if has_queries and unseen.any():
        notes.append(
            f"{int(unseen.sum())} of {len(sizes)} queries have fewer rows than "
            f"{before.smallest_query} or more than {before.largest_query}, which training never had"
        )
    far = [c.name for c in found if c.outside > 0.01]
    if far:
        notes.append(
            f"more than 1 % of the values lie beyond those of training in {_list_names(far)}"
        )
    return notes


def _notes_on_ranks(
    before: RowSummary, now: dict[str, tuple[float, float]], confidence_level: float, queries: int
) -> list[str]:
    """Ranks at which the mean score differs, by t tests with Bonferroni's correction."""
    shared = [rank for rank in now if rank in before.scores_at_rank]
    notes = []
    for rank in shared:
        (old, old_error), (new, error) = before.scores_at_rank[rank], now[rank]
        spread = math.hypot(old_error, error)
        critical = float(stdtrit(queries - 1, 1 - (1 - confidence_level) / 2 / len(shared)))
        if abs(new - old) > critical * spread:
            notes.append(f"the mean score at rank {rank} is {new:.4g}, and was {old:.4g}")
    return notes


def _list_names(names: list[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
