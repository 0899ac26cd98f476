"""TREC judgments (qrels) and runs as arrays: write them, and create them from judged data.

A qrels line is ``<query> <iteration> <document> <relevance>``, a run line is
``<query> Q0 <document> <rank> <score> <tag>``. The rank of a run line is ignored: documents are
ordered by score.

References
----------
.. [1] trec_eval, https://github.com/usnistgov/trec_eval (formats and conventions).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankwise.checks.exact_values import RowError, exact_float64, id_texts
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.text_columns import id_column, lines_of
from rankwise.groups import QueryGroups
from rankwise.runtime.arrow import pa
from rankwise.runtime.files import open_to_write
from rankwise.runtime.frames import text_array
from rankwise.runtime.result import Result
from rankwise.typing import Float64Array, Int64Array


@dataclass(frozen=True, eq=False)
class Qrels(Result):
    """Judgments, with one entry per judged document of a query.

    Attributes
    ----------
    qid, doc_ids : ndarray of shape (n_judged,) of str
        Ids; of dtype object if a few long ids would make an array of fixed width large.
    relevance : ndarray of shape (n_judged,), int64 or float64
        Grades, float64 if one has a fraction; 0 and below are not relevant.
    """

    qid: NDArray[np.str_]
    doc_ids: NDArray[np.str_]
    relevance: Int64Array | Float64Array

    def __post_init__(self) -> None:
        _write_ids_as_text(self)

    @classmethod
    def from_data(cls, data: RankingData) -> Qrels:
        """Make judgments from judged data; rows without document ids are named by number.

        Rows without a judgement (``RankingData.judged``) are left out.

        Raises
        ------
        ValueError
            If a label is not finite or is a negative fraction, or a query has a document twice.
        """
        if data.judged is not None and data.doc_ids is None:
            data = replace(data, doc_ids=_names(data)[1])  # numbers among all rows
        rows = np.arange(data.n_samples) if data.judged is None else np.flatnonzero(data.judged)
        data = data.only_judged()
        qid, doc_ids = _names(data)
        try:
            is_whole = data.y == np.floor(data.y)
            _refuse(~is_whole & ~(data.y > 0), data.y, GRADES_RULE, "Shift or bin the labels")
            check_distinct(qid, doc_ids)
        except RowError as error:
            raise error.at(int(rows[error.row])) from None
        return cls(qid, doc_ids, data.y.astype(np.int64 if is_whole.all() else np.float64))

    def __len__(self) -> int:
        return len(self.qid)


@dataclass(frozen=True, eq=False)
class Run(Result):
    """Scores of one system, with one entry per retrieved document of a query.

    Attributes
    ----------
    qid, doc_ids : ndarray of shape (n_retrieved,) of str
        Ids; of dtype object if a few long ids would make an array of fixed width large.
    scores : ndarray of shape (n_retrieved,), float64
    tag : str
        Name of the system.
    """

    qid: NDArray[np.str_]
    doc_ids: NDArray[np.str_]
    scores: Float64Array
    tag: str = "rankwise"

    def __post_init__(self) -> None:
        _write_ids_as_text(self)

    @classmethod
    def from_data(cls, data: RankingData, scores: ArrayLike, tag: str = "rankwise") -> Run:
        """Make a run from scores of the rows of ``data``; rows without ids are named by number.

        Raises
        ------
        ValueError
            If there is not one finite score per row, or a query has a document twice.
        """
        values = exact_float64(scores, "scores")
        if values.shape != (data.n_samples,):
            raise ValueError(
                f"scores must have n_samples={data.n_samples} entries, got shape {values.shape}. "
                "Pass one score per row."
            )
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            raise ValueError(f"scores must be finite, got {values[row]} at row {row}.")
        qid, doc_ids = _names(data)
        check_distinct(qid, doc_ids)
        return cls(qid, doc_ids, values, tag)

    def __len__(self) -> int:
        return len(self.qid)


def write_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write judgments in order; suffixes ``.gz``, ``.bz2``, ``.xz`` and ``.zst`` compress.

    Raises
    ------
    ValueError
        If an id is empty or contains ASCII white space or a NUL character, or a grade has a
        fraction, which trec_eval cuts off.
    """
    _refuse(
        qrels.relevance % 1 != 0, qrels.relevance, "whole grades for qrels", "Round or bin them"
    )
    relevance = pa.array(qrels.relevance).cast(pa.string())
    lines = lines_of(
        [id_column("qid", qrels.qid), "0", id_column("doc_ids", qrels.doc_ids), relevance]
    )
    with open_to_write(path) as stream:
        for line in lines:
            stream.write(line)


