"""Predict the scores or classes of rows, chunk by chunk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rankwise.checks.named_columns import frame_for
from rankwise.checks.row_errors import RowError
from rankwise.cli._columns import ColumnOptions
from rankwise.cli._data import load_table
from rankwise.cli._errors import UsageError
from rankwise.cli._files import (
    are_numbers,
    are_tables,
    counts_from_0,
    exists,
    have_sizes,
    table_words,
    text_columns_of,
)
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, find_files
from rankwise.datasets.table_columns import Columns
from rankwise.prediction import reads_queries, scores_of
from rankwise.runtime.routing import call_with
from rankwise.streams.cutter import join_ids
from rankwise.streams.row_stream import CHUNK_ROWS, table_stream
from rankwise.streams.stream_sources import Chunk
from rankwise.streams.text_files import UnjudgedLetor
from rankwise.trees.column_table import warn_of_unknown
from rankwise.typing import join_rows


@dataclass(frozen=True)
class ChunkPrediction:
    """Scores or classes that a model predicts for a chunk of rows."""

    values: Any
    qid: Any
    doc_ids: Any
    first_row: int


def chunks_to_score(
    data: Sequence[str],
    columns: ColumnOptions,
    estimator: Any,
    first_index: int | None = None,
) -> Iterator[Chunk]:
    """Read the rows of DATA in order; labels are optional and not read.

    ``first_index`` is that of the first column of the LETOR text that the model was fitted on.
    """
    names = getattr(estimator, "feature_names_in_", None)
    n_features = getattr(estimator, "n_features_in_", None)
    columns = replace(columns, categories=tuple(text_columns_of(estimator)))
    if columns.ignore and not (all(map(exists, data)) and are_tables(data, columns)):
        raise UsageError(
            f"--ignore leaves columns out by name, but those of {data[0]} have none. Drop it."
        )
    if len(data) == 1 and not exists(data[0]):
        return _slices(load_table(data, n_features, columns))
    if are_tables(data, columns):
        if have_sizes(data) and are_numbers(data):
            return _slices(load_table(data, n_features, columns, None, first_index))
        words = table_words(data, columns)
        fitted = names is not None and "features" not in words
        if names is not None and fitted:
            words["features"] = [str(name) for name in names]
        for unread in ("label", "sample_weight"):
            words.pop(unread, None)
        sep = words.pop("sep", None)
        roles = partial(Columns.unjudged, fitted=fitted, **words)
        return iter(
            table_stream(
                list(data), roles, sep, np.float32, CHUNK_ROWS, MAX_DECOMPRESSED_BYTES,
                may_ignore="features" not in words,
            )
        )  # fmt: skip
    files = find_files(list(data))
    if n_features is None or have_sizes(data):
        return _slices(load_table(data, n_features, first_index=first_index))
    paths = tuple(map(Path, files))
    zero_based = counts_from_0(first_index)
    return iter(UnjudgedLetor(paths, n_features, np.float32, MAX_DECOMPRESSED_BYTES, zero_based))


def predict_rows(
    estimator: Any, chunks: Iterator[Chunk], classes: bool
) -> Iterator[ChunkPrediction]:
    """Predict scores or classes of all rows, chunk by chunk.

    A model that scores whole queries needs the rows of a query to be adjacent.
    """
    if reads_queries(estimator, "predict" if classes else None):
        chunks = _whole_queries(chunks)
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    known = {name: {*map(str, v.tolist())} for name, v in text_columns_of(estimator).items()}
    unknown: dict[str, str] = {}
    row = 0
    for chunk in chunks:
        _find_unknown(chunk.X, known, unknown)
        X = frame_for(estimator, chunk.X, names)  # chunks have the columns of the model
        try:
            if classes:
                values = call_with(estimator, "predict", X, chunk.qid)
            else:
                values = scores_of(estimator, X, chunk.qid)
        except RowError as error:
            raise error.at(row + error.row) from None
        except ValueError as error:
            where = f"in the rows from {row} (counted from 0): " if row else ""
            raise ValueError(f"{where}{error}") from None
        yield ChunkPrediction(values, chunk.qid, chunk.doc_ids, row)
        row += chunk.n_rows
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warn_of_unknown([
            f"{name!r} holds {unknown[name]!r} and the like, not {min(known[name])!r}"
            for name in known if name in unknown
        ])  # fmt: skip


def _find_unknown(X: Any, known: dict[str, set[str]], unknown: dict[str, str]) -> None:
    """Take columns with a known category out of ``known``; ``unknown`` has an example of others."""
    for name in [*known] if hasattr(X, "column_names") else []:
        for value in X.column(name).unique().to_pylist():
            if value in known.get(name, ()):
                del known[name]
            elif value is not None:
                unknown.setdefault(name, value)


def join_chunk_rows(chunks: Sequence[Chunk]) -> Any:
    """X of all chunks, as one matrix or frame."""
    parts: Any = [chunk.X for chunk in chunks]
    if hasattr(parts[0], "column_names"):
        import pyarrow as pa

        return pa.concat_tables(parts).unify_dictionaries()
    return join_rows(parts)


def _slices(table: Any) -> Iterator[Chunk]:
    for first in range(0, table.n_samples, CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        doc_ids = None if table.doc_ids is None else table.doc_ids[rows]
        yield Chunk(table.X[rows], None, table.qid[rows], doc_ids=doc_ids)


def _whole_queries(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Regroup rows, in order, into chunks of whole queries.

    The last query is held back until the next one starts. Queries whose rows are mixed with those
    of the last query are held back too.
    """
    held: list[Chunk] = []
    done: set[Any] = set()
    for chunk in chunks:
        if chunk.qid is None or not chunk.n_rows:
            yield chunk
            continue
        back = done & set(chunk.qid.tolist())
        if back:
            raise ValueError(
                f"the model scores whole queries, but the rows of query {next(iter(back))!r} are "
                "not adjacent. Sort the rows by query."
            )
        held.append(chunk)
        last = chunk.qid == chunk.qid[-1]
        first = int(last.argmax())
        goes_on = len(held) > 1 and any((part.qid == chunk.qid[-1]).any() for part in held[:-1])
        if goes_on or not first or not last[first:].all():
            continue
        rows = _join_chunks([*held[:-1], _part(chunk, slice(0, first))])
        done |= set(rows.qid.tolist())
        yield rows
        held = [_part(chunk, slice(first, None))]
    if held:
        yield _join_chunks(held)


def _join_chunks(parts: Sequence[Chunk]) -> Chunk:
    doc_ids = None
    if all(part.doc_ids is not None for part in parts):
        doc_ids = join_ids([part.doc_ids for part in parts])
    qid = join_ids([part.qid for part in parts])
    return Chunk(join_rows([part.X for part in parts]), None, qid, doc_ids=doc_ids)


def _part(chunk: Chunk, rows: slice) -> Chunk:
    X: Any = chunk.X
    doc_ids = None if chunk.doc_ids is None else chunk.doc_ids[rows]
    return Chunk(X[rows], None, chunk.qid[rows], doc_ids=doc_ids)
