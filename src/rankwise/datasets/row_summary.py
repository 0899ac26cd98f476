"""Summary of the rows that a model was fitted on, small enough to travel in its file.

For every column: shares of the rows in about ten bins between quantiles (or of each category) and
of missing values, and the design effect of these shares. Rows of a query resemble each other, so
their shares vary more from sample to sample than those of independent rows: the design effect says
how many times more. It is that of Rao & Scott (Annals of Statistics 12:46-60, 1984).

A number that a tenth of the rows share has a bin of its own; the other numbers are cut at their own
quantiles. A category has a bin of its own only if chance cannot have chosen it: the most frequent
of many categories would be rarer in any later sample. The others are grouped by a hash of their
names."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankwise.groups import QueryGroups
from rankwise.runtime.constraints import make_generator
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import (
    convert_to_values,
    is_missing,
    kind_of,
    list_distinct,
    numbers_of,
    wrap_frame,
)
from rankwise.runtime.result import Result, columns_of
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed, is_sparse

N_BINS = 10
# Enough cells for shares within half a percent; queries beyond them are left out by chance.
MOST_CELLS, MOST_ROWS = 10_000_000, 50_000
# Categories with a bin of their own. The others share bins by a hash of their names, which no
# sample has chosen, so that their shares do not regress to the mean.
MOST_CATEGORIES, N_GROUPS = 40, 16
# Standard errors by which a category must be more frequent than the next one without its own bin.
_CLEAR_GAP = 4.0
# Rows of a bin between quantiles, if a number of the column is frequent.
_ROWS_PER_BIN = 20
_RANKS = (1, 3, 10)
# With fewer queries, their spread is not known well enough.
FEWEST_QUERIES = 10


@dataclass(frozen=True)
class ColumnSummary(Result):
    """Distribution of one column.

    ``edges`` are the inner ends of the bins, ascending: a value belongs to the first bin whose end
    is at least the value. ``design_effect`` is the variance of the shares over that of independent
    rows, on average over contrasts of bins.
    """

    edges: list[float]  # empty for categories
    # Categories with a bin of their own, empty for numbers; others share ``n_groups`` bins
    categories: list[str]
    known: list[str]  # all categories
    shares: list[float]  # share of rows in every bin, and of missing values at the end
    low: float | None  # smallest number; None without any, and for categories
    high: float | None  # largest number, likewise
    design_effect: float
    effect_spread: float  # squared coefficient of variation of that ratio among contrasts
    largest_effect: float  # that ratio of the contrast that varies most
    # Bins of the other categories; 1 in a summary that was stored before version 0.4
    n_groups: int = 1


@dataclass(frozen=True)
class RowSummary(Result):
    """Summary of rows, see :func:`summarize_rows`.

    Attributes
    ----------
    n_rows, n_queries : int
        Rows and queries that the shares are of.
    columns : dict of str to ColumnSummary
        Features by name; unnamed ones are "0", "1", …
    scores : ColumnSummary or None
        Scores of the model.
    scores_at_rank : dict of str to (float, float)
        Mean score at ranks 1, 3 and 10, and its standard error over queries.
    smallest_query, largest_query : int
        Rows of the smallest and of the largest query.
    first_index : 0, 1 or None
        Index of the first column in the LETOR text that holds the rows; None for other rows.
    left_out : dict of str to str
        Columns of the table that are not features, and why, see ``RankingData.left_out``.
    """

    n_rows: int
    n_queries: int
    columns: dict[str, ColumnSummary]
    scores: ColumnSummary | None
    scores_at_rank: dict[str, tuple[float, float]]
    smallest_query: int
    largest_query: int
    first_index: int | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    def _columns(self) -> dict[str, Any]:
        columns = columns_of(self.columns.values(), ColumnSummary)
        missing = [shares[-1] for shares in columns["shares"]]
        ends = {"low": columns["low"], "high": columns["high"]}
        return {"name": list(self.columns), **ends, "missing": missing}

    def _heading(self) -> str:
        return f"{self.n_rows} rows, {self.n_queries} queries, {len(self.columns)} columns"

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> RowSummary:
        """Inverse of :meth:`to_dict`.

        Raises
        ------
        ValueError
            If ``state`` is something else.
        """
        try:
            n_rows = int(state["n_rows"])
            columns = {str(n): _read_column(f, n_rows) for n, f in state["columns"].items()}
            scores = None if state["scores"] is None else ColumnSummary(**state["scores"])
            ranks = {str(r): (float(m), float(e)) for r, (m, e) in state["scores_at_rank"].items()}
            first_index = state.get("first_index")
            if first_index is not None and first_index not in (0, 1):
                raise TypeError(f"first_index must be 0, 1 or None, got {first_index!r}")
            return cls(
                n_rows, int(state["n_queries"]), columns, scores, ranks,
                int(state["smallest_query"]), int(state["largest_query"]),
                first_index, {str(n): str(why) for n, why in state.get("left_out", {}).items()},
            )  # fmt: skip
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"state must be a result of RowSummary.to_dict: {error}.") from None


@names_its_class
def summarize_rows(
    X: Any,
    qid: ArrayLike | QueryGroups | None = None,
    *,
    estimator: Any = None,
    feature_names: Sequence[str] | None = None,
    random_state: Seed = 0,
) -> RowSummary:
    """Summarise rows, for :func:`rankwise.selection.find_drift` of later rows.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, n_features)
        Training rows of the model.
    qid : array-like of shape (n_samples,), optional
        Query of each row; None: every row is drawn for itself.
    estimator : estimator, optional
        Fitted ranker, whose scores are summarised too.
    feature_names : sequence of str, optional
        Names of the columns of an array; None: "0", "1", …
    random_state : int, RandomState, Generator or None, default=0
        Seed for the choice of queries, if there are more than 50,000 rows or 10 million cells.

    Returns
    -------
    RowSummary

    Notes
    -----
    O(n · log n) per feature for at most 50,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> summary = summarize_rows(X, qid=np.arange(500) // 10)
    >>> summary.n_queries, [round(share, 2) for share in summary.columns["0"].shares[:3]]
    (50, [0.1, 0.1, 0.1])
    """
    columns, scores, groups, known = sample_columns(X, qid, estimator, random_state, feature_names)
    query_of_row = groups.codes()
    summaries = {name: _summarise(values, query_of_row) for name, values in columns.items()}
    for name, categories in known.items():
        # Rare categories may have no row in the sample; to later rows they are not new.
        summaries[name] = replace(summaries[name], known=categories)
    sizes = np.diff(groups.indptr)
    return RowSummary(
        len(query_of_row),
        groups.n_queries,
        summaries,
        None if scores is None else _summarise(scores, query_of_row),
        {} if scores is None else scores_at_ranks(scores, groups),
        int(sizes.min()),
        int(sizes.max()),
    )


def sample_columns(
    X: Any,
    qid: ArrayLike | QueryGroups | None,
    model: Any,
    random_state: Seed,
    feature_names: Sequence[str] | None,
) -> tuple[dict[str, Any], Float64Array | None, QueryGroups, dict[str, list[str]]]:
    """Columns by name (numbers, or lists of categories), scores and queries of a sample of rows.

    Last come the categories of all rows, by column, ascending; empty if the sample has all rows.
    """
    frame = wrap_frame(X)
    frame = None if frame is None else frame.lazy().collect()
    shape = frame.shape if frame is not None else getattr(X, "shape", None) or np.shape(X)
    if len(shape) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, got shape {shape}.")
    n, width = shape
    if feature_names is not None and len(feature_names) != width:
        raise ValueError(f"X has {width} columns, but {len(feature_names)} are expected.")
    if n == 0:
        raise ValueError("X must have rows, got none.")
    groups = QueryGroups.from_qid(np.arange(n) if qid is None else qid, n)
    rows = _sample(groups, min(MOST_ROWS, max(1, MOST_CELLS // max(1, width))), random_state)
    if rows is not None:
        groups = QueryGroups.from_qid(groups.codes()[rows], len(rows))
    everything = slice(None) if rows is None else rows
    scores = None
    if model is not None:
        part = X if rows is None else frame[rows].to_native() if frame is not None else X[rows]
        with warnings.catch_warnings():
            # Columns of an array are in the order of the model's.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            scores = np.asarray(model.predict(part), dtype=np.float64)
    if frame is not None:
        columns = {name: _column(frame[name], everything) for name in frame.columns}
        listed = [name for name in columns if isinstance(columns[name], list) and rows is not None]
        return columns, scores, groups, {name: _list_categories(frame[name]) for name in listed}
    part = X.tocsr()[everything].toarray() if is_sparse(X) else np.asarray(X)[everything]
    names = [str(i) for i in range(width)] if feature_names is None else map(str, feature_names)
    return {n: part[:, i].astype(np.float64) for i, n in enumerate(names)}, scores, groups, {}


def _sample(groups: QueryGroups, most_rows: int, random_state: Seed) -> Int64Array | None:
    """Rows of queries drawn by chance; None if all of them are few enough."""
    sizes = np.diff(groups.indptr)
    if sizes.sum() <= most_rows:
        return None
    order = make_generator(random_state).permutation(len(sizes))
    kept = order[: max(1, int(np.searchsorted(np.cumsum(sizes[order]), most_rows, side="right")))]
    return np.flatnonzero(np.isin(groups.codes(), kept))


def _column(column: Any, rows: Any) -> Any:
    if kind_of(column) is None:
        return np.asarray(numbers_of(column), dtype=np.float64)[rows]
    values = convert_to_values(column.to_native())[rows].tolist()
    return [None if is_missing(value) else str(value) for value in values]


def _list_categories(column: Any) -> list[str]:
    distinct, _ = list_distinct(column)
    return sorted({str(value) for value in set(distinct.tolist()) if not is_missing(value)})


def _summarise(values: Any, query_of_row: Int64Array) -> ColumnSummary:
    edges: list[float] = []
    kept: list[str] = []
    known: list[str] = []
    low = high = None
    n_groups = 1
    if isinstance(values, list):
        rows = np.array([row for row, value in enumerate(values) if value is not None], np.int64)
        found, codes = np.unique([values[row] for row in rows], return_inverse=True)
        known = [str(name) for name in found]
        kept = [known[i] for i in _clearly_frequent(codes, query_of_row[rows], len(known))]
        n_groups = N_GROUPS if len(kept) < len(known) else 1
    else:
        rows = np.flatnonzero(np.isfinite(values))
        rows = rows[np.argsort(values[rows])]
        if len(rows):
            low, high = float(values[rows[0]]), float(values[rows[-1]])
            edges = _edges(values[rows], query_of_row[rows])
    column = ColumnSummary(edges, kept, known, [], low, high, 1.0, 0.0, 1.0, n_groups)
    codes, n_bins = bin_values(values, column)
    shares = np.bincount(codes, minlength=n_bins) / len(codes)
    effects = design_effect(codes, n_bins, query_of_row)
    return ColumnSummary(edges, kept, known, shares.tolist(), low, high, *effects, n_groups)


def _clearly_frequent(codes: Int64Array, query: Int64Array, n_categories: int) -> Int64Array:
    """Most frequent categories, cut where the next one is rarer by more than chance explains."""
    counts = np.bincount(codes, minlength=n_categories).astype(np.float64)
    order = np.argsort(-counts, kind="stable")
    pairs, in_query = np.unique(np.column_stack([query, codes]), axis=0, return_counts=True)
    # Squared counts per query: the variance of a count of clusters, at least that of rows.
    variance = np.bincount(pairs[:, 1], in_query.astype(np.float64) ** 2, n_categories)
    return order[: _clear_cut(np.append(counts[order], 0.0), variance[order])]


def _clear_cut(counts: Float64Array, variance: Float64Array) -> int:
    """Number of counts, of descending ones, before the last clear drop to the next one."""
    drops = -np.diff(counts)[:MOST_CATEGORIES]
    clear = np.flatnonzero(drops >= _CLEAR_GAP * np.sqrt(variance[: len(drops)]))
    return int(clear[-1]) + 1 if len(clear) else 0


def _read_column(facts: Mapping[str, Any], n_rows: int) -> ColumnSummary:
    """Column of a stored summary.

    Before version 0.4, the most frequent categories had bins of their own, also if chance chose
    them. Those that are not clearly more frequent than the next one join the others.
    """
    column = ColumnSummary(**facts)
    n = len(column.categories)
    if "n_groups" in facts or n == len(column.known):
        return column
    counts = np.array(column.shares[:n]) * n_rows
    kept = _clear_cut(counts, counts * column.design_effect)
    shares = [*column.shares[:kept], sum(column.shares[kept:-1]), column.shares[-1]]
    return replace(column, categories=column.categories[:kept], shares=shares)


def _edges(values: Float64Array, query: Int64Array) -> list[float]:
    """Inner ends of the bins of sorted numbers: quantiles in which every query weighs the same.

    Quantiles of rows would mostly cut at the values of long queries, whose shares are then too
    large if the rows of a query are alike.
    """
    numbers, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    is_frequent = counts * N_BINS > len(values)
    frequent = numbers[is_frequent]
    weights = np.bincount(codes, 1.0 / np.bincount(query)[query])[~is_frequent]
    n_others = int(counts[~is_frequent].sum())
    n_bins = N_BINS if not len(frequent) else min(N_BINS, n_others // _ROWS_PER_BIN)
    total = np.cumsum(weights)
    inner = numbers[~is_frequent][
        np.searchsorted(total, np.arange(1, n_bins) / n_bins * total[-1:], side="right")
        if n_bins > 1
        else slice(0)
    ]
    # The largest number is no inner end, unless it is frequent: later rows may exceed it.
    inner = inner[inner < values[-1]]
    return np.unique([*inner, *frequent, *np.nextafter(frequent, -np.inf)]).tolist()


def bin_values(values: Any, column: ColumnSummary) -> tuple[Int64Array, int]:
    """Bin of every value by the bins of a summary, and the number of bins.

    The last bin is that of missing values. An infinity belongs to an outer bin.
    """
    if isinstance(values, list):
        places = {name: place for place, name in enumerate(column.categories)}
        missing = len(places) + column.n_groups
        for name in set(values).difference(places, [None]):
            group = zlib.crc32(name.encode("utf-8", "surrogatepass")) % column.n_groups
            places[name] = len(column.categories) + group
        codes = [missing if v is None else places[v] for v in values]
        return np.array(codes, dtype=np.int64), missing + 1
    n_bins = len(column.edges) + 2
    found = np.searchsorted(np.array(column.edges), values, side="left").astype(np.int64)
    return np.where(np.isnan(values), n_bins - 1, found), n_bins


def design_effect(
    codes: Int64Array, n_bins: int, query_of_row: Int64Array
) -> tuple[float, float, float]:
    """Variance of the shares over that of independent rows, and how it varies among contrasts.

    Returns the mean (at least 1), the squared coefficient of variation and the largest of the
    generalised design effects, the eigenvalues of the covariance of the shares in the metric of
    independent rows. Covariances are those of ratio estimates over queries.
    """
    n_queries = int(query_of_row.max()) + 1
    n = len(codes)
    if n_queries < 2 or n_queries == n:
        return 1.0, 0.0, 1.0
    counts = np.bincount(query_of_row * n_bins + codes, minlength=n_queries * n_bins)
    counts = counts.reshape(n_queries, n_bins)
    shares = counts.sum(axis=0) / n
    used = (shares > 0) & (shares < 1)
    freedom = int(used.sum()) - 1
    if freedom < 1:
        return 1.0, 0.0, 1.0
    residuals = (counts - counts.sum(axis=1, keepdims=True) * shares)[:, used]
    scaled = residuals / np.sqrt(shares[used])
    effects = scaled.T @ scaled / n * (n_queries / (n_queries - 1))
    mean = float(np.trace(effects)) / freedom
    if mean <= 1.0:
        return 1.0, 0.0, 1.0
    spread = max(0.0, float((effects**2).sum()) / freedom / mean**2 - 1.0)
    return mean, spread, float(np.linalg.eigvalsh(effects)[-1])


def scores_at_ranks(scores: Float64Array, groups: QueryGroups) -> dict[str, tuple[float, float]]:
    """Mean score at some ranks, and its standard error over the queries that are long enough."""
    order = np.lexsort((-scores, groups.codes()))
    sizes = np.diff(groups.indptr)
    found = {}
    for rank in _RANKS:
        starts = groups.indptr[:-1][sizes >= rank]
        if len(starts) >= FEWEST_QUERIES:
            values = scores[order[starts + rank - 1]]
            error = float(values.std(ddof=1)) / float(np.sqrt(len(values)))
            found[str(rank)] = float(values.mean()), error
    return found
