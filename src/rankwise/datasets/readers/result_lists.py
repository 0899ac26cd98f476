"""Convert result lists of files, frames and search engines to :class:`Run`.

References
----------
.. [1] Elasticsearch and OpenSearch, search API: ``hits.hits`` with ``_id`` and ``_score``.
.. [2] Apache Solr, JSON response writer: ``response.docs`` with ``id`` and ``score``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.checks.ids import id_text, id_texts
from rankwise.datasets.data import RankingData
from rankwise.datasets.readers.result_files import read_run
from rankwise.datasets.readers.result_frames import check_finite, make_run, run_of_frame
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.readers.trec_ids import SWAPPED, check_distinct
from rankwise.datasets.table_columns import is_frame
from rankwise.runtime.column_values import text_array


def as_run(results: Any, tag: str | None = None) -> Run:
    """Read the result lists of one system.

    Parameters
    ----------
    results : Run, path, frame, mapping or list of these
        One of:

        - a run;
        - the path of a TREC run or of a table with named columns, see
          :func:`rankwise.datasets.read_run`;
        - a frame with a column of query ids ("qid", "query_id", "query-id", "query" or the like),
          of document ids ("doc_id", "docno", "docid", "corpus-id", "doc" or the like) and "score";
        - a mapping from query id to ``{document id: score}`` or to the JSON response of
          Elasticsearch, OpenSearch or Solr. Elasticsearch and OpenSearch name documents by
          ``_id``, Solr by ``id``; a Solr query must ask for ``fl=id,score``;
        - a list of these: parts of one run, with different queries or documents.
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
        If a column or an id is missing, a score is not a finite number or is a whole number that
        float64 cannot hold, a query has a document twice, a file is empty, or a search engine
        answered with an error.

    Notes
    -----
    Ids become text as written: ``07`` and ``7`` differ. Whole numbers in a float column, as pandas
    makes of integers with gaps, lose their ``.0``. Missing ids are an error.

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
        check_finite(run.qid, run.doc_ids, run.scores)
    elif isinstance(results, str | Path):
        run = read_run(results)
    elif isinstance(results, Mapping):
        run = _of_mapping(results)
    elif isinstance(results, list):
        run = _joined([as_run(part) for part in results])
    elif is_frame(results):
        run = run_of_frame(results)
    elif isinstance(results, Qrels | RankingData):
        raise TypeError(
            f"results must be those of a system, got judgements ({type(results).__name__}). "
            f"{SWAPPED}"
        )
    else:
        raise TypeError(
            "results must be a Run, a path, a frame, a mapping or a list of these, got "
            f"{type(results).__name__}. Pass a TREC run, or a mapping from query id to "
            "{document id: score}."
        )
    return run if tag is None else replace(run, tag=tag)


def _joined(parts: list[Run]) -> Run:
    """Parts of one run, one after the other."""
    if not parts:
        raise ValueError("results must hold at least one part, got an empty list.")
    qid = text_array([query for part in parts for query in part.qid.tolist()])
    doc_ids = text_array([document for part in parts for document in part.doc_ids.tolist()])
    check_distinct(qid, doc_ids)
    return Run(qid, doc_ids, np.concatenate([part.scores for part in parts]), parts[0].tag)


def _of_mapping(results: Mapping[Any, Any]) -> Run:
    queries = id_texts(results, "query ids", "query {}".format)
    qid: list[str] = []
    doc_ids, scores = [], []
    for query, answer in zip(queries, results.values(), strict=True):
        if not isinstance(answer, Mapping):
            raise TypeError(
                f"query {query!r} must have a mapping, got {type(answer).__name__}. Pass "
                "{document id: score} or the JSON response of a search engine."
                + (f" {SWAPPED}" if isinstance(answer, Real) else "")
            )
        for document, score in _pairs(query, answer):
            qid.append(query)
            doc_ids.append(id_text(document, f"document ids of query {query!r}"))
            scores.append(score)
    return make_run(qid, doc_ids, scores)


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
            if not isinstance(value, Real | Decimal | str) or isinstance(value, bool):
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
