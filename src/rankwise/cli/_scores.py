"""Write scores as lines, TREC runs, tables or JSON lines, of all rows or the best per query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from rankwise.cli._errors import UsageError
from rankwise.cli._score_format import ScoreFormat
from rankwise.datasets.readers.text_columns import id_column
from rankwise.datasets.readers.trec import Run, run_lines
from rankwise.datasets.readers.trec_ids import (
    check_distinct,
    id_array,
    string_codes,
    trec_order,
)
from rankwise.runtime.column_values import text_array


def score_table(what: str, values: Any, qid: Any, doc_ids: Any, first_row: int) -> pa.Table:
    """Table of predictions: ``qid`` if there are queries, ``doc_id`` or ``row``, and the values."""
    columns = {} if qid is None else {"qid": pa.array(qid)}
    if doc_ids is None:
        columns["row"] = pa.array(np.arange(first_row, first_row + len(values)))
    else:
        columns["doc_id"] = pa.array(doc_ids.tolist(), pa.string())
    return pa.table(columns | {what: pa.array(values)})


def best_of_each_query(
    table: pa.Table, top: int | None, as_trec: bool, where: Callable[[int], str]
) -> pa.Table:
    """Sort rows by query, best first, add ranks from 1, and keep the ``top`` rows of each query.

    Tied rows keep their order; in a TREC run, ties are ordered as in trec_eval. ``where`` names a
    row in errors.
    """
    if "qid" not in table.column_names:
        what = "a TREC run needs" if as_trec else "the best rows of each query need"
        raise UsageError(f"{what} queries, but DATA has none. Name the query column: --qid NAME.")
    (codes,), n_queries = string_codes(_texts(table["qid"]))
    scores = table["score"].to_numpy()
    ids = _texts(table[_id_column(table)])
    if as_trec:  # before sorting, so that errors name rows of the input
        queries = id_array(table["qid"].to_pylist(), "qid")
        check_distinct(queries, ids, where)
        for name, column in (("qid", queries), ("doc_ids", ids)):
            id_column(name, column)
    order = trec_order(codes, scores, ids) if as_trec else np.lexsort((-scores, codes))
    starts = np.searchsorted(codes[order], np.arange(n_queries))
    ranks = np.arange(1, len(order) + 1) - starts[codes[order]]
    kept = slice(None) if top is None else ranks <= top
    return table.take(pa.array(order[kept])).append_column("rank", pa.array(ranks[kept]))


def write_scores(tables: Iterable[pa.Table], form: ScoreFormat, stream: Any, tag: str) -> None:
    """Write tables one after another; a TREC run must come as one table."""
    if form is ScoreFormat.trec:
        for table in tables:
            run = Run(
                _texts(table["qid"]),
                _texts(table[_id_column(table)]),
                table["score"].to_numpy(),
                tag,
            )
            for line in run_lines(run):
                stream.write(line)
    elif form is ScoreFormat.scores:
        for table in tables:
            values = table.column(table.num_columns - 1).to_pylist()
            stream.write("".join(f"{value}\n" for value in values).encode())
    elif form is ScoreFormat.jsonl:
        for table in tables:
            for row in table.to_pylist():
                stream.write(f"{json.dumps(row, ensure_ascii=False, default=str)}\n".encode())
    else:
        _write_columns(tables, form, stream)


def _write_columns(tables: Iterable[pa.Table], form: ScoreFormat, stream: Any) -> None:
    """Write tables one below the other, cast to the types of the first one."""
    rest = iter(tables)
    first = next(rest, None)
    if first is None:
        return
    with _writer(first.schema, form, stream) as writer:
        writer.write_table(first)
        for table in rest:
            writer.write_table(table.cast(first.schema))


def _writer(schema: pa.Schema, form: ScoreFormat, stream: Any) -> Any:
    if form is ScoreFormat.parquet:
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(stream, schema)
    from pyarrow import csv

    delimiter = "\t" if form is ScoreFormat.tsv else ","
    return csv.CSVWriter(stream, schema, write_options=csv.WriteOptions(delimiter=delimiter))


def _id_column(table: pa.Table) -> str:
    return "doc_id" if "doc_id" in table.column_names else "row"


def _texts(column: Any) -> np.ndarray[Any, Any]:
    return text_array([str(value) for value in column.to_pylist()])


def join_tables(tables: Iterator[pa.Table]) -> pa.Table:
    """Join the tables in memory; they hold scores and ids, no features."""
    return pa.concat_tables(list(tables), promote_options="permissive")
