"""Files of judgements that search engines and their tools read and write."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.ids import warn_of_missing_words
from rankwise.datasets.readers.delimited import DelimitedFile, name_file_in_errors
from rankwise.datasets.readers.text_columns import read_cells
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, read_text
from rankwise.datasets.readers.trec_ids import check_distinct, id_array
from rankwise.groups import QueryGroups
from rankwise.runtime.output import open_to_write
from rankwise.typing import Float64Array

# Columns of a table with one row per judgement, from attributes of Judgements.
TABLE = {
    "qid": "qid", "doc_id": "doc_ids", "grade": "grade", "weight": "weight", "low": "low",
    "high": "high", "impressions": "impressions", "clicks": "clicks",
}  # fmt: skip
DOCUMENT_KEYS = ("docId", "docid", "doc_id", "id")


def read_ratings(path: Path) -> tuple[NDArray[Any], NDArray[Any], dict[str, Float64Array]]:
    """Query and document of every judgement, and their columns of numbers, by attribute.

    There is the column "grade", and in a table of :meth:`Judgements.write` those of ``TABLE``.
    """
    with name_file_in_errors(path):
        text = read_text(path).decode("utf-8-sig")
    is_json = text.lstrip().startswith(("{", "["))
    names, rows = (["grade"], _of_json(path, text)) if is_json else _of_csv(path)
    if not rows:
        raise ValueError(f"{path} holds no judgement.")
    qid = id_array([row[0] for row in rows], f"{path}: query")
    doc_ids = id_array([row[1] for row in rows], f"{path}: document")
    for ids in (qid, doc_ids):
        warn_of_missing_words(ids.tolist(), str(path))
    check_distinct(qid, doc_ids, f"{path}, judgement {{}}".format)
    numbers = {
        name: np.array([_rating(path, i, name, row[k]) for i, row in enumerate(rows)])
        for k, name in enumerate(names, 2)
    }
    return qid, doc_ids, numbers


def write_table(path: str | Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns as CSV; numbers keep all their digits."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    with open_to_write(path) as stream:
        stream.write(text.getvalue().encode("utf-8"))


def _by_query(qid: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
    """Rows of each query, queries in order of their first row."""
    groups = QueryGroups.from_qid(qid, len(qid))
    return {str(query): groups.rows([i]) for i, query in enumerate(groups.ids.tolist())}


def _opensearch(qid: Any, doc_ids: Any, grade: Any, _: str) -> str:
    """Body of a request that imports judgements to the Search Relevance Workbench."""
    ratings = [
        {
            "query": query,
            "ratings": [{"docId": str(doc_ids[r]), "rating": f"{grade[r]:.6g}"} for r in rows],
        }
        for query, rows in _by_query(qid).items()
    ]
    body = {"name": "clicks", "description": "Judgements from clicks", "type": "IMPORT_JUDGMENT"}
    return _json(body | {"judgmentRatings": ratings})


def _elasticsearch(qid: Any, doc_ids: Any, grade: Any, index: str) -> str:
    """Requests of a ranking evaluation, without their queries."""
    requests = [
        {
            "id": query,
            "ratings": [
                {"_index": index, "_id": str(doc_ids[r]), "rating": int(grade[r])} for r in rows
            ],
        }
        for query, rows in _by_query(qid).items()
    ]
    return _json({"requests": requests})


def _ranklib(qid: Any, doc_ids: Any, grade: Any, _: str) -> str:
    """Lines ``grade qid:number # document``; comments at the top name the queries."""
    groups = _by_query(qid)
    for text in (*groups, *doc_ids.tolist()):
        if "\n" in text or "\r" in text:
            raise ValueError(f"format 'ranklib' has no place for line ends, got {text!r}.")
    head = [f"# qid:{number}: {query}" for number, query in enumerate(groups, 1)]
    lines = [
        f"{grade[r]} qid:{number} # {doc_ids[r]}"
        for number, rows in enumerate(groups.values(), 1)
        for r in rows
    ]
    return "\n".join([*head, "", *lines]) + "\n"


def _json(body: Any) -> str:
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


BODIES = {"opensearch": _opensearch, "elasticsearch": _elasticsearch, "ranklib": _ranklib}


def _of_json(path: Path, text: str) -> list[tuple[Any, ...]]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON ({error}).") from None
    # Requests of Elasticsearch's ranking evaluation, or judgements of OpenSearch.
    is_requests = isinstance(body, dict) and "requests" in body
    key = "requests" if is_requests else "judgmentRatings"
    names = ("id", "_id") if is_requests else ("query", "docId")
    queries: Any = body.get(key, ()) if isinstance(body, dict) else body
    try:
        if not queries:
            raise KeyError(key)
        return [
            (query[names[0]], rating[names[1]], rating["rating"])
            for query in queries
            for rating in query["ratings"]
        ]
    except (TypeError, KeyError) as error:
        raise ValueError(
            f"{path} must hold judgmentRatings: a list of objects with query and ratings, each "
            "with docId and rating; or requests of objects with id and ratings, each with _id and "
            f"rating; {error} is missing or of another type."
        ) from None


def _of_csv(path: Path) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Names of the columns of numbers, and rows of query, document and these numbers."""
    file = DelimitedFile.of(path, ",", MAX_DECOMPRESSED_BYTES)
    with file.name_in_errors():
        names = file.header()
    document = next((name for name in DOCUMENT_KEYS if name in names), None)
    if {"qid", "doc_id", "grade"} <= set(names):
        numbers = [name for name in TABLE if name in names and name not in ("qid", "doc_id")]
        chosen = ["qid", "doc_id", *numbers]
    elif document is not None and {"query", "rating"} <= set(names):
        numbers, chosen = ["grade"], ["query", document, "rating"]
    else:
        raise ValueError(
            f"{path} must have the columns query, docid and rating, or qid, doc_id and grade, got "
            f"{', '.join(names)}."
        )
    table = read_cells(file)
    places = [names.index(name) for name in chosen]
    ids = [table.texts(place).tolist() for place in places[:2]]
    values = [[cell.decode(errors="replace") for cell in table.columns[k]] for k in places[2:]]
    return numbers, list(zip(*ids, *values, strict=True))


def _rating(path: Path, number: int, name: str, value: Any) -> float:
    try:
        rating = float(value)
    except (TypeError, ValueError):
        rating = math.nan
    # A document at places without clicks has no upper bound.
    if math.isnan(rating) or (math.isinf(rating) and name != "high"):
        what = "rating" if name == "grade" else name
        raise ValueError(f"{path}, judgement {number}: {what} must be a number, got {value!r}.")
    return rating
