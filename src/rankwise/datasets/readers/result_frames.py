"""Judgements and runs in frames, told by the names of their columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.checks.exact_numbers import exact_float64
from rankwise.checks.ids import warn_of_missing_words
from rankwise.datasets.column_names import (
    ALL_DOCUMENT_NAMES,
    ALL_QUERY_NAMES,
    GRADE_NAMES,
    LABEL_NAMES,
    RUN_ONLY_NAMES,
    SCORE_NAMES,
)
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.readers.trec_ids import (
    GRADES_FIX,
    GRADES_RULE,
    SWAPPED,
    check_distinct,
    id_array,
)
from rankwise.runtime.column_values import first_merged, is_missing
from rankwise.typing import Float64Array, Int64Array


def find_column(columns: Sequence[str], names: Sequence[str], what: str) -> str:
    """First of the usual names that is a column, in any case.

    ValueError is raised if there is none, or two columns have it.
    """
    for name in names:
        found = [column for column in columns if column.lower() == name]
        if len(found) > 1:
            raise ValueError(
                f"columns {found[0]!r} and {found[1]!r} both name the {what}. Drop one."
            )
        if found:
            return found[0]
    is_judged = names == SCORE_NAMES and {column.lower() for column in columns} & {*LABEL_NAMES}
    listed = ", ".join(f"{column!r:.60}" for column in columns[:30])
    raise ValueError(
        f"there must be a column of the {what}, named {' or '.join(map(repr, names))}, got "
        f"{listed}. {SWAPPED if is_judged else 'Rename one.'}"
    )


def refuse_columns_of_run(columns: Sequence[str], grades: str) -> None:
    """Raise ValueError if the column that is taken for grades holds the scores of a run."""
    if grades.lower() not in SCORE_NAMES:
        return
    for column in columns:
        if column.lower() in RUN_ONLY_NAMES:
            raise ValueError(
                f"columns {grades!r} and {column!r} are those of a run, not of judgements. "
                f"{SWAPPED} Grades beside them must be named {LABEL_NAMES[0]!r}."
            )


def qrels_of_frame(frame: Any, source: str = "") -> Qrels:
    """Judgements in a frame; ``source`` is named in messages."""
    qid, doc_ids, grades = _columns(frame, GRADE_NAMES, "relevance", source)
    return make_qrels(qid, doc_ids, grades, source)


def run_of_frame(frame: Any, source: str = "") -> Run:
    """Run in a frame; ``source`` is named in messages."""
    qid, doc_ids, scores = _columns(frame, SCORE_NAMES, "score", source)
    return make_run(qid, doc_ids, scores, source)


def make_qrels(qid: list[Any], doc_ids: list[Any], grades: Any, source: str = "") -> Qrels:
    """Judgements of checked columns.

    ValueError is raised if an id is missing, a value is no grade, or a document is judged twice.
    """
    where = _where(source)
    queries, documents = id_array(qid, "query ids", where), id_array(doc_ids, "document ids", where)
    _warn_of_missing_words(queries, documents, source)
    relevance = _grades(grades, queries, documents, where)
    check_distinct(queries, documents, where)
    return Qrels(queries, documents, relevance)


def make_run(qid: list[Any], doc_ids: list[Any], scores: Any, source: str = "") -> Run:
    """Run of checked columns.

    ValueError is raised if an id is missing, a score is not a finite number that float64 holds, or
    a query has a document twice.
    """
    where = _where(source)
    queries, documents = id_array(qid, "query ids", where), id_array(doc_ids, "document ids", where)
    _warn_of_missing_words(queries, documents, source)
    values = exact_float64(scores, "scores", where)
    check_finite(queries, documents, values)
    check_distinct(queries, documents, where)
    return Run(queries, documents, values, "")


def _warn_of_missing_words(queries: NDArray[Any], documents: NDArray[Any], source: str) -> None:
    for what, ids in (("query ids", queries), ("document ids", documents)):
        warn_of_missing_words(ids.tolist(), f"{source}, {what}" if source else what)


def check_finite(qid: NDArray[Any], doc_ids: NDArray[Any], scores: Float64Array) -> None:
    """Raise ValueError if a score is not finite."""
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(
            f"scores must be finite, got {scores[row]} for document {str(doc_ids[row])!r} of query "
            f"{str(qid[row])!r}."
        )


def _columns(frame: Any, names: Sequence[str], what: str, source: str) -> list[list[Any]]:
    table = nw.from_native(frame)
    roles = (("query id", ALL_QUERY_NAMES), ("document id", ALL_DOCUMENT_NAMES), (what, names))
    try:
        present = table.collect_schema().names()
        chosen = [find_column(present, usual, role) for role, usual in roles]
        if names == GRADE_NAMES:
            refuse_columns_of_run(present, chosen[2])
    except ValueError as error:
        raise ValueError(f"{source}: {error}" if source else str(error)) from None
    table = table.select(chosen)
    table = table.collect() if isinstance(table, nw.LazyFrame) else table
    if source and not len(table):  # a search that found nothing gives an empty frame
        raise ValueError(f"{source} has no rows.")
    *ids, values = (table[name] for name in chosen)
    return [*map(_listed, ids), values.to_list()]


def _listed(ids: nw.Series[Any]) -> Any:
    """Ids as a list; narrow floats as an array, whose type says which ids it can tell apart."""
    kind = {1 << 11: np.float16, 1 << 24: np.float32}.get(first_merged(ids.to_native()))
    listed = ids.to_list()
    if kind is None:
        return listed
    return np.array([math.nan if is_missing(value) else value for value in listed], dtype=kind)


def _where(source: str) -> Any:
    return f"{source}, row {{}}".format if source else "row {}".format


def _grades(
    grades: list[Any], queries: NDArray[Any], documents: NDArray[Any], where: Any
) -> Int64Array | Float64Array:
    """Grades, int64 unless one has a fraction."""
    values = np.empty(len(grades), dtype=np.int64)
    fractions: dict[int, float] = {}
    for row, grade in enumerate(grades):
        try:
            if not isinstance(grade, Real | Decimal):
                raise ValueError
            values[row] = math.floor(grade)
            if grade != values[row]:
                fractions[row] = float(grade)
                if grade < 0:
                    raise ValueError
        except (ArithmeticError, ValueError):  # NaN, infinity, beyond 64 bits
            raise ValueError(
                f"grades must be {GRADES_RULE}, got {grade!r} for query {str(queries[row])!r}, "
                f"document {str(documents[row])!r} at {where(row)}. {GRADES_FIX}"
            ) from None
    if not fractions:
        return values
    real = values.astype(np.float64)
    real[[*fractions]] = [*fractions.values()]
    return real
