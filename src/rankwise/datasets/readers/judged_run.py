"""A run joined with its judgments, as in trec_eval.

References
----------
.. [1] trec_eval, https://github.com/usnistgov/trec_eval (order of documents, missing ones).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.file_formats import FormatName, file_format
from rankwise.datasets.readers.results import as_run, read_judgements
from rankwise.datasets.readers.trec import Qrels, Run, string_codes, trec_order
from rankwise.datasets.table_columns import is_frame
from rankwise.runtime.finite import names_its_class
from rankwise.runtime.messages import setting
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array

P = ParamSpec("P")
R = TypeVar("R")
LARGEST_GRADE = 1000  # of a measure; larger whole numbers are scores


@dataclass(frozen=True, eq=False)
class JudgedRun(Result):
    """Rows of a run and its judgments, in trec_eval's order within every query.

    Attributes
    ----------
    y : ndarray of shape (n_rows,), float64
        Grade; 0 if the document is unjudged or has a negative grade.
    scores : ndarray of shape (n_rows,), float64
        Score; −inf if the run did not retrieve the document.
    qid, doc_ids : ndarray of shape (n_rows,) of str
    judged : ndarray of shape (n_rows,), bool
        Whether the document has a grade of at least 0; a negative one means in trec_eval that it
        was not judged.
    retrieved : ndarray of shape (n_rows,), bool
    pooled : ndarray of shape (n_rows,), bool, or None
        Whether the document is in the judgments, with a grade of any sign; None: those judged.
    """

    y: Float64Array
    scores: Float64Array
    qid: NDArray[np.str_]
    doc_ids: NDArray[np.str_]
    judged: NDArray[np.bool_]
    retrieved: NDArray[np.bool_]
    pooled: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.y)


def grades_of(
    qrels: Qrels, qid: NDArray[np.str_], doc_ids: NDArray[np.str_]
) -> tuple[Float64Array, NDArray[np.bool_]]:
    """Grade of every pair (0 if unjudged or negative), and a mask of the judged pairs."""
    (own_q, judged_q), _ = string_codes(qid, qrels.qid)
    (own_d, judged_d), n = string_codes(doc_ids, qrels.doc_ids)
    keys, judged_keys = own_q * n + own_d, judged_q * n + judged_d
    by_key = np.argsort(judged_keys)
    entry = np.append(by_key, -1)[np.searchsorted(judged_keys[by_key], keys)]
    judged = np.append(judged_keys, -1)[entry] == keys
    grades = np.where(judged, np.maximum(np.append(qrels.relevance, 0)[entry], 0), 0)
    return grades.astype(np.float64), judged


def drop_identical_ids(run: Run) -> Run:
    """A run without documents that have the id of their query, as in BEIR's evaluation."""
    kept = run.qid != run.doc_ids
    if not kept.any():
        raise ValueError(
            "every document of the run has the id of its query, so none is left. Drop "
            f"{setting('ignore_identical_ids', True)}."
        )
    return replace(run, qid=run.qid[kept], doc_ids=run.doc_ids[kept], scores=run.scores[kept])


def describe_identical_ids(rows: JudgedRun) -> str | None:
    """Note on unjudged documents that have the id of their query; None without any."""
    n = int(((rows.qid == rows.doc_ids) & rows.retrieved & ~rows.judged).sum())
    if not n:
        return None
    return (
        f"unjudged documents of the run that have the id of their query: {n}. If queries are "
        "documents of the collection, as in BEIR's ArguAna and Quora, leave them out with "
        f"{setting('ignore_identical_ids', True)}"
    )


def find_missed_documents(
    qrels: Qrels, qid: NDArray[np.str_], doc_ids: NDArray[np.str_]
) -> RankingData:
    """Judged documents of the queries of some pairs that are none of the pairs.

    Grades below 0 become 0. See ``RankingData.missed``.
    """
    (own_q, judged_q), _ = string_codes(qid, qrels.qid)
    (own_d, judged_d), n = string_codes(doc_ids, qrels.doc_ids)
    is_missed = np.isin(judged_q, own_q) & ~np.isin(judged_q * n + judged_d, own_q * n + own_d)
    y = np.maximum(qrels.relevance[is_missed], 0).astype(np.float64)
    X = np.empty((len(y), 0))
    return RankingData(X, y, qid=qrels.qid[is_missed], doc_ids=qrels.doc_ids[is_missed])


_BY_NAME = (
    "The judgements come first here, as in pytrec_eval and ranx. Pass qrels=… and run=… by name."
)


def refuse_both_ways(
    qrels: Any, run: Any, fix: str = _BY_NAME, *, only_fractions: bool = False
) -> None:
    """Raise ValueError if judgements and a run could be a run and judgements.

    Until 0.3, the run came first. Types and names of columns tell the two apart, and so do
    fractions in the run alone: scores have them more often than grades. ``only_fractions``: whole
    numbers are grades, since the run is one of several systems.
    """
    if only_fractions and isinstance(qrels, Mapping) and _are_whole(_list_values(qrels)):
        return
    if not (_is_plain(run) and _is_plain(qrels) and _may_be_swapped(qrels, run)):
        return
    try:
        as_run(qrels)  # first, since names of columns soon say that it is no run
        grades, scores = read_judgements(qrels), read_judgements(run)
        as_run(run)
    except (TypeError, ValueError, OSError):
        return  # can be read one way only
    share_queries = np.isin(scores.qid, grades.qid).any()
    only_run = (_has_fractions(scores) or only_fractions) and not _has_fractions(grades)
    if share_queries and not only_run and (scores.relevance <= LARGEST_GRADE).all():
        what = "both have fractions" if _has_fractions(scores) else "the run has whole numbers only"
        raise ValueError(f"the judgements and the run can be read both ways, since {what}. {fix}")


