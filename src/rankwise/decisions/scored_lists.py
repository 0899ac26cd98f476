"""Scores of several queries as lists, best first, with or without judgements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.exact_values import exact_float64
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.judged_run import judge
from rankwise.datasets.readers.results import read_judgements
from rankwise.datasets.readers.trec import id_array, string_codes, trec_order
from rankwise.decisions.decision_file import LARGEST
from rankwise.groups import QueryGroups
from rankwise.prediction import predictions
from rankwise.runtime.messages import ArgumentError
from rankwise.runtime.result import Result
from rankwise.selection.cells.candidates import COLUMN, ColumnScores, model_rows, run_scores
from rankwise.selection.splits import convert_to_judged
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class ScoredLists(Result):
    """Lists of documents, one list per query, best first.

    Attributes
    ----------
    qids : ndarray of shape (n_queries,)
        Query ids in order of first appearance.
    indptr : ndarray of shape (n_queries + 1,), int64
        The list of query ``q`` has the rows ``indptr[q]:indptr[q + 1]``.
    scores : ndarray of shape (n_rows,), float64
        Descending within each list.
    y : ndarray of shape (n_rows,), float64, or None
        Grades; 0 for unjudged documents. None: nothing is judged.
    missed : ndarray of shape (n_missed, 2), float64, or None
        Judged documents that are not in the list of their query: index of the query, and grade.
    order : ndarray of shape (n_rows,), int64, or None
        Row of the input of each row; None for runs.
    doc_ids : ndarray of shape (n_rows,) of str, or None
    notes : list of str
        Queries that are left out.
    """

    qids: NDArray[Any]
    indptr: Int64Array
    scores: Float64Array
    y: Float64Array | None = None
    missed: Float64Array | None = None
    order: Int64Array | None = None
    doc_ids: NDArray[Any] | None = None
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.qids)

    def __iter__(self) -> Iterator[slice]:
        """Slices of rows, one per list."""
        return (slice(a, b) for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True))

    @property
    def sizes(self) -> Int64Array:
        """Number of documents of every list."""
        return np.diff(self.indptr)


def list_scores(scores: Any, y: Any = None, qid: Any = None) -> ScoredLists:
    """Lists of any scores, with their judgements if there are any.

    Parameters
    ----------
    scores : run, array-like of shape (n_rows,), fitted ranker or "column:NAME"
        A run is anything that :func:`rankwise.fusion.as_run` takes, or a search engine's response
        to one query. A ranker scores the judged rows ``y``, and a column is one of theirs.
    y : judgements, array-like of shape (n_rows,), RankingData or frame, optional
        For a run, anything that :func:`rankwise.text.read_judgements` takes. For scores, grades in
        the same order, or the judged rows.
    qid : array-like of shape (n_rows,), optional
        Query of each row; needed with scores unless ``y`` holds the judged rows.

    Returns
    -------
    ScoredLists
        With judgements, the lists of judged queries that have documents. Equal scores of a run are
        ordered as by trec_eval; those of rows as the rows are, or at random if these are judged.

    Raises
    ------
    ValueError
        If scores are not finite or larger than 1e150, or lengths differ.

    Examples
    --------
    >>> lists = list_scores([0.2, 0.9, 0.5], [0, 1, 0], qid=["a", "a", "b"])
    >>> lists.scores, lists.y, lists.indptr
    (array([0.9, 0.2, 0.5]), array([1., 0., 0.]), array([0, 2, 3]))
    """
    is_column = isinstance(scores, str) and scores.startswith(COLUMN)
    if _is_response(scores):
        scores = {"query": scores}
    run = None if is_column else run_scores(scores)
    if run is None:
        lists = _of_rows(scores, y, qid)
    else:
        lists = _of_run(run.run, y)
        if y is None and isinstance(scores, Mapping):
            lists = _add_empty(lists, id_array(scores, "query ids"))
    if (largest := np.abs(lists.scores).max(initial=0.0)) > LARGEST:
        raise ArgumentError("scores", f"must be at most {LARGEST:g} in size, got {largest:g}.")
    return lists


def _is_response(scores: Any) -> bool:
    """Whether this is a search engine's response to one query."""
    return isinstance(scores, Mapping) and any(
        isinstance(scores.get(name), Mapping) and isinstance(scores[name].get(hits), list)
        for name, hits in (("hits", "hits"), ("response", "docs"))
    )


def _add_empty(lists: ScoredLists, qids: NDArray[Any]) -> ScoredLists:
    """The lists with those of further queries, which are empty, in the order of ``qids``."""
    sizes = dict(zip(lists.qids.tolist(), lists.sizes.tolist(), strict=True))
    indptr = np.cumsum([0, *(sizes.get(query, 0) for query in qids.tolist())])
    return replace(lists, qids=qids, indptr=indptr)


