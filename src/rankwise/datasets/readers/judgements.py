"""Convert judgements of files, mappings, frames and judged rows to :class:`Qrels`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.checks.ids import id_text, id_texts
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.result_files import read_qrels
from rankwise.datasets.readers.result_frames import make_qrels, qrels_of_frame
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.readers.trec_ids import SWAPPED, check_distinct
from rankwise.datasets.table_columns import is_frame
from rankwise.runtime.column_values import text_array


def read_judgements(judgements: Any) -> Qrels:
    """Read relevance judgements from a file, a mapping, a frame or judged rows.

    Parameters
    ----------
    judgements : path, mapping, frame, RankingData, Qrels or list of these
        One of:

        - the path of a file, plain or compressed, see :func:`rankwise.datasets.read_qrels`;
        - a mapping ``{query id: {document id: grade}}``;
        - a frame with columns for the query id ("qid", "query_id", "query-id", "query" or the
          like), the document id ("doc_id", "docno", "docid", "corpus-id", "doc" or the like) and
          the grade ("relevance", "label", "grade", "rel", "rating" or "score", in this order);
        - judged rows with document ids;
        - a list of these, which judge different queries or documents.

    Returns
    -------
    Qrels

    Raises
    ------
    TypeError
        If ``judgements`` is none of these.
    ValueError
        If a line cannot be parsed, an id is missing, a grade is not a finite number or is a
        negative fraction, or a document is judged twice for the same query. For a file, the message
        names the file and the line.

    Notes
    -----
    Ids become text as written: ``07`` and ``7`` differ. Whole numbers in a float column, as pandas
    makes of integers with gaps, lose their ``.0``. Grades are int64 if all are whole, else float64,
    such as the averages of several judges.

    Examples
    --------
    >>> from rankwise.text import read_judgements
    >>> read_judgements({"q1": {"d2": 2, "d1": 1}}).relevance.tolist()
    [2, 1]
    """
    if isinstance(judgements, Qrels):
        return judgements
    if isinstance(judgements, str | Path):
        return read_qrels(judgements)
    if isinstance(judgements, RankingData):
        if judgements.doc_ids is None:
            raise ValueError("judged rows need document ids. Pass doc_ids to RankingData.")
        return Qrels.from_data(judgements)
    if isinstance(judgements, list):
        return _joined([read_judgements(part) for part in judgements])
    if is_frame(judgements):
        return qrels_of_frame(judgements)
    if isinstance(judgements, Run):
        raise TypeError(f"judgements must hold grades, got a Run, which holds scores. {SWAPPED}")
    if not isinstance(judgements, Mapping):
        raise TypeError(
            "judgements must be a path, a mapping, a frame, RankingData, Qrels or a list of these, "
            f"got {type(judgements).__name__}. Pass {{query: {{document: grade}}}}."
        )
    qid: list[str] = []
    doc_ids, grades = [], []
    queries = id_texts(judgements, "query ids", "query {}".format)
    for query, of_query in zip(queries, judgements.values(), strict=True):
        if not isinstance(of_query, Mapping):
            raise TypeError(
                f"judgements of query {query!r} must map documents to grades, got "
                f"{type(of_query).__name__}. Pass {{query: {{document: grade}}}}."
            )
        qid += [query] * len(of_query)
        doc_ids += [id_text(name, f"document ids of query {query!r}") for name in of_query]
        grades += of_query.values()
    return make_qrels(qid, doc_ids, grades)


def _joined(parts: list[Qrels]) -> Qrels:
    """Judgements of several sources."""
    if not parts:
        raise ValueError("judgements must hold at least one source, got an empty list.")
    qid = text_array([query for part in parts for query in part.qid.tolist()])
    doc_ids = text_array([document for part in parts for document in part.doc_ids.tolist()])
    check_distinct(qid, doc_ids)
    return Qrels(qid, doc_ids, np.concatenate([part.relevance for part in parts]))