def write_run(run: Run, path: str | Path) -> None:
    """Write a run by query, best document first, with ranks from 1.

    Documents with equal scores are in trec_eval's order, by descending id.

    Raises
    ------
    ValueError
        If an id or the tag is empty or contains ASCII white space or a NUL character.
    """
    with open_to_write(path) as stream:
        for line in run_lines(run):
            stream.write(line)


def run_lines(run: Run) -> Iterator[bytes]:
    """Yield the lines of :func:`write_run`."""
    groups = QueryGroups.from_qid(run.qid, len(run))
    order = trec_order(groups.codes(), run.scores, run.doc_ids)
    ranks = np.arange(1, len(run) + 1) - np.repeat(groups.indptr[:-1], groups.sizes)
    return lines_of(
        [
            id_column("qid", run.qid).take(pa.array(order)),
            "Q0",
            id_column("doc_ids", run.doc_ids).take(pa.array(order)),
            pa.array(ranks).cast(pa.string()),
            pa.array(run.scores[order]).cast(pa.string()),
            id_column("tag", np.array([run.tag], dtype=object))[0],
        ],
    )


def _refuse(wrong: NDArray[np.bool_], y: NDArray[Any], rule: str, fix: str) -> None:
    """Raise RowError at the first wrong label."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise RowError(f"y must hold {rule}, got {y[row]}", row, f". {fix}.")


def _names(data: RankingData) -> tuple[NDArray[np.str_], NDArray[np.str_]]:
    doc_ids = np.arange(data.n_samples) if data.doc_ids is None else data.doc_ids
    return id_array(data.qid, "qid"), id_array(doc_ids, "doc_ids")


# Ends messages about judgements in the place of a run, or the other way round.
SWAPPED = "Are the judgements and the run swapped?"
GRADES_RULE = "whole numbers, or fractions above 0"
GRADES_FIX = (
    "Drop such rows, or shift grades; if these are scores, pass them as the run, after the "
    "judgements."
)


def id_array(values: Any, name: str, where: Callable[[int], str] = "row {}".format) -> NDArray[Any]:
    """Array of ids as text, see :func:`rankwise.checks.exact_values.id_texts`."""
    return text_array(id_texts(values, name, where))


def _write_ids_as_text(judged: Qrels | Run) -> None:
    """Replace ids that are whole numbers by their digits: files and joins need text."""
    for name in ("qid", "doc_ids"):
        ids = np.asarray(getattr(judged, name))
        if ids.dtype.kind != "U" and {*map(type, ids.tolist())} - {str, np.str_}:
            object.__setattr__(judged, name, id_array(ids, name))


def string_codes(*columns: NDArray[Any]) -> tuple[list[Int64Array], int]:
    """Common integer codes of string columns, by first appearance, and the number of codes."""
    code_of: defaultdict[str, int] = defaultdict(count().__next__)
    codes = [
        np.fromiter(map(code_of.__getitem__, column.tolist()), np.int64, len(column))
        for column in columns
    ]
    return codes, len(code_of)


def trec_order(codes: Int64Array, scores: Float64Array, doc_ids: NDArray[Any]) -> Int64Array:
    """Order by query, descending score and descending id (code points sort like UTF-8 bytes)."""
    _, id_rank = np.unique(doc_ids, return_inverse=True)
    return np.lexsort((-id_rank, -scores, codes))


def check_distinct(
    qid: NDArray[Any], doc_ids: NDArray[Any], where: Callable[[int], str] | None = None
) -> None:
    """Raise ValueError if a query has a document twice; ``where`` names a row (None: RowError)."""
    (queries,), _ = string_codes(qid)
    (documents,), n_documents = string_codes(doc_ids)
    keys = queries * n_documents + documents
    order = np.argsort(keys, kind="stable")
    twice = order[1:][keys[order][1:] == keys[order][:-1]]
    if twice.size:
        row = int(twice.min())
        problem = f"query {str(qid[row])!r} has document {str(doc_ids[row])!r} a second time"
        fix = ". A document may appear once in a query."
        if where is None:
            raise RowError(problem, row, fix)
        raise ValueError(f"{where(row)}: {problem}{fix}")