def _has_fractions(qrels: Qrels) -> bool:
    return qrels.relevance.dtype.kind == "f"


def refuses_both_ways(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function of judgements and a run or systems, to refuse what can be read both ways.

    Passed by name, they are what they are called.

    Errors for wrong arguments name the function, and the new names of old arguments.
    """

    named, takes_systems = names_its_class(function), "systems" in signature(function).parameters

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if len(args) > 1:
            several: Any = args[1] if isinstance(args[1], Mapping) else {}
            for run in several.values() if takes_systems else [args[1]]:
                refuse_both_ways(args[0], run, only_fractions=takes_systems)
        return named(*args, **kwargs)

    return call


def _is_plain(source: Any) -> bool:
    """Whether a source may hold a run or judgements, which its type leaves open."""
    if isinstance(source, list):
        return bool(source) and all(isinstance(p, Mapping | Path) or is_frame(p) for p in source)
    if isinstance(source, str | Path):
        return Path(source).is_file()
    return isinstance(source, Mapping) or (is_frame(source) and len(source.columns) > 1)


def _may_be_swapped(qrels: Any, run: Any) -> bool:
    """A quick look, before all of both sources is read twice."""
    if any(
        file_format(part).kind in (FormatName.run, FormatName.qrels)
        for part in _list_parts(run)
        if isinstance(part, str | Path)
    ):
        return False
    values = _list_values(qrels)
    return _are_whole(_list_values(run)) or not (values and _are_whole(values))


def _list_parts(source: Any) -> list[Any]:
    return source if isinstance(source, list) else [source]


def _list_values(source: Any) -> list[Any]:
    """Values of mappings of mappings; nothing of frames and files."""
    answers = [
        answer
        for part in _list_parts(source)
        if isinstance(part, Mapping)
        for answer in part.values()
    ]
    return [v for answer in answers if isinstance(answer, Mapping) for v in answer.values()]


def _are_whole(values: list[Any]) -> bool:
    return all(isinstance(value, Real) and value == value // 1 for value in values)


@refuses_both_ways
def judge(
    qrels: Qrels | Any,
    run: Run | Any,
    *,
    all_queries: bool = False,
    single_precision: bool = True,
    ignore_identical_ids: bool = False,
) -> JudgedRun:
    """Join a run with judgments.

    Every retrieved document becomes a row. Every judged document that was not retrieved becomes a
    row with the score −inf: it counts in the ideal (the ideal gain, the number of relevant
    documents) but is not part of the ranking.

    Parameters
    ----------
    qrels : Qrels, path, frame, mapping, RankingData or list of these
        See :func:`rankwise.text.read_judgements`.
    run : Run, path, frame, mapping or list of these
        See :func:`rankwise.fusion.as_run`.
    all_queries : bool
        Whether to include all judged queries, as ``trec_eval -c`` does. Otherwise only queries with
        both judgments and retrieved documents are included. Queries without judgments are never
        included.
    single_precision : bool
        Whether to round scores to single precision, as trec_eval does before it orders documents;
        scores that differ by less are ties.
    ignore_identical_ids : bool
        Whether to leave documents with the id of their query out of the run, as BEIR does. In its
        sets ArguAna and Quora, queries are documents of the collection.

    Raises
    ------
    ValueError
        If both arguments are plain mappings, tables or files that can be read the other way round:
        pass ``qrels=`` and ``run=`` by name then.

    Returns
    -------
    JudgedRun
        Rows with queries in the order of the judgments, and documents by descending score, ties by
        descending id. :func:`rankwise.evaluate` takes it as it is.

    Notes
    -----
    O(n log n) for n lines in both files together.
    """
    run, qrels = as_run(run), read_judgements(qrels)
    if ignore_identical_ids:
        run = drop_identical_ids(run)
    (judged_q, run_q), _ = string_codes(qrels.qid, run.qid)
    (judged_d, run_d), n_documents = string_codes(qrels.doc_ids, run.doc_ids)
    judged_keys, run_keys = judged_q * n_documents + judged_d, run_q * n_documents + run_d

    by_key = np.argsort(judged_keys)
    at = np.searchsorted(judged_keys[by_key], run_keys)
    entry = np.append(by_key, -1)[at]
    judged = np.append(judged_keys, -1)[entry] == run_keys
    grades = np.where(judged, np.append(qrels.relevance, 0)[entry], 0)

    counted = np.isin(run_q, judged_q)
    missed = ~np.isin(judged_keys, run_keys)
    if not all_queries:
        missed &= np.isin(judged_q, run_q)

    n_counted, n_missed = int(counted.sum()), int(missed.sum())
    scores = run.scores
    if single_precision:
        largest = np.finfo(np.float32).max
        scores = np.clip(scores, -largest, largest).astype(np.float32)
    y = np.maximum(np.append(grades[counted], qrels.relevance[missed]), 0).astype(np.float64)
    scores = np.append(scores[counted].astype(np.float64), np.full(n_missed, -np.inf))
    qid = np.append(run.qid[counted], qrels.qid[missed])
    doc_ids = np.append(run.doc_ids[counted], qrels.doc_ids[missed])
    pooled = np.append(judged[counted], np.ones(n_missed, dtype=bool))
    judged = np.append((judged & (grades >= 0))[counted], qrels.relevance[missed] >= 0)
    retrieved = np.arange(n_counted + n_missed) < n_counted
    order = trec_order(np.append(run_q[counted], judged_q[missed]), scores, doc_ids)
    columns: tuple[Any, ...] = (y, scores, qid, doc_ids, judged, retrieved, pooled)
    return JudgedRun(*(column[order] for column in columns))
