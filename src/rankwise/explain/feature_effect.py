"""Effect of a feature on the position of a document: partial dependence within queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.explain.games import check_scores
from rankwise.explain.table_rows import convert_to_table, names_of, score_mixed
from rankwise.groups import QueryGroups
from rankwise.prediction import reads_queries
from rankwise.runtime.constraints import check_random_state
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.frames import is_missing
from rankwise.runtime.messages import check_whole
from rankwise.runtime.result import Result
from rankwise.typing import ArrayLike, Float64Array, Int64Array, Seed

_OUTER = 0.01  # share of the rows at each end that the grid ignores


@dataclass(frozen=True, eq=False)
class FeatureEffect(Result):
    """Position of a document in its query as one feature varies.

    Attributes
    ----------
    name : str
        Name of the feature.
    grid : ndarray of shape (n_points,)
        Values of the feature, ascending.
    values : ndarray of shape (n_queries, n_points), float64
        Share of the other documents of its query that a document outranks if the feature takes
        each value of the grid, averaged over the documents of each query. Ties count half; 0 is
        last and 1 is first.
    queries : ndarray of shape (n_queries,)
        Query ids.
    """

    _drawn = "mean"

    name: str
    grid: NDArray[Any]
    values: Float64Array
    queries: NDArray[Any]

    @property
    def mean(self) -> Float64Array:
        """Mean over the queries, shape (n_points,)."""
        return self.values.mean(axis=0)

    def band(self, share: float = 0.5) -> Float64Array:
        """Lower and upper ends of the middle ``share`` of the queries, shape (n_points, 2)."""
        tail = (1.0 - share) / 2
        return np.quantile(self.values, [tail, 1.0 - tail], axis=0).T

    def _columns(self) -> dict[str, Any]:
        low, high = self.band().T
        return {"value": self.grid, "mean": self.mean, "low": low, "high": high}

    def _heading(self) -> str:
        return (
            f"Share of documents outranked by {self.name}: mean and middle half over queries, n = "
            f"{len(self.values)}"
        )


@names_its_class
def feature_effect(
    estimator: Any,
    X: Any,
    qid: ArrayLike | QueryGroups | None,
    feature: int | str,
    *,
    n_points: int = 20,
    max_queries: int | None = 100,
    random_state: Seed = 0,
) -> FeatureEffect:
    """Vary one feature of documents, and measure how their positions in their queries change.

    Parameters
    ----------
    estimator : fitted estimator
        A ranker, an ordinal estimator, or any regressor; also a pipeline.
    X : array-like, CSR or frame of shape (n_samples, n_features)
        Rows of documents.
    qid : array-like of shape (n_samples,), or None
        Query of each row; None: all rows are one query. Queries with a single document are left
        out.
    feature : int or str
        Number of the column from 0, or its name.
    n_points : int >= 2, default=20
        Number of grid values, which are quantiles of the rows; if there are fewer distinct values,
        all of them.
    max_queries : int >= 1, optional
        Maximum number of queries, drawn at random if there are more; default 100. None: all.
    random_state : int, RandomState, Generator or None, default=0
        Seed for drawing the queries.

    Returns
    -------
    FeatureEffect

    Raises
    ------
    TypeError
        If the estimator is a classifier without ordered classes, which has no scores to rank by.
    ValueError
        If the feature is unknown, there are fewer than two points, scores depend on the other rows
        of the query, or no query has two documents.

    Notes
    -----
    The grid holds values from rows of X between the 1 % and the 99 % quantile, without missing
    values. Of categories, text or numbers, it holds the most frequent ones. For a value v and
    document d of a query with n documents, the share is
    ``(#{e != d: s(e) < s(d, v)} + #{e != d: s(e) = s(d, v)} / 2) / (n - 1)``. Here ``s(d, v)`` is
    the score of d with the feature set to v, and ``s(e)`` is the unchanged score of e. Unlike the
    partial dependence of the score [1]_, shares can be compared between queries, features and
    models. A feature that the model ignores has the share 0.5 throughout. As in any partial
    dependence, rows are also scored with values that never occur together with their others.

    Every drawn row is predicted ``n_points`` times.

    References
    ----------
    .. [1] Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
       Statistics 29 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from rankwise import RidgeRanker
    >>> from rankwise.explain import feature_effect
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> ranker = RidgeRanker(alpha=1e-9).fit(X, [0, 1, 2, 3], qid=0)
    >>> print(feature_effect(ranker, X, None, 0))
    Share of documents outranked by x0: mean and middle half over queries, n = 1
    value    mean     low    high
        0  0.1250  0.1250  0.1250
        1  0.3750  0.3750  0.3750
        2  0.6250  0.6250  0.6250
        3  0.8750  0.8750  0.8750
    """
    check_scores(estimator)
    if reads_queries(estimator):
        raise ValueError(
            f"ranker must score each row by itself, got {type(estimator).__name__}, whose scores "
            "depend on the other rows of the query. Explain the model behind its query scaling."
        )
    check_whole("n_points", n_points, 2)
    table = convert_to_table(X)
    names = names_of(estimator, table)
    column = _column_number(feature, names)
    groups = QueryGroups.from_qid(qid, table.shape[0])
    drawn = _draw_queries(groups, max_queries, random_state)
    sources, grid = _grid(_values_of(table, column), n_points, _is_nominal(estimator, column))
    members = [groups.rows([query]) for query in drawn.tolist()]
    ends = np.cumsum([len(rows) for rows in members])[:-1]
    rows = np.concatenate(members)
    unchanged = np.repeat(rows[:, None], len(names), axis=1)
    base = np.split(score_mixed(estimator, table, unchanged), ends)
    values = np.empty((len(drawn), len(grid)))
    for point, source in enumerate(sources.tolist()):
        changed = unchanged.copy()
        changed[:, column] = source
        moved = np.split(score_mixed(estimator, table, changed), ends)
        values[:, point] = [_share_outranked(*pair) for pair in zip(base, moved, strict=True)]
    return FeatureEffect(names[column], grid, values, np.asarray(groups.ids)[drawn])


def _share_outranked(scores: Float64Array, moved: Float64Array) -> float:
    """Mean share of other documents that a document outranks when it alone is changed."""
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, moved) - (scores < moved)
    not_above = np.searchsorted(ordered, moved, side="right") - (scores <= moved)
    return float(np.mean(below + not_above) / 2 / (len(scores) - 1))


def _column_number(feature: int | str, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            raise ValueError(f"feature must be a column of X, got {feature!r}. Columns: {shown}.")
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(f"feature must lie in [0, {len(names) - 1}], got {feature}.")
    return int(feature)


def _draw_queries(groups: QueryGroups, most: int | None, random_state: Any) -> Int64Array:
    """Queries with at least two documents, drawn at random if there are more than ``most``."""
    if most is not None:
        check_whole("max_queries", most, 1, "None: all queries.")
    known = np.flatnonzero(np.diff(groups.indptr) > 1)
    if len(known) == 0:
        raise ValueError(
            "qid must put at least two documents into a query, got only queries of one document."
        )
    if most is None or len(known) <= most:
        return known
    return np.sort(check_random_state(random_state).choice(known, most, replace=False))


def _values_of(table: Any, column: int) -> NDArray[Any]:
    if not hasattr(table, "columns"):
        return table[:, column]
    import narwhals

    frame = narwhals.from_native(table, eager_only=True)
    # By position: a label of pandas that is a number would select a row.
    return frame[:, column].to_numpy()


def _is_nominal(estimator: Any, column: int) -> bool:
    """Whether a model takes the numbers of a column for categories without order."""
    table = getattr(estimator, "columns_", None)
    return table is not None and column in table.nominal


def _grid(values: NDArray[Any], n_points: int, is_nominal: bool) -> tuple[Int64Array, NDArray[Any]]:
    """Rows that supply the grid values, and these values in ascending order."""
    is_number = values.dtype.kind in "biuf" and not is_nominal
    if is_number:
        known = np.flatnonzero(~np.isnan(values.astype(np.float64)))
    else:
        known = np.flatnonzero([not is_missing(value) for value in values.tolist()])
    if len(known) == 0:
        raise ValueError("X must have values of the feature, got missing values only.")
    found, listed = values[known], None
    if not is_number:
        # Numbers and text do not compare, so text comes after numbers.
        listed = sorted(set(found.tolist()), key=lambda value: (isinstance(value, str), value))
        place = {value: number for number, value in enumerate(listed)}
        found = np.array([place[value] for value in found.tolist()])
    distinct, first, counts = np.unique(found, return_index=True, return_counts=True)
    if listed is not None:
        distinct = np.array(listed, dtype=object)
    if len(distinct) <= n_points:
        return known[first], distinct
    if not is_number:  # the most frequent categories
        kept = np.sort(np.argsort(-counts, kind="stable")[:n_points])
        return known[first[kept]], distinct[kept]
    share = np.linspace(_OUTER, 1 - _OUTER, n_points)
    kept = np.unique(np.searchsorted(np.cumsum(counts), share * len(known)))
    return known[first[kept]], distinct[kept]
