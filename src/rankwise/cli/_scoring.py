"""Predict scores or classes of rows chunk by chunk, and write or verify them."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from rankwise.checks.exact_values import RowError
from rankwise.cli._console import UsageError, say, waiting
from rankwise.cli._data import ScoreFormat, load_table
from rankwise.cli._options import NO_COLUMNS, ColumnOptions
from rankwise.datasets.judged_source import are_numbers, are_tables, exists, have_sizes, table_words
from rankwise.datasets.readers.text_columns import id_column
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, find_files
from rankwise.datasets.readers.trec import (
    Run,
    check_distinct,
    id_array,
    run_lines,
    string_codes,
    trec_order,
)
from rankwise.datasets.row_summary import RowSummary
from rankwise.datasets.table_columns import Columns, list_names
from rankwise.export import ParityCertificate, verify
from rankwise.export.maps import first_step
from rankwise.groups import Chunk, join_ids
from rankwise.prediction import call_with, reads_queries, scores_of, text_columns_of
from rankwise.runtime.arrow import pa, pa_csv, pa_parquet, pc
from rankwise.runtime.frames import frame_for, text_array
from rankwise.streams.row_stream import CHUNK_ROWS, UnjudgedLetor, table_stream
from rankwise.trees.column_table import warn_of_unknown
from rankwise.typing import is_sparse, join_rows


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
    if columns.ignore and not (all(map(exists, data)) and are_tables(data, columns.words)):
        raise UsageError(
            f"--ignore leaves columns out by name, but those of {data[0]} have none. Drop it."
        )
    if len(data) == 1 and not exists(data[0]):
        return _slices(load_table(data, n_features, columns))
    if are_tables(data, columns.words):
        if have_sizes(data) and are_numbers(data):
            return _slices(load_table(data, n_features, columns, None, first_index))
        words = table_words(data, columns.words)
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
    zero_based = "auto" if first_index is None else first_index == 0
    return iter(UnjudgedLetor(paths, n_features, np.float32, MAX_DECOMPRESSED_BYTES, zero_based))


def predict_rows(
    estimator: Any,
    chunks: Iterator[Chunk],
    classes: bool,
    trained: RowSummary | None = None,
    probabilities: bool = False,
) -> Iterator[pa.Table]:
    """Predict scores or classes of all rows, chunk by chunk; notes tell what training had not.

    Tables have the columns ``qid``, if there are queries, ``doc_id`` or ``row``, and ``class`` or
    ``score``, and last ``probability`` if asked. A model that scores whole queries, and a
    calibrated one, need the rows of a query to be adjacent.
    """
    if probabilities or reads_queries(estimator, "predict" if classes else None):
        chunks = _whole_queries(chunks)
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    known = {name: {*found} for name, found in text_columns_of(estimator).items() if found}
    unknown: dict[str, Counter[str]] = {name: Counter() for name in known}
    met: set[str] = set()
    imputer = first_step(estimator)
    fills = getattr(imputer, "indicator_", None) is not None
    if fills:  # other imputers have no strategy that a note could name
        from sklearn.impute import SimpleImputer

        fills = type(imputer) is SimpleImputer and isinstance(imputer.strategy, str)
    by_frame, gaps, row = False, 0, 0
    for chunk in chunks:
        by_frame = hasattr(chunk.X, "column_names")
        if by_frame:
            _find_unknown(chunk.X, known, unknown, met)
        if trained is not None or fills:
            gaps = gaps + _count_missing(chunk.X)
        X = frame_for(estimator, chunk.X, names)  # chunks have the columns of the model
        try:
            if classes:
                values = call_with(estimator, "predict", X, chunk.qid)
            else:
                values = scores_of(estimator, X, chunk.qid)
            shares = None
            if probabilities:
                shares = call_with(estimator, "predict_relevance", X, chunk.qid)
        except RowError as error:
            raise error.at(row + error.row) from None
        except ValueError as error:
            where = f"in the rows from {row} (counted from 0): " if row else ""
            raise ValueError(f"{where}{error}") from None
        columns = {} if chunk.qid is None else {"qid": pa.array(chunk.qid)}
        if chunk.doc_ids is None:
            columns["row"] = pa.array(np.arange(row, row + len(values)))
        else:
            columns["doc_id"] = pa.array(chunk.doc_ids.tolist(), pa.string())
        columns["class" if classes else "score"] = pa.array(values)
        if shares is not None:
            columns["probability"] = pa.array(shares)
        yield pa.table(columns)
        row += chunk.n_rows
    if np.any(gaps) and fills and not by_frame:
        _say_filled(gaps, names, imputer)
    elif np.any(gaps) and trained is not None:
        _say_gaps(gaps, names, trained)
    for name in [name for name in known if name in met and unknown[name]]:
        shown = list_names([text for text, _ in unknown[name].most_common()], 3)
        n_rows = unknown[name].total()
        say(f"note: {name!r} holds categories that training lacked in {n_rows} rows: {shown}")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warn_of_unknown([
            f"{name!r} holds {next(iter(unknown[name]))!r} and the like, not {min(known[name])!r}"
            for name in known if unknown[name] and name not in met
        ])  # fmt: skip


def _find_unknown(
    X: Any, known: dict[str, set[str]], unknown: dict[str, Counter[str]], met: set[str]
) -> None:
    """Count the rows of each category that is not known; ``met`` are columns with a known one."""
    for name, categories in known.items():
        for found in X.column(name).value_counts().to_pylist():
            if found["values"] in categories:
                met.add(name)
            elif found["values"] is not None:
                unknown[name][found["values"]] += found["counts"]


def _count_missing(X: Any) -> Any:
    """Number of missing values of each column."""
    if hasattr(X, "column_names"):
        return np.array([pc.sum(pc.is_null(c, nan_is_null=True)).as_py() or 0 for c in X.columns])
    if is_sparse(X):
        return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
    return np.isnan(X).sum(axis=0)


def _say_filled(gaps: Any, names: Sequence[str] | None, imputer: Any) -> None:
    """Note on missing values that the imputer of a model fills."""
    found = {j: names[j] if names else f"column {j}" for j in np.flatnonzero(gaps).tolist()}
    new = [name for j, name in found.items() if j not in imputer.indicator_.features_]
    rest = f"; the training rows had none in {list_names(new, quote=str)}" if new else ""
    say(
        f"note: {int(np.sum(gaps))} missing values are filled by the model's imputer "
        f"({imputer.strategy}), in {list_names([*found.values()], quote=str)}{rest}"
    )


def _say_gaps(gaps: Any, names: Sequence[str] | None, trained: RowSummary) -> None:
    """Note on missing values in columns without any in training."""
    columns = {j: names[j] if names else str(j) for j in np.flatnonzero(gaps).tolist()}
    found = trained.columns
    new = {j: name for j, name in columns.items() if name in found and not found[name].shares[-1]}
    if new:
        shown = [name if names else f"column {name}" for name in new.values()]
        say(
            f"note: {int(gaps[[*new]].sum())} missing values in columns of which the training rows "
            f"had none: {list_names(shown, quote=str)}"
        )


def join_chunk_rows(chunks: Sequence[Chunk]) -> Any:
    """X of all chunks, as one matrix or frame."""
    parts: Any = [chunk.X for chunk in chunks]
    if hasattr(parts[0], "column_names"):
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


def check_trec_ids(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Raise at the first row without a query, or with an id that no TREC run can hold."""
    row = 0
    for chunk in chunks:
        if chunk.qid is None:
            _refuse_without_queries("a TREC run needs")
        for name, ids in (("qid", chunk.qid), ("doc_ids", chunk.doc_ids)):
            try:
                if ids is not None:
                    id_column(name, id_array(ids, name))
            except RowError as error:
                raise error.at(row + error.row) from None
        yield chunk
        row += chunk.n_rows


