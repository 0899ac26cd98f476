"""Ids of queries and documents: integer codes, uniqueness, and trec_eval's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankwise.checks.ids import id_texts
from rankwise.checks.row_errors import RowError
from rankwise.runtime.column_values import text_array
from rankwise.typing import Float64Array, Int64Array

# Ends messages about judgements in the place of a run, or the other way round.
SWAPPED = "Are the run and its judgements swapped? Pass the run first."
GRADES_RULE = "whole numbers, or fractions above 0"
GRADES_FIX = "Drop such rows, or shift grades; if these are scores of a run, pass the run first."


def id_array(values: Any, name: str, where: Callable[[int], str] = "row {}".format) -> NDArray[Any]:
    """Array of ids as text, see :func:`rankwise.checks.ids.id_texts`."""
    return text_array(id_texts(values, name, where))


def string_codes(*columns: NDArray[Any]) -> tuple[list[Int64Array], int]:
    """Common integer codes of string columns, by first appearance, and the number of codes."""
    both = pa.concat_arrays([pa.array(column.tolist(), pa.string()) for column in columns])
    encoded = both.dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    ends = np.cumsum([len(column) for column in columns])
    return np.split(codes, ends[:-1]), len(encoded.dictionary)


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
