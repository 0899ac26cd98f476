"""Convert result lists of files, frames and search engines to :class:`rankwise.datasets.Run`.

References
----------
.. [1] Elasticsearch and OpenSearch, search API: ``hits.hits`` with ``_id`` and ``_score``.
.. [2] Apache Solr, JSON response writer: ``response.docs`` with ``id`` and ``score``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from rankwise.datasets.readers.letor_text import text_array
from rankwise.datasets.readers.trec import Run, read_run
from rankwise.datasets.readers.trec_ids import check_distinct
from rankwise.typing import Float64Array

# Names of columns in frames: ours, those of ir-measures and ranx, those of PyTerrier.
QUERY_COLUMNS = ("qid", "query_id", "q_id")
DOCUMENT_COLUMNS = ("doc_id", "docno", "docid")
SCORE_COLUMNS = ("score",)


def as_run(results: Any, tag: str | None = None) -> Run:
    """Read the result lists of one system.

    Parameters
    ----------
    results : Run, path, frame or mapping
        A run; a TREC run file; a frame with a column of query ids ("qid", "query_id", "q_id"), of
        document ids ("doc_id", "docno", "docid") and "score"; or a mapping from query id to
        ``{document id: score}`` or to the JSON response of Elasticsearch, OpenSearch or Solr.
        Elasticsearch and OpenSearch name documents by ``_id``, Solr by ``id``; a Solr query must
        ask for ``fl=id,score``.
    tag : str, optional
        Name of the system. None: the tag of the run, else "".

    Returns
    -------
    Run

    Raises
    ------
    TypeError
        If ``results`` is none of these.
    ValueError
        If a column is missing, a score is not a finite number, a query has a document twice, or a
        search engine answered with an error.

    Examples
    --------
    >>> from rankwise.fusion import as_run
    >>> hits = [{"_id": "d7", "_score": 3.5}, {"_id": "d2", "_score": 1.25}]
    >>> run = as_run({"q1": {"hits": {"hits": hits}}}, tag="bm25")
    >>> run.doc_ids.tolist(), run.scores.tolist()
    (['d7', 'd2'], [3.5, 1.25])
    """
    if isinstance(results, Run):
        run = results
        _check_finite(run.qid, run.doc_ids, run.scores)
    elif isinstance(results, str | Path):
        run = read_run(results)
    elif isinstance(results, Mapping):
        run = _of_mapping(results)
    elif (frame := nw.from_native(results, pass_through=True)) is not results:
        run = _of_frame(frame.collect() if isinstance(frame, nw.LazyFrame) else frame)
    else:
        raise TypeError(
            "results must be a Run, a path, a frame or a mapping, got "
            f"{type(results).__name__}. Pass a TREC run, or a mapping from query id to "
            "{document id: score}."
        )
    return run if tag is None else replace(run, tag=tag)


def is_frame(value: Any) -> bool:
    """Whether a value is a frame of pandas, Polars, PyArrow or another library."""
    return nw.from_native(value, pass_through=True) is not value


def _of_mapping(results: Mapping[Any, Any]) -> Run:
    qid, doc_ids, scores = [], [], []
    for query, answer in results.items():
        if not isinstance(answer, Mapping):
            raise TypeError(
                f"query {str(query)!r} must have a mapping, got {type(answer).__name__}. Pass "
                "{document id: score} or the JSON response of a search engine."
            )
        for document, score in _pairs(str(query), answer):
            qid.append(str(query))
            doc_ids.append(str(document))
            scores.append(score)
    return _checked(text_array(qid), text_array(doc_ids), scores)


def _pairs(query: str, answer: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    if "error" in answer and not isinstance(answer["error"], Real):
        raise ValueError(
            f"query {query!r}: the search engine answered with an error: {answer['error']}."
        )
    if isinstance(answer.get("hits"), Mapping):
        found, document, score = answer["hits"].get("hits", []), "_id", "_score"
    elif isinstance(answer.get("response"), Mapping):
        found, document, score = answer["response"].get("docs", []), "id", "score"
    else:
        for name, value in answer.items():
            if not isinstance(value, Real | str) or isinstance(value, bool):
                raise ValueError(
                    f"scores must be numbers, got {type(value).__name__} for {str(name)!r} of "
                    f"query {query!r}. Pass {{document id: score}} or the JSON response of "
                    "Elasticsearch, OpenSearch or Solr."
                )
        return list(answer.items())
    for hit in found:
        for field in (document, score):
            if hit.get(field) is None:
                raise ValueError(
                    f"query {query!r}: a hit has no {field!r}, got {sorted(hit)}. Ask the search "
                    "engine for ids and scores."
                )
    return [(hit[document], hit[score]) for hit in found]


def _of_frame(frame: nw.DataFrame[Any]) -> Run:
    def column(names: tuple[str, ...], what: str) -> str:
        for name in names:
            if name in frame.columns:
                return name
        raise ValueError(
            f"results must have a column of {what}, named {' or '.join(map(repr, names))}, got "
            f"{frame.columns}. Rename the column."
        )

    qid = frame[column(QUERY_COLUMNS, "query ids")].to_list()
    doc_ids = frame[column(DOCUMENT_COLUMNS, "document ids")].to_list()
    scores = frame[column(SCORE_COLUMNS, "scores")].to_list()
    return _checked(text_array(list(map(str, qid))), text_array(list(map(str, doc_ids))), scores)


def _checked(qid: NDArray[Any], doc_ids: NDArray[Any], scores: list[Any]) -> Run:
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}.") from None
    _check_finite(qid, doc_ids, values)
    check_distinct(qid, doc_ids)
    return Run(qid, doc_ids, values, "")


def _check_finite(qid: NDArray[Any], doc_ids: NDArray[Any], scores: Float64Array) -> None:
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores)))
        raise ValueError(
            f"scores must be finite, got {scores[row]} for document {str(doc_ids[row])!r} of query "
            f"{str(qid[row])!r}."
        )