def _of_rows(scores: Any, y: Any, qid: Any) -> ScoredLists:
    """Lists of scores in the order of the rows; those with documents if they are judged."""
    missed = documents = None
    if len(getattr(y, "columns", ())) > 1:
        y = convert_to_judged(y)
    if isinstance(y, RankingData):
        data, missed, documents = y, y.missed, y.doc_ids
        if isinstance(scores, str):
            scores = ColumnScores(scores.removeprefix(COLUMN)).values(data)
        elif hasattr(scores, "predict"):
            scores = predictions(scores, model_rows(scores, data)[0], data.qid).scores
        y, qid = data.grades, data.qid
    elif isinstance(scores, str) or hasattr(scores, "predict"):
        raise ArgumentError("y", "must hold the rows that are scored. Pass a RankingData.")
    values = exact_float64(scores, "scores")
    if values.ndim != 1:
        raise ArgumentError("scores", f"must be one column, got shape {values.shape}.")
    if qid is None:
        raise ArgumentError("qid", "must name the query of each score, got none. Pass qid=….")
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise ArgumentError("scores", f"must be finite, got {values[row]} at row {row}.")
    groups = QueryGroups.from_qid(qid, len(values))
    # The order of judged rows may tell their grades, so it breaks no ties.
    n = len(values)
    ties = np.arange(n) if y is None else np.random.default_rng(0).permutation(n)
    query = np.repeat(np.arange(groups.n_queries), groups.sizes)
    rows = np.lexsort((ties, -groups.sort(values), query))
    order = rows if groups.order is None else groups.order[rows]
    if y is None:
        return ScoredLists(groups.ids, groups.indptr, values[order], order=order)
    grades = exact_float64(y, "y")
    if grades.shape != values.shape:
        what = f"shape {grades.shape}" if grades.ndim != 1 else len(grades)
        raise ArgumentError(
            "y", f"must have one grade per score, got {what} for {len(values)} scores."
        )
    ids, notes = groups.ids[groups.sizes > 0], []
    if n := groups.n_queries - len(ids):
        notes.append(f"{n} of {groups.n_queries} judged queries have no documents and do not count")
    return ScoredLists(
        ids,
        np.unique(groups.indptr),
        values[order],
        np.nan_to_num(grades[order]),
        None if missed is None else _missed_of(missed, ids),
        order,
        None if documents is None else documents[order],
        notes,
    )


def _of_run(run: Any, judgements: Any) -> ScoredLists:
    """Lists of a run in trec_eval's order; the lists of judged queries if any are judged."""
    if judgements is None:
        codes, _ = string_codes(run.qid)
        order = trec_order(codes[0], run.scores, run.doc_ids)
        groups = QueryGroups.from_qid(run.qid[order], len(order))
        documents, scores = run.doc_ids[order], run.scores[order]
        return ScoredLists(groups.ids, groups.indptr, scores, order=order, doc_ids=documents)
    qrels = read_judgements(judgements)
    rows = judge(qrels, run, single_precision=False)
    kept = rows.retrieved
    if not kept.any():
        raise ValueError(
            f"the run and the judgements have no query in common: the run has {str(run.qid[0])!r}, "
            f"the judgements have {str(qrels.qid[0])!r}. Check the ids."
            if len(run.qid)
            else "the run has no documents. Check the file."
        )
    groups = QueryGroups.from_qid(rows.qid[kept], int(kept.sum()))
    lost = RankingData(np.empty((int((~kept).sum()), 0)), rows.y[~kept], qid=rows.qid[~kept])
    n_judged, notes = len(np.unique(qrels.qid)), []
    if n := n_judged - groups.n_queries:
        notes.append(f"{n} of {n_judged} judged queries are not in the run and do not count")
    return ScoredLists(
        groups.ids,
        groups.indptr,
        rows.scores[kept],
        rows.y[kept],
        _missed_of(lost, groups.ids),
        doc_ids=rows.doc_ids[kept],
        notes=notes,
    )


def _missed_of(missed: RankingData, qids: NDArray[Any]) -> Float64Array:
    """Index of the query, and grade, of judged documents outside the lists."""
    (known, own), n_codes = string_codes(qids.astype(str), np.asarray(missed.qid).astype(str))
    entry = np.full(n_codes, -1)
    entry[known] = np.arange(len(known))
    found = entry[own] >= 0
    return np.column_stack([entry[own][found], missed.y[found]]).astype(np.float64)
