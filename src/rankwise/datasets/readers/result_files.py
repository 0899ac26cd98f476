"""Read judgements, runs and scores from files of any format of :mod:`file_formats`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankwise.checks.row_errors import RowError
from rankwise.datasets.column_names import (
    ALL_DOCUMENT_NAMES,
    ALL_QUERY_NAMES,
    GRADE_NAMES,
    SCORE_NAMES,
)
from rankwise.datasets.readers.delimited import DelimitedFile
from rankwise.datasets.readers.file_formats import (
    QRELS_FIELDS,
    RUN_FIELDS,
    TRIPLE_FIELDS,
    FileFormat,
    FormatName,
    file_format,
)
from rankwise.datasets.readers.letor_errors import find_line
from rankwise.datasets.readers.result_frames import (
    find_column,
    qrels_of_frame,
    refuse_columns_of_run,
    run_of_frame,
)
from rankwise.datasets.readers.side_names import SIZES, side_file
from rankwise.datasets.readers.sidefiles import read_grouped
from rankwise.datasets.readers.svmlight import read_letor
from rankwise.datasets.readers.tables import read_parquet
from rankwise.datasets.readers.text_columns import TextColumns, read_cells, read_columns
from rankwise.datasets.readers.textfiles import MAX_DECOMPRESSED_BYTES, TextFile, open_text
from rankwise.datasets.readers.trec import Qrels, Run
from rankwise.datasets.readers.trec_ids import (
    GRADES_FIX,
    GRADES_RULE,
    SWAPPED,
    check_distinct,
    string_codes,
)
from rankwise.typing import Float64Array, Int64Array

LEAST_DEPTH = 10  # of a list that counts 1, 2, 3, …: grades are fewer
_RANKS = (
    "A run in the format of MS MARCO (query, document, rank) needs scores: name the columns qid, "
    "doc_id and score in a first line, and write 1 / rank as score."
)
_GRADE = f"is not a grade: grades are {GRADES_RULE}. {GRADES_FIX.removesuffix('.')}"
_RESULTS = (FormatName.qrels, FormatName.triples, FormatName.letor, FormatName.run)


def read_qrels(path: str | Path, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Qrels:
    """Read judgements; all first lines decide the format, not the name.

    Compression by gzip, bzip2, xz or Zstandard is detected.

    Parameters
    ----------
    path : path
        One of:

        - TREC qrels: ``<query> <iteration> <document> <relevance>``, separated by blanks or tabs;
        - three columns, query, document and grade, without a header, separated by blanks or tabs
          (then ids may hold blanks);
        - a table with a header line (separated by tabs, commas, semicolons or bars) or a Parquet
          file, with columns as in :func:`rankwise.text.read_judgements`, such as BEIR's;
        - LETOR text with document ids in its comments.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Raises
    ------
    ValueError
        If the file is empty or of another format, a line has another number of fields, a grade is
        not a finite number or is a negative fraction, an id is missing or not UTF-8 text, there is
        a NUL character, a document is judged twice for a query, or the third of three columns
        counts the documents of each query, as ranks do. The message names file, line and reason.

    Notes
    -----
    ASCII white space separates the words of a line (blank, tab, vertical tab, form feed, carriage
    return), and only a line feed ends it. Other characters, such as a no-break space, belong to
    ids. Blank lines are skipped; there are no comments except in LETOR text.
    """
    path = Path(path)
    file = open_text(path, max_decompressed_bytes)
    found = file_format(file)
    if found.kind is FormatName.letor:
        return _of_letor(path, max_decompressed_bytes)
    if found.kind is FormatName.parquet:
        return qrels_of_frame(read_parquet(path, max_decompressed_bytes), str(path))
    _refuse(path, found, (FormatName.run, FormatName.scores), "judgements", QRELS_FIELDS)
    if found.kind is FormatName.table:
        roles = (
            ("query", ALL_QUERY_NAMES),
            ("document", ALL_DOCUMENT_NAMES),
            ("relevance", GRADE_NAMES),
        )
        columns, places = _table(file, found, roles, refuse_columns_of_run)
    elif found.kind is FormatName.triples:
        columns = read_columns(file, TRIPLE_FIELDS, found.separator)
        places = [0, 1, 2]
    else:
        columns, places = read_columns(file, QRELS_FIELDS), [0, 2, 3]
    qid, doc_ids = columns.texts(places[0]), columns.texts(places[1])
    relevance = columns.grades(places[2], _GRADE)
    check_distinct(qid, doc_ids, columns.where)
    if found.kind is FormatName.triples and _are_ranks(qid, relevance):
        raise ValueError(
            f"{path} holds ranks 1, 2, 3, … in the third column for every query, not grades. "
            f"{_RANKS} {SWAPPED}"
        )
    return Qrels(qid, doc_ids, relevance)


def read_run(path: str | Path, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES) -> Run:
    """Read a run; all first lines decide the format, not the name.

    Compression by gzip, bzip2, xz or Zstandard is detected.

    Parameters
    ----------
    path : path
        A TREC run, ``<query> Q0 <document> <rank> <score> <tag>``, separated by blanks or tabs, or
        a table with a header line or a Parquet file, with columns as in
        :func:`rankwise.fusion.as_run`. Words and lines are separated as in :func:`read_qrels`.
    max_decompressed_bytes : int >= 1
        Maximum size of the decompressed text, in bytes; by default 16 GiB, and at most 200 times
        the file if it is more than 64 MiB.

    Raises
    ------
    ValueError
        If the file is empty or of another format, a line has another number of fields, a score is
        not a finite number or is a whole number that float64 cannot hold, an id is missing or not
        UTF-8 text, there is a NUL character, or a document occurs twice in a query. The message
        names file, line and reason.
    """
    path = Path(path)
    file = open_text(path, max_decompressed_bytes)
    found = file_format(file)
    if found.kind is FormatName.parquet:
        return run_of_frame(read_parquet(path, max_decompressed_bytes), str(path))
    others = (FormatName.qrels, FormatName.triples, FormatName.letor, FormatName.scores)
    _refuse(path, found, others, "a run", RUN_FIELDS)
    if found.kind is FormatName.table:
        roles = (
            ("query", ALL_QUERY_NAMES),
            ("document", ALL_DOCUMENT_NAMES),
            ("score", SCORE_NAMES),
        )
        columns, places = _table(file, found, roles)
        tag = ""
    else:
        columns, places = read_columns(file, RUN_FIELDS), [0, 2, 4]
        tag = str(columns.texts(5)[0])
    qid, doc_ids = columns.texts(places[0]), columns.texts(places[1])
    scores = columns.reals(places[2])
    check_distinct(qid, doc_ids, columns.where)
    return Run(qid, doc_ids, scores, tag)


def read_scores(
    path: str | Path, *, max_decompressed_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Float64Array:
    """Read one finite score per line; a blank line is an error, since lines stand for rows."""
    file = open_text(Path(path), max_decompressed_bytes)
    columns = read_columns(file, ("score",), skip_blank=False)
    if not columns.columns[0]:
        raise ValueError(f"{path} is empty. A file of scores has one number per line.")
    return columns.reals(0)


def _refuse(
    path: Path, found: FileFormat, others: Sequence[FormatName], wanted: str, fields: Sequence[str]
) -> None:
    """Raise if a file is empty, or holds something else."""
    if found.kind is FormatName.empty:
        raise ValueError(f"{path} is empty. Leave it out, or write {wanted} to it.")
    if found.kind in (*others, FormatName.json):
        fix = " From Python, pass the mapping that json.load returns." * (
            found.kind is FormatName.json
        )
        if found.kind is FormatName.triples:
            fix += f" {_RANKS}"
        fix += f" {SWAPPED}" * (found.kind in _RESULTS)
        raise ValueError(
            f"{path} holds {found.kind}, not {wanted}: expected {len(fields)} fields "
            f"({' '.join(fields)}), or a table with named columns.{fix}"
        )


def _are_ranks(qid: NDArray[Any], numbers: Int64Array | Float64Array) -> bool:
    """Whether numbers count the documents of every query, in the order of the file."""
    if numbers.max() < LEAST_DEPTH:
        return False
    (codes,), _ = string_codes(qid)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(codes[order]) != 0))
    sizes = np.diff(np.append(starts, len(order)))
    ranks = np.arange(len(order)) - np.repeat(starts, sizes) + 1
    return bool((numbers[order] == ranks).all())


def _of_letor(path: Path, max_decompressed_bytes: int) -> Qrels:
    read = read_letor if side_file(path, SIZES) is None else read_grouped
    data = read(path, max_decompressed_bytes=max_decompressed_bytes)
    if data.doc_ids is None:
        raise ValueError(
            f"{path} is LETOR text without document ids. Add a comment '#docid = …' to each line."
        )
    try:
        return Qrels.from_data(data)
    except RowError as error:
        line, _ = find_line(open_text(path, max_decompressed_bytes), error.row)
        raise ValueError(f"{path}, line {line}: {error.without_row()}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _table(
    file: TextFile,
    found: FileFormat,
    roles: Sequence[tuple[str, Sequence[str]]],
    check: Callable[[Sequence[str], str], None] | None = None,
) -> tuple[TextColumns, list[int]]:
    """Columns of a delimited table, and the places of the named ones."""
    names = list(found.columns)
    try:
        chosen = [find_column(names, usual, what) for what, usual in roles]
        if check is not None:
            check(names, chosen[-1])
        places = [names.index(name) for name in chosen]
    except ValueError as error:
        raise ValueError(f"{file.path}, line 1: {error}") from None
    if found.separator is None:
        columns = read_columns(file, names, header=True)
    else:
        columns = read_cells(DelimitedFile(file.path, found.separator, file))
    if not columns.columns[0]:
        raise ValueError(f"{file.path} has a header line, but no rows.")
    return columns, places