def _refuse_without_queries(what: str) -> NoReturn:
    raise UsageError(f"{what} queries, but DATA has none. Name the query column: --qid NAME.")


def best_of_each_query(
    table: pa.Table, top: int | None, as_trec: bool, where: Callable[[int], str]
) -> pa.Table:
    """Sort rows by query, best first, add ranks from 1, and keep the ``top`` rows of each query.

    Tied rows keep their order; in a TREC run, ties are ordered as in trec_eval. ``where`` names a
    row in errors.
    """
    if "qid" not in table.column_names:
        _refuse_without_queries("the best rows of each query need")
    (codes,), n_queries = string_codes(_texts(table["qid"]))
    scores = table["score"].to_numpy()
    ids = _texts(table[_id_column(table)])
    if as_trec:  # before sorting, so that errors name rows of the input
        queries = id_array(table["qid"].to_pylist(), "qid")
        check_distinct(queries, ids, where)
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
        return pa_parquet.ParquetWriter(stream, schema)
    delimiter = "\t" if form is ScoreFormat.tsv else ","
    return pa_csv.CSVWriter(stream, schema, write_options=pa_csv.WriteOptions(delimiter=delimiter))


def _id_column(table: pa.Table) -> str:
    return "doc_id" if "doc_id" in table.column_names else "row"


def _texts(column: Any) -> np.ndarray[Any, Any]:
    return text_array([str(value) for value in column.to_pylist()])


def join_tables(tables: Iterator[pa.Table]) -> pa.Table:
    """Join the tables in memory; they hold scores and ids, no features."""
    return pa.concat_tables(list(tables), promote_options="permissive")


def verify_rows(
    estimator: Any,
    path: Path,
    data: Sequence[str],
    features: list[str] | None,
    columns: ColumnOptions = NO_COLUMNS,
) -> ParityCertificate:
    """Certificate for the rows of DATA, all of them in memory."""
    with waiting("Verifying"):
        chunks = list(chunks_to_score(data, columns, estimator))
        if not chunks:
            raise UsageError(f"--verify needs rows, but {data[0]} has none.")
        names = getattr(estimator, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        X = frame_for(estimator, join_chunk_rows(chunks), names)
        has_queries = all(chunk.qid is not None for chunk in chunks)
        qid = join_ids([chunk.qid for chunk in chunks]) if has_queries else None
        if qid is None and not columns.one_query:
            say(
                f"note: {data[0]} has no column of queries, so all its rows are compared as one "
                "query. Name the column with --qid, or pass --one-query."
            )
        with warnings.catch_warnings():
            # The columns are already chosen by the model's feature names; rows come as an array.
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return verify(estimator, path, X, qid=qid, features=features)
