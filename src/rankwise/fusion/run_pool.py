"""RunPool: one table of all documents that any of several systems returned; scores normalised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.readers.judged_run import grades_of
from rankwise.datasets.readers.results import as_run as as_run  # part of rankwise.fusion
from rankwise.datasets.readers.trec import Qrels, Run, check_distinct, string_codes
from rankwise.datasets.table_columns import is_frame
from rankwise.groups import QueryGroups
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import check_choice, check_whole
from rankwise.runtime.renames import spell
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array, Int64Array

ScoreScaling = Literal["min_max", "max", "sum", "z", "rank", "borda", "none"]


@dataclass(frozen=True, eq=False)
class RunPool(Result):
    """Table of all documents that at least one system returned, one row per query and document.

    Rows of a query are adjacent, in ascending order of the document ids. Queries come in the order
    of their first appearance in the runs.

    Attributes
    ----------
    systems : tuple of str
        Names of the systems, one per column.
    qid, doc_ids : ndarray of shape (n_rows,) of str
        Query id and document id of each row.
    scores : ndarray of shape (n_rows, n_systems), float64
        Score of each system; NaN if the system did not return the document.
    ranks : ndarray of shape (n_rows, n_systems), float64
        Rank of each document by descending score, from 1; 0 if the system did not return it. Equal
        scores share the mean of their ranks.
    """

    _labels = "systems"

    systems: tuple[str, ...]
    qid: NDArray[np.str_]
    doc_ids: NDArray[np.str_]
    scores: Float64Array
    ranks: Float64Array

    def __len__(self) -> int:
        return len(self.qid)

    def __repr__(self) -> str:
        return (
            f"RunPool({len(self)} documents, {self.groups.n_queries} queries, "
            f"systems {', '.join(self.systems)})"
        )

    @cached_property
    def groups(self) -> QueryGroups:
        """The rows by query."""
        return QueryGroups.from_qid(self.qid, len(self))

    @cached_property
    def n_returned(self) -> Int64Array:
        """Number of documents that each system returned for each query, (n_queries, n_systems)."""
        if not len(self):
            return np.zeros((0, len(self.systems)), dtype=np.int64)
        return np.add.reduceat(self.ranks > 0, self.groups.indptr[:-1], axis=0, dtype=np.int64)

    def take(self, rows: NDArray[Any]) -> RunPool:
        """Select whole queries by their rows; ranks still refer to the whole lists."""
        return RunPool(
            self.systems, self.qid[rows], self.doc_ids[rows], self.scores[rows], self.ranks[rows]
        )

    def grades(self, qrels: Qrels) -> tuple[Float64Array, NDArray[np.bool_]]:
        """Grade of every row, 0 if it was not judged or judged below 0; which rows were judged."""
        return grades_of(qrels, self.qid, self.doc_ids)

    def run(self, scores: Float64Array, tag: str = "rankwise") -> Run:
        """Convert one score per row to a run.

        Raises
        ------
        ValueError
            If a score is not finite.
        """
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            raise ValueError(
                f"fused scores must be finite, got {scores[row]} for document "
                f"{str(self.doc_ids[row])!r} of query {str(self.qid[row])!r}. Scores, weights or "
                'parameters are too large. Use scaling="min_max" and smaller values.'
            )
        return Run(self.qid, self.doc_ids, scores, tag)


def pool_runs(
    runs: Sequence[Any] | Mapping[str, Any],
    *,
    systems: Sequence[str] | None = None,
    depth: int | None = None,
) -> RunPool:
    """Combine the result lists of several systems into one table.

    Parameters
    ----------
    runs : sequence, or mapping from system name to result lists
        The result lists of each system, see :func:`rankwise.fusion.as_run`. If a query is absent
        from a run, that system returned no document for it.
    systems : sequence of str, optional
        Names of the systems. None: the keys of the mapping, else the tags of the runs; result
        lists without a tag, such as frames, are named "system 1", "system 2", … by their place.
    depth : int >= 1, optional
        Number of documents to keep from the top of each list. None: all. Equal scores are cut in
        trec_eval's order (descending id).

    Returns
    -------
    RunPool

    Raises
    ------
    ValueError
        If the list is empty, two systems have one name, a run has neither documents nor queries,
        ``depth`` is not a whole number >= 1, a query of a run has a document twice, or two or more
        systems returned documents but no two of them for the same query.
    TypeError
        If ``runs`` are the result lists of one system.

    Notes
    -----
    O(n log n) for n lines of all runs.

    Examples
    --------
    >>> from rankwise.fusion import pool_runs
    >>> lexical = {"q1": {"d1": 9.5, "d2": 7.0}}
    >>> neural = {"q1": {"d2": 0.8, "d3": 0.3}}
    >>> pool = pool_runs({"bm25": lexical, "encoder": neural})
    >>> pool.doc_ids.tolist()
    ['d1', 'd2', 'd3']
    >>> pool.ranks.tolist()
    [[1.0, 0.0], [2.0, 1.0], [0.0, 2.0]]
    """
    given, names = _name_systems(runs, systems)
    if depth is not None:
        check_whole("depth", depth, 1, "Pass None for whole lists.")
    lists = [_read_system(run, name) for run, name in zip(given, names, strict=True)]
    queries, n_queries = string_codes(*(run.qid for run in lists))
    _check_common_query(names, lists, queries, n_queries)
    documents, n_documents = string_codes(*(run.doc_ids for run in lists))
    place = _alphabetical(documents, lists, n_documents)
    documents = [place[code] for code in documents]
    kept = [
        _top(query, run.scores, document, depth)
        for query, document, run in zip(queries, documents, lists, strict=True)
    ]
    keys = [q[k] * n_documents + d[k] for q, d, k in zip(queries, documents, kept, strict=True)]
    for name, run, key in zip(names, lists, keys, strict=True):
        if len(np.unique(key)) < len(key):
            check_distinct(run.qid, run.doc_ids, f"system {name!r}, row {{}}".format)
    rows, first = np.unique(np.concatenate(keys), return_index=True)

    def of_rows(columns: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([c[k] for c, k in zip(columns, kept, strict=True)])[first]

    scores = np.full((len(rows), len(lists)), np.nan)
    ranks = np.zeros((len(rows), len(lists)))
    for column, (run, query, key, keep) in enumerate(zip(lists, queries, keys, kept, strict=True)):
        at = np.searchsorted(rows, key)
        scores[at, column] = run.scores[keep]
        ranks[at, column] = _mean_ranks(query[keep], run.scores[keep])
    qid = of_rows([run.qid for run in lists])
    return RunPool(names, qid, of_rows([run.doc_ids for run in lists]), scores, ranks)


def convert_to_pool(
    runs: RunPool | Sequence[Any] | Mapping[str, Any], systems: Sequence[str] | None = None
) -> RunPool:
    """Return a pool unchanged; pool anything else as runs."""
    if not isinstance(runs, RunPool):
        return pool_runs(runs, systems=systems)
    if systems is not None:
        raise ValueError("systems must be None for a RunPool, which names them. Leave them out.")
    return runs


def sum_systems(terms: Float64Array) -> Float64Array:
    """Sum over the systems, from the smallest term to the largest; NaN adds nothing.

    The order of the systems does not change the sum, so documents whose systems earn them the same
    points have equal sums.
    """
    return np.sort(np.where(np.isnan(terms), 0.0, terms), axis=1).sum(axis=1)


def _name_systems(
    runs: Sequence[Any] | Mapping[str, Any], systems: Sequence[str] | None
) -> tuple[list[Any], tuple[str, ...]]:
    """The result lists of every system, and the names of the systems."""
    if isinstance(runs, str | Path | Run) or is_frame(runs) or not isinstance(runs, Iterable):
        raise TypeError(
            f"runs must hold the result lists of several systems, got one {type(runs).__name__}. "
            "Pass a list of them, or a mapping from name to result lists."
        )
    if isinstance(runs, Mapping):
        systems = tuple(map(str, runs)) if systems is None else systems
        runs = list(runs.values())
    runs = list(runs)
    if not runs:
        raise ValueError(f"runs must hold the result lists of at least one system, got {runs!r}.")
    if isinstance(systems, str):
        raise TypeError(f"systems must be a list of names, got the string {systems!r}.")
    if systems is None:
        runs = [as_run(run) if isinstance(run, str | Path) else run for run in runs]
        tags = [run.tag if isinstance(run, Run) else "" for run in runs]
        names = tuple(tag or f"system {place}" for place, tag in enumerate(tags, 1))
    else:
        names = tuple(map(str, systems))
    if len(names) != len(runs):
        raise ValueError(f"systems must name each of the {len(runs)} runs, got {list(names)}.")
    if len(set(names)) < len(names) or not all(names):
        raise ValueError(
            f"systems must have different names, got {list(names)}. Pass systems=[…], or runs as "
            "a mapping from name to run."
        )
    return runs, names


def _read_system(results: Any, name: str) -> Run:
    """Run of a system; errors name the system."""
    try:
        run = as_run(results)
    except ValueError as error:
        raise ValueError(f"system {name!r}: {error}") from None
    # {"q": {}} states that the system found nothing for q; an empty file or frame states nothing.
    if not len(run) and not (isinstance(results, Mapping) and results):
        raise ValueError(
            f"system {name!r} holds no query and no document. Check its results, or leave the "
            "system out."
        )
    return run


def _check_common_query(
    names: Sequence[str], runs: Sequence[Run], queries: Sequence[Int64Array], n_queries: int
) -> None:
    """Raise if no two systems share a query, which means that their query ids differ."""
    n_systems = sum(np.bincount(codes, minlength=n_queries) > 0 for codes in queries)
    filled = [place for place, run in enumerate(runs) if len(run)]
    if len(filled) > 1 and np.max(n_systems) < 2:
        shown = (f"{names[place]!r} has {str(runs[place].qid[0])!r}" for place in filled[:3])
        raise ValueError(
            f"runs have no query in common: {', '.join(shown)}. Check that all systems use the "
            "same query ids."
        )


def check_judged(pool: RunPool, qrels: Qrels) -> tuple[Float64Array, NDArray[np.bool_]]:
    """Grade of every row, and whether it was judged; at least one of every system was."""
    if not isinstance(qrels, Qrels):
        raise TypeError(
            f"qrels must be Qrels, got {type(qrels).__name__}. Read a file by "
            "rankwise.datasets.read_qrels, a mapping by rankwise.text.read_judgements."
        )
    if not len(pool):
        raise ValueError("runs hold no document. Pass runs of at least one judged query.")
    grades, judged = pool.grades(qrels)
    if not judged.any():
        raise ValueError(
            "qrels judge no document of the runs. Check that queries and documents have the same "
            "ids in both."
        )
    n_judged = (pool.ranks[judged] > 0).sum(axis=0)
    for name, n in zip(pool.systems, n_judged.tolist(), strict=True):
        if n == 0:
            raise ValueError(
                f"qrels judge no document of system {name!r}. Check its ids, or leave the system "
                "out."
            )
    return grades, judged


def same_systems(pool: RunPool, systems: NDArray[np.str_]) -> RunPool:
    """The pool with its columns in the order of the systems of a fit."""
    wanted = tuple(systems.tolist())
    if set(pool.systems) != set(wanted) or len(pool.systems) != len(wanted):
        raise ValueError(
            f"runs must be of the systems of fit, {', '.join(wanted)}, got "
            f"{', '.join(pool.systems)}."
        )
    order = [pool.systems.index(system) for system in wanted]
    return RunPool(wanted, pool.qid, pool.doc_ids, pool.scores[:, order], pool.ranks[:, order])


def _alphabetical(codes: list[Int64Array], runs: Sequence[Run], n_documents: int) -> Int64Array:
    """Position of every code's document id among all, ascending."""
    ids = np.empty(n_documents, dtype=object)
    for code, run in zip(codes, runs, strict=True):
        ids[code] = run.doc_ids
    place = np.empty(n_documents, dtype=np.int64)
    place[np.argsort(ids)] = np.arange(n_documents)
    return place


def _top(
    queries: Int64Array, scores: Float64Array, documents: Int64Array, depth: int | None
) -> Int64Array:
    """Lines of the first documents of every list, in trec_eval's order; all lines without depth."""
    if depth is None:
        return np.arange(len(queries))
    order = np.lexsort((-documents, -scores, queries))
    starts, sizes = find_stretches(queries[order])
    return np.sort(order[np.arange(len(order)) - np.repeat(starts, sizes) < depth])


def _mean_ranks(queries: Int64Array, scores: Float64Array) -> Float64Array:
    """Rank of every line in its list, from 1; equal scores share the mean of their ranks."""
    order = np.lexsort((-scores, queries))
    starts, sizes = find_stretches(queries[order])
    place = np.arange(len(order)) - np.repeat(starts, sizes) + 1
    ties, tied = find_stretches(queries[order], scores[order])
    ranks = np.empty(len(order))
    ranks[order] = np.repeat(place[ties] + (tied - 1) / 2, tied)
    return ranks


def find_stretches(*columns: NDArray[Any]) -> tuple[Int64Array, Int64Array]:
    """First row and size of every stretch of rows that are equal in all columns."""
    differs = np.zeros(len(columns[0]), dtype=bool)
    differs[:1] = True
    for column in columns:
        differs[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(differs)
    return starts, np.diff(starts, append=len(differs))


@names_its_class
def normalize(pool: RunPool, scaling: ScoreScaling = "min_max") -> Float64Array:
    """Normalise the scores of every list (one list per system and query).

    Parameters
    ----------
    pool : RunPool
    scaling : {"min_max", "max", "sum", "z", "rank", "borda", "none"}, default="min_max"
        For the scores x of a list of n documents, ranked r = 1, …, n, in a pool of m documents:

        - "min_max": ``(x - min) / (max - min)``, in [0, 1];
        - "max": ``x / max |x|``, in [-1, 1];
        - "sum": ``(x - min) / sum(x - min)``, in [0, 1];
        - "z": ``(x - mean) / sd``, with the standard deviation of the list, in
          [-sqrt(n - 1), sqrt(n - 1)];
        - "rank": ``1 - (r - 1) / n``, in (0, 1];
        - "borda": ``1 - (r - 1) / m``, and ``1/2 - (n - 1) / (2 m)`` for a document that the system
          did not return, in (0, 1];
        - "none": x.

        Equal scores share the mean of their ranks. Where the divisor is 0 (equal scores; for "max"
        scores of 0), the whole list becomes zeros.

    Returns
    -------
    ndarray of shape (n_rows, n_systems), float64
        NaN where the system did not return the document, except for "borda".

    Raises
    ------
    ValueError
        If ``scaling`` is none of these.

    References
    ----------
    .. [1] Renda & Straccia, "Web metasearch: rank vs. score based rank aggregation methods",
       SAC 2003.
    .. [2] Montague & Aslam, "Relevance score normalization for metasearch", CIKM 2001.

    Examples
    --------
    >>> from rankwise.fusion import normalize, pool_runs
    >>> a, b = {"q": {"d1": 5.0, "d2": 4.0, "d3": 1.0}}, {"q": {"d1": 9.0}}
    >>> pool = pool_runs({"a": a, "b": b})
    >>> normalize(pool)
    array([[1.  , 0.  ],
           [0.75,  nan],
           [0.  ,  nan]])
    """
    scaling = spell(scaling)
    check_choice("scaling", scaling, NORMALIZATIONS)
    if not isinstance(pool, RunPool):
        raise TypeError(
            f"pool must be a RunPool, got {type(pool).__name__}. Pass pool_runs([run, …])."
        )
    if not len(pool):
        return pool.scores.copy()
    return NORMALIZATIONS[scaling](pool)


def _min_max(pool: RunPool) -> Float64Array:
    scores = _scale_lists(pool)
    low, high = (_reduce_lists(reduce, pool, scores) for reduce in (np.fmin, np.fmax))
    return _divide(scores - low, high - low)


def _max(pool: RunPool) -> Float64Array:
    scores = _scale_lists(pool)
    return _divide(scores, _reduce_lists(np.fmax, pool, np.abs(scores)))


# Sum and z do not change when a list is shifted and scaled. Min-max scores can be summed and
# squared without overflow, and are all 0 in a list of equal scores, whatever rounding does to its
# mean.
def _sum(pool: RunPool) -> Float64Array:
    above = _min_max(pool)
    return _divide(above, _reduce_lists(np.add, pool, np.nan_to_num(above)))


def _z(pool: RunPool) -> Float64Array:
    above, n = _min_max(pool), np.maximum(_lengths(pool), 1)
    distance = above - _reduce_lists(np.add, pool, np.nan_to_num(above)) / n
    return _divide(distance, np.sqrt(_reduce_lists(np.add, pool, np.nan_to_num(distance**2)) / n))


def _rank(pool: RunPool) -> Float64Array:
    share = 1.0 - (pool.ranks - 1) / np.maximum(_lengths(pool), 1)
    return np.where(pool.ranks > 0, share, np.nan)


def _borda(pool: RunPool) -> Float64Array:
    n_documents = np.repeat(pool.groups.sizes, pool.groups.sizes)[:, None]
    missing = 0.5 - (_lengths(pool) - 1) / (2 * n_documents)
    return np.where(pool.ranks > 0, 1.0 - (pool.ranks - 1) / n_documents, missing)


NORMALIZATIONS: dict[str, Callable[[RunPool], Float64Array]] = {
    "min_max": _min_max,
    "max": _max,
    "sum": _sum,
    "z": _z,
    "rank": _rank,
    "borda": _borda,
    "none": lambda pool: pool.scores.copy(),
}


def _reduce_lists(reduce: np.ufunc, pool: RunPool, values: Float64Array) -> Float64Array:
    """A reduction over each list, repeated for the rows of its query."""
    found = reduce.reduceat(values, pool.groups.indptr[:-1], axis=0)
    return np.repeat(found, pool.groups.sizes, axis=0)


def _lengths(pool: RunPool) -> Float64Array:
    return np.repeat(pool.n_returned, pool.groups.sizes, axis=0)


def _scale_lists(pool: RunPool) -> Float64Array:
    """Scores times the power of two that brings their list into [-1, 1].

    Powers of two cost no digit, and differences of scores near 1e308 stay finite.
    """
    _, exponent = np.frexp(np.nan_to_num(_reduce_lists(np.fmax, pool, np.abs(pool.scores))))
    return np.ldexp(pool.scores, -exponent)


def _divide(values: Float64Array, divisor: Float64Array) -> Float64Array:
    """Quotients, and 0 where the divisor is 0; NaN stays."""
    return values * (divisor > 0) / np.where(divisor > 0, divisor, 1.0)
